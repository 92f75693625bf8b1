"""Structures of linked tables that are refused, all problems at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ConfigError, DataError
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.links import tables_about_people
from hybrid.pipeline.sources import read_sources
from tests.pipeline.tables.hospital import content, frames, write


def _parent(table: str, column: str) -> dict[str, str]:
    return {"table": table, "column": column}


def _changed(**tables: dict[str, Any]) -> dict[str, Any]:
    settings = content()
    for name, changes in tables.items():
        settings["tables"][name] = settings["tables"].get(name, {"path": "x.csv"}) | changes
    return settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("hospital")
    write(found)
    return found


def loaded(folder: Path, settings: dict[str, Any], name: str = "other.yaml") -> RunConfig:
    import yaml

    (folder / name).write_text(yaml.safe_dump(settings, sort_keys=False))
    return load_config(folder / name)


def test_tables_come_parents_first_with_their_sections(folder: Path) -> None:
    config = loaded(folder, content())
    assert list(config.views) == ["patients", "visits", "drugs"] and list(config.public) == ["hospitals"]
    assert tables_about_people(config.links) == list(config.views)
    assert config.anonymize is not None and config.data.person == "patient"
    assert config.views["drugs"].anonymize is None and config.views["drugs"].data.order == "given"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (_changed(visits={"parent": _parent("visits", "before")}), "refers to itself"),
        (_changed(visits={"parent": _parent("drugs", "drug")}, drugs={"key": "drug"}), "circle"),
        (_changed(visits={"key": None}), "tables.visits.key is missing: drugs refers to it"),
        (_changed(drugs={"parent": None}), "tables.drugs.parent is missing"),
        (_changed(drugs={"parent": _parent("hospitals", "h")}), "is public, and owns no rows"),
        (_changed(drugs={"columns": {"visit": {"role": "sensitive"}}}), "a key has the role identifier"),
        (_changed(drugs={"columns": {"drug": {"role": "weight"}}}), "in the person table alone"),
        (_changed(visits={"references": {"hospital": "patients"}}), "only parents are tables about people"),
        (content() | {"synthesize": {"generator": "mst"}}, "does not draw rows of a parent"),
        (content() | {"transition": {"method": "tree", "order": "post"}}, "transition.order: post"),
        (content() | {"synthesize": {"where": "born >"}}, "synthesize.where"),
        (content() | {"privacy": {"mode": "dp", "epsilon": 1.0}}, "privacy.mode: dp is for single tables"),
        (content() | {"data": {"path": "x.csv"}}, "data and tables exclude each other"),
        (content() | {"constraints": [{"le": ["a", "b"]}]}, "of which table?"),
        (content() | {"protect": {"columns": {"hospital": "other"}}}, "which is no key"),
        (content() | {"stages": ["sample", "anonymize", "transition", "synthesize"]}, "stages"),
        (content() | {"synthesize": {"part_rows": 100, "rows": 200}}, "synthesize.part_rows is for single tables"),
        (content() | {"person": "people"}, "there is no table 'people'"),
        (content() | {"sampel": {}}, "sampel: unknown key"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=r"other\.yaml") as caught:
        loaded(folder, settings)
    assert said in str(caught.value)


def test_five_tables_below_each_other_are_too_deep(folder: Path) -> None:
    chain = {"t0": {"key": "k", "parent": _parent("drugs", "p")}, "t1": {"key": "k", "parent": _parent("t0", "p")}}
    with pytest.raises(ConfigError, match="5 tables deep"):
        loaded(folder, _changed(drugs={"key": "drug"}, **chain))


def test_all_problems_of_keys_come_at_once_without_values(tmp_path: Path) -> None:
    tables = frames(40)
    tables["patients"] = tables["patients"].iloc[:30]
    tables["visits"].iloc[0, 0] = tables["visits"].iloc[1, 0]
    tables["hospitals"] = tables["hospitals"].iloc[:1]
    lost = (~tables["visits"]["patient"].isin(tables["patients"]["patient"])).sum()
    config = load_config(write(tmp_path, tables))
    with pytest.raises(DataError) as caught:
        read_sources(config)
    said = "\n".join(problem.message for problem in caught.value.problems)
    assert f"{lost} of {len(tables['visits'])} rows of visits have no patient, or one that patients does not" in said
    assert "2 rows of visits share their visit" in said
    assert "have a value that is no id of hospitals" in said
    assert "P0" not in said


def test_orphans_can_be_left_out(tmp_path: Path) -> None:
    tables, settings = frames(40), content()
    tables["patients"] = tables["patients"].iloc[:30]
    for name in ("visits", "drugs"):
        settings["tables"][name]["parent"]["orphans"] = "drop"
    config = load_config(write(tmp_path, tables, settings))
    found = read_sources(config)
    lost = int((~tables["visits"]["patient"].isin(tables["patients"]["patient"])).sum())
    assert found.orphans["visits"] == lost > 0 and found.orphans["drugs"] > 0
    assert len(found.tables["visits"]) == len(tables["visits"]) - lost == len(found.owners["visits"])
