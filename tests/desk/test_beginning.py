"""The beginning: from a table to its roles on one page, what each column shows, and actions on unmet checks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.desk import start
from hybrid.desk.decisions import remedies_of
from hybrid.desk.editor import Editor
from hybrid.desk.overview import Overviews
from hybrid.desk.start import opened_place
from hybrid.pipeline.config import load_config
from hybrid.publication.actions import Action
from hybrid.publication.verdict import Check
from hybrid.report.run.render import section_of
from tests.desk.open_desk import opened
from tests.pipeline.tables import hospital


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "illness": ["measles"] * 60 + ["mumps"] * 56 + ["leprosy"] * 4,
            "code": [f"X{at:04d}" for at in range(n)],
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_a_table_is_opened_with_the_configuration_that_reads_it(table: Path, tmp_path: Path) -> None:
    config, notes = opened_place(table)
    assert config == tmp_path / "config.yaml" and any("rows" in one for one in notes)
    text = config.read_text()
    assert opened_place(table) == (config, ()) and config.read_text() == text, "a second time nothing is guessed"
    assert opened_place(tmp_path) == (config, ()) and opened_place(config) == (config, ())
    other = tmp_path / "other.csv"
    other.write_text(table.read_text())
    theirs, _ = opened_place(other)
    assert theirs == tmp_path / "other" / "config.yaml" and config.read_text() == text
    assert load_config(theirs).load_all_columns().schema.names == load_config(config).load_all_columns().schema.names
    empty = tmp_path / "empty"
    empty.mkdir()
    assert opened_place(empty) == (None, ())


def test_an_empty_folder_offers_its_tables_or_simulated_people(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "DEMO_ROWS", 60)
    for chosen, config in (("people.csv", tmp_path / "config.yaml"), ("demo", tmp_path / "demo" / "config.yaml")):
        with opened(None, tmp_path) as found:
            found.desk.folder = tmp_path
            visitor = found.visitor()
            visitor.enter(found.address)
            assert visitor.get("/").headers["location"] == "/start"
            page = visitor.get("/start").text
            assert "Begin with people.csv" in page and "Begin with simulated patients" in page
            assert visitor.post("/start", table="../people.csv").status == 409 and not found.desk.config
            visitor.get("/start")
            assert visitor.post("/start", table=chosen).headers["location"] == "/columns"
            assert config.is_file() and visitor.get("/start").status == 303
            assert 'name="role-0"' in visitor.get("/columns").text
            visitor.get("/columns")
            assert visitor.post("/start", table=chosen).status == 409, "one table each desk"


def test_a_column_shows_what_enough_people_share_and_what_its_role_does(table: Path) -> None:
    config, _ = opened_place(table)
    assert config is not None
    editor = Editor(config)
    draft, overviews = editor.read(), Overviews(editor)
    illness = overviews.of(draft, draft.columns["illness"])
    assert illness is not None and [label for label, _ in illness.frequent()] == ["measles", "mumps"]
    assert sum(share for _, share in illness.frequent()) == pytest.approx(1), "the few are not in the whole either"
    assert "leprosy" not in str(illness.chart())
    code = overviews.of(draft, draft.columns["code"])
    assert code is not None and code.frequent() == [] and str(code.chart()) == "" and code.known == 1.0
    frame = pd.read_csv(table)
    counts = frame.groupby(["age", "sex"])["age"].transform("size")
    age = overviews.of(draft, draft.columns["age"])
    assert age is not None and age.known == pytest.approx(float((counts == 1).mean())) and age.unknown == 0.0
    assert age.risk == age.known and overviews.of(draft, draft.columns["age"]) is age, "measured once"


def test_all_roles_are_saved_and_signed_at_once(table: Path) -> None:
    config, _ = opened_place(table)
    assert config is not None
    with opened(config, table.parent) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        page = visitor.get("/columns").text
        risks = re.findall(r'aria-label="Role (\w+)"', page)
        assert sorted(risks) == ["age", "code", "illness", "sex"] and "leprosy" not in page
        names = list(load_config(config).data.columns)
        roles = {f"role-{names.index(name)}": "quasi_identifier" for name in ("age", "sex", "illness")}
        form = {"state": visitor.field("state"), f"role-{names.index('code')}": "identifier", **roles}
        assert visitor.post("/columns/save", **form, name="B. Kaya").status == 303
        loaded = load_config(config)
        assert loaded.roles is not None and loaded.roles.decided_by == "B. Kaya"
        assert loaded.data.columns["illness"].hierarchy is not None, "a hierarchy to start from"
        assert "Start a run" in visitor.get("/columns").text
        log = found.desk.clicks.path.read_text()
        assert "data.columns.illness.role=quasi_identifier" in log and "roles.decided_by=B. Kaya" in log
        visitor.get("/columns")
        again = {"state": visitor.field("state"), f"role-{names.index('illness')}": "sensitive"}
        assert visitor.post("/columns/save", **again).status == 303
        assert load_config(config).roles is None, "nobody has signed this role"
        stale = visitor.post("/columns/save", **form)
        assert stale.status == 409 and "changed since this page was shown" in stale.text


def test_an_action_becomes_a_button_where_it_changes_the_configuration(table: Path) -> None:
    config = hybrid.guess(table).config
    larger, smaller = Action("larger groups", "anonymize.k", 10), Action("smaller groups", "anonymize.k", 2)
    half = Action("half of the people", "sample", {"method": "beta", "beta": 0.5})
    check = Check("rule", "review", "found", actions=(larger, smaller, half))
    assert list(remedies_of(check, config)) == [larger, half], "what protects less is no button"
    assert list(remedies_of(check, config.with_values({"anonymize.k": 10}))) == [half], "edited since the run"
    assert list(remedies_of(check, config.with_values({half.key: half.value}))) == [larger]
    refused = Action("fixed levels", "anonymize.levels", {"age": 1})
    local = config.with_values({"anonymize.recoding": "local"})
    assert (
        list(remedies_of(replace(check, actions=(refused, Action("larger groups", "anonymize.k", known=False))), local))
        == []
    )


def test_linked_tables_get_the_same_actions(tmp_path: Path) -> None:
    config = load_config(hospital.write(tmp_path))
    check = Check("rule", "review", "found", actions=(Action("larger groups", "anonymize.k", 2 * config.k),))
    (remedy,) = remedies_of(check, config)
    changed = config.with_values({remedy.key: remedy.value})
    assert (changed.k, list(changed.views)) == (2 * config.k, list(config.views))
    assert changed.model_dump(mode="json")["tables"] == config.model_dump(mode="json")["tables"]


def test_a_section_is_cut_out_of_a_report() -> None:
    inner = '<h2><span class="at">2</span>Rows</h2>\n<svg style="--natural:360px" preserveAspectRatio="xMidYMid meet"/>'
    page = f'<section id="other">\n<p>no</p>\n</section>\n<section id="rows">\n{inner}\n</section>\n<section id="x"/>'
    assert section_of(page, "rows").strip() == "<h2>Rows</h2>\n<svg/>"
    assert section_of(page, "nothing") == ""


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(opened_place(tmp_path / "nothing.csv")[0] or Path())
    with pytest.raises(ConfigError, match="address of a database") as refused:
        opened_place(Path("postgresql://ann:secret@host/people"))
    assert "secret" not in str(refused.value)
