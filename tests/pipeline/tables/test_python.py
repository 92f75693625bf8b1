"""``hybrid.run`` and ``hybrid.release`` of linked tables: from files, mappings and DataFrames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.jobs.start import configuration
from hybrid.pipeline.config import load_config
from hybrid.publication.certificate import Acceptance
from hybrid.publication.verify import verify
from hybrid.synthesize.fitted import fit
from tests.pipeline.tables.hospital import content, frames, write


@pytest.fixture
def without_files(tmp_path: Path) -> dict[str, Any]:
    """The configuration as a mapping; hierarchies lie in files, tables do not."""
    write(tmp_path)
    found = content()
    for name, table in found["tables"].items():
        (tmp_path / f"{name}.csv").unlink()
        del table["path"]
        for column in table.get("columns", {}).values():
            if "hierarchy" in column:
                column["hierarchy"] = str(tmp_path / column["hierarchy"])
    found["evaluate"] |= {"metrics": ["orphans"]}
    return found


def test_frames_take_the_place_of_all_files(without_files: dict[str, Any], tmp_path: Path) -> None:
    tables = frames(60)
    tables["visits"] = tables["visits"].assign(admitted=pd.to_datetime(tables["visits"]["admitted"]))
    tables["visits"].index = pd.Index(range(7, 7 + len(tables["visits"])))
    places = {name: tmp_path / name for name in ("work", "runs", "releases")}
    accept = Acceptance("A Person", "trial")
    published = hybrid.release(without_files, tables, accept=accept, **places)
    assert not verify(published.folder)
    run = published.pipeline
    assert isinstance(run, hybrid.Pipeline) and published.verdict == run.verdict
    made = {name: table.frame for name, table in run.released.items()}
    assert list(made) == ["patients", "visits", "drugs"]
    assert made["visits"]["patient"].astype(str).isin(made["patients"]["patient"].astype(str)).all()
    written = pd.read_parquet(published.folder / "visits.parquet")
    assert written["admitted"].dtype.kind == "M" and len(written) == len(made["visits"])
    pd.testing.assert_frame_equal(
        pd.read_parquet(published.folder / "hospitals.parquet").astype({"id": "str"}), tables["hospitals"]
    )
    manifest = json.loads((published.run / "manifest.json").read_text())
    assert {table["path"] for table in manifest["config"]["tables"].values()} == {"<DataFrame>"}
    assert str(tmp_path) not in (published.folder / "manifest.json").read_text()


def test_some_frames_beside_files(tmp_path: Path) -> None:
    path = write(tmp_path)
    config = load_config(path)
    assert config.is_linked
    few = frames()["drugs"].head(7)
    assert len(config.with_frames({"drugs": few}).load_source("drugs")) == 7
    assert len(config.load_source("drugs")) == len(frames()["drugs"]), "the configuration is as it was"


def test_tables_that_do_not_fit_the_configuration_are_refused(without_files: dict[str, Any], tmp_path: Path) -> None:
    tables = frames(60)
    with pytest.raises(ConfigError, match="data is one DataFrame"):
        hybrid.run(without_files, tables["patients"])
    with pytest.raises(ConfigError, match="there is no table 'rooms'"):
        hybrid.run(without_files, {**tables, "rooms": tables["hospitals"]})
    with pytest.raises(ConfigError, match=r"tables\.drugs"):
        hybrid.run(without_files, {name: tables[name] for name in tables if name != "drugs"})
    single = {"data": {"path": "patients.csv"}}
    with pytest.raises(ConfigError, match="data has several tables"):
        hybrid.run(single, tables)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content()))
    loaded = load_config(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match="overrides were given beside a RunConfig"):
        hybrid.run(loaded, overrides={"anonymize.k": 5})


def test_other_values_keep_the_tables_in_memory(without_files: dict[str, Any]) -> None:
    tables = frames(60)
    given = configuration(without_files, tables)
    changed = given.with_values({"anonymize.k": 4, "synthesize.rows": 40})
    assert changed.k == 4 and {view.k for view in changed.views.values()} == {4, 0}
    assert {view.synthesize.rows for view in changed.views.values()} == {40}
    assert len(changed.load_source("visits")) == len(tables["visits"])
    assert given.k == 3, "the configuration is as it was"


@pytest.mark.filterwarnings("ignore::hybrid.base.errors.NotReleasableWarning")
def test_further_people_of_the_same_models(without_files: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Further people come with rows of their own in all tables, from models that are trained once."""
    trained: list[int] = []

    def counted(*about: Any, **above: Any) -> Any:
        trained.append(1)
        return fit(*about, **above)

    monkeypatch.setattr("hybrid.synthesize.kept.fit", counted)
    result = hybrid.synthesize(frames(), config=without_files, judge=False, progress=False, seed=3)
    first, again, old = result.sample(40), result.sample(40), result.sample(25, "age >= 60")
    assert len(trained) == 3, "patients, visits and drugs are learned once"
    assert list(first) == list(result.table) and len(first["patients"]) == len(again["patients"]) == 40
    assert (old["patients"]["age"] >= 60).all() and len(old["patients"]) == 25
    made = [result.table, first, again, old]
    for one in made:
        assert set(one["visits"]["patient"]) <= set(one["patients"]["patient"])
        assert set(one["drugs"]["visit"]) <= set(one["visits"]["visit"])
        assert set(one["visits"]["hospital"]) <= set(one["hospitals"]["id"])
        assert (pd.to_datetime(one["visits"]["admitted"]) <= pd.to_datetime(one["visits"]["discharged"])).all()
    for table, key in (("patients", "patient"), ("visits", "visit")):
        keys = pd.concat([one[table][key] for one in made])
        assert keys.is_unique and not set(keys) & set(frames()[table][key]), "no key comes twice, none is a source's"
    assert not first["visits"]["admitted"].reset_index(drop=True).equals(again["visits"]["admitted"])
    assert {one.attrs["hybrid"]["verdict"] for one in first.values()} == {"not judged"}
    with pytest.raises(ConfigError, match=r"synthesize\.where"):
        result.sample(5, "diagnosis = 'hip'")
