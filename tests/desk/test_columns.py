"""The editor of the desk: kinds, hierarchies, constraints, linked tables; every change is a change of files."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.cli import main
from hybrid.demo import write_linked_demo
from hybrid.desk import editor
from hybrid.desk.serve import read_ahead
from hybrid.hierarchy.files import read_rows, read_spec
from hybrid.pipeline.config import load_config
from hybrid.pipeline.draft import Draft
from tests.desk.open_desk import OpenDesk, Visitor, opened, opened_copy


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits of people, as `hybrid init` describes them."""
    folder = tmp_path_factory.mktemp("visits")
    n = 240
    days = pd.date_range("2024-01-01", periods=n, freq="D")
    frame = pd.DataFrame(
        {
            "patient_id": [f"P{at // 2:03d}" for at in range(n)],
            "age": [20 + (at // 2 * 7) % 60 for at in range(n)],
            "zip": [f"80{at // 2 % 9}3{at // 2 % 4}" for at in range(n)],
            "town": [("Au", "Berg", "Cham", "Dorf")[at // 2 % 4] for at in range(n)],
            "admission_date": days.strftime("%d.%m.%Y"),
            "left": (days + pd.to_timedelta([at % 5 for at in range(n)], "D")).strftime("%d.%m.%Y"),
            "diagnosis": [f"{'IEJ'[at % 3]}1{at % 4}" for at in range(n)],
        }
    )
    frame.to_csv(folder / "visits.csv", index=False)
    draft = Draft.read(_initialized(folder, "visits.csv"))
    draft.columns["town"].role = "insensitive"
    (folder / "hierarchies" / "admission_date.yaml").write_text("type: dates\nlevels: [month, quarter, year]\n")
    draft.columns["admission_date"].role = "quasi_identifier"
    draft.columns["admission_date"].hierarchy = "hierarchies/admission_date.yaml"
    draft.columns["left"].role = "insensitive"
    draft.write(folder / "config.yaml", force=True)
    return folder


def _initialized(folder: Path, *words: str) -> Path:
    with pytest.raises(SystemExit) as caught:
        main(["init", str(folder / words[0]), "--out", str(folder / "config.yaml")])
    assert caught.value.code == 0
    return folder / "config.yaml"


@pytest.fixture
def own(visits: Path, tmp_path: Path) -> Iterator[tuple[Visitor, OpenDesk, Path]]:
    with opened_copy(visits, tmp_path) as found:
        yield found


def _send(visitor: Visitor, page: str, **fields: str) -> tuple[int, str]:
    """Send a form of a page, as the person sees it."""
    visitor.get(page)
    answer = visitor.post(page.partition("?")[0], state=visitor.field("state"), **fields)
    return answer.status, html.unescape(answer.text)


def _send_to(visitor: Visitor, page: str, action: str, **fields: str) -> int:
    """Send a form of a page to its action."""
    visitor.get(page)
    return visitor.post(action, state=visitor.field("state"), **fields).status


def _commands(folder: Path) -> list[str]:
    lines = [json.loads(line) for line in (folder / "work" / "desk.jsonl").read_text().splitlines()]
    return [line["command"] for line in lines if "command" in line]


def test_rules_are_edited_as_they_would_be_written_by_hand(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    before = {path: path.read_text() for path in folder.rglob("*.*") if path.suffix in (".yaml", ".csv")}
    form = {"action": "rule", "sort": "intervals", "widths": "10; 20 40", "bottom": "20", "top": "80", "start": ""}
    assert _send(visitor, "/hierarchy/age", edges="", **form)[0] == 303
    assert read_spec(folder / "hierarchies/age.yaml").model_dump(mode="json", exclude_defaults=True) == {
        "widths": ["10", "20", "40"],
        "bottom": "20",
        "top": "80",
    }
    page = visitor.get("/hierarchy/age").text
    assert "20-29" in page and "+widths: [10, 20, 40]" in page
    assert _commands(folder)[-1].endswith("age type=intervals 'widths=[10, 20, 40]' bottom=20 top=80")
    assert _send(visitor, "/hierarchy/admission_date", action="rule", sort="dates", **{"period-year": "yes"})[0] == 303
    assert read_spec(folder / "hierarchies/admission_date.yaml").levels == ("year",)  # type: ignore[union-attr]
    assert _send(visitor, "/hierarchy/zip", action="rule", sort="mask", keep="2", length="keep")[0] == 303
    assert "80***" in visitor.get("/hierarchy/zip").text
    listed = visitor.get("/changes").text
    assert "/hierarchy/age" in listed and "widths" not in listed, "values may be in hierarchies: not on this page"
    for _ in range(3):
        visitor.get("/changes")
        assert visitor.post("/columns/undo", state=visitor.field("state")).status == 303
    assert {path: path.read_text() for path in before} == before


WRONG_RULES = (
    ("age", {"sort": "intervals", "widths": "10, 15"}, "multiple of the one before"),
    ("age", {"sort": "intervals", "widths": "ten"}, "a number was expected"),
    ("age", {"sort": "intervals", "widths": ""}, "give either widths or edges"),
    ("age", {"sort": "dates", "period-day": "yes"}, "type dates is for date, datetime and time columns"),
    ("admission_date", {"sort": "dates"}, "at least 1 item"),
    ("zip", {"sort": "mask", "keep": "2, 4", "length": "keep"}, "keep must descend"),
    ("age", {"sort": "tree"}, "has no form"),
)


def test_a_wrong_rule_is_explained_beside_the_form(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    before = {path: path.read_text() for path in (folder / "hierarchies").iterdir()}
    for page, form, said in WRONG_RULES:
        status, text = _send(visitor, f"/hierarchy/{page}", action="rule", **form)
        assert status == 409 and said in text and "<form" in text, form
    assert {path: path.read_text() for path in before} == before


def test_values_are_grouped_level_by_level(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    assert visitor.decide("town", "quasi_identifier").status == 303
    file = folder / str(load_config(folder / "config.yaml").data.columns["town"].hierarchy)
    labels = {f"label-{at}": label for at, label in enumerate(("West", "West", "East ", "East"))}
    assert _send(visitor, "/hierarchy/town", action="regroup", level="1", **labels)[0] == 303
    assert [row[:2] for row in read_rows(file)] == [
        ("Au", "West"),
        ("Berg", "West"),
        ("Cham", "East"),
        ("Dorf", "East"),
    ]
    assert _send(visitor, "/hierarchy/town", action="add_level", level="1")[0] == 303
    more = {"label-0": "All", "label-1": "All"}
    assert _send(visitor, "/hierarchy/town?level=2", action="regroup", level="2", **more)[0] == 303
    assert read_rows(file)[0][:3] == ("Au", "West", "All")
    assert _send(visitor, "/hierarchy/town", action="remove_level", level="2")[0] == 303
    status, text = _send(visitor, "/hierarchy/town", action="regroup", level="1", **(labels | {"label-0": " "}))
    assert status == 409 and "a label is empty" in text and 'value=" "' in text, "what was typed is kept"
    assert _send(visitor, "/hierarchy/town", action="regroup", level="1", **{"label-0": "West"})[0] == 409
    hostile = {"label-0": '"><script>alert(1)</script>', "label-1": "'><img src=x onerror=alert(1)>"}
    assert _send(visitor, "/hierarchy/town", action="regroup", level="1", **(labels | hostile))[0] == 303
    page = visitor.get("/hierarchy/town").text
    assert "<script" not in page and "<img" not in page and "&lt;script" in page, "labels are text"
    values = {"Au", "Berg", "Cham", "Dorf", "West", "East"}
    log = (folder / "work" / "desk.jsonl").read_text()
    assert not any(value in log for value in values), "labels and values are in no log"
    assert any("hierarchy check" in one for one in _commands(folder))


def test_another_sort_gets_a_file_of_its_own_and_text_is_checked(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    assert _send(visitor, "/hierarchy/zip", action="restart", sort="groups")[0] == 303
    named = load_config(folder / "config.yaml").data.columns["zip"].hierarchy
    assert named == "hierarchies/zip.csv" and (folder / "hierarchies/zip.yaml").is_file()
    status, text = _send(visitor, "/hierarchy/zip", action="text", text="80030;80*;*\n")
    assert status == 409 and "are not in its hierarchy" in text and "80030;80*;*" in text
    assert _send(visitor, "/hierarchy/zip", action="restart", sort="dates")[0] == 409
    rows = read_rows(folder / str(named))
    wanted = "".join(f"{row[0]};north;*\r\n" for row in rows)
    assert _send(visitor, "/hierarchy/zip", action="text", text=wanted)[0] == 303
    assert {row[1:] for row in read_rows(folder / str(named))} == {("north", "*")}


def test_another_kind_gets_another_hierarchy_and_undo_removes_what_was_made(
    own: tuple[Visitor, OpenDesk, Path],
) -> None:
    visitor, _, folder = own
    before = sorted(path.name for path in (folder / "hierarchies").iterdir())
    assert visitor.decide("zip", "quasi_identifier", kind="integer").status == 303
    changed = load_config(folder / "config.yaml").data.columns["zip"]
    assert changed.kind == "integer" and read_spec(folder / str(changed.hierarchy)).type == "intervals"
    assert any("zip.kind=integer" in one for one in _commands(folder))
    refused = visitor.decide("town", "insensitive", kind="date")
    assert refused.status == 409 and "Au" not in refused.text.partition("<main")[2]
    visitor.get("/changes")
    assert visitor.post("/columns/undo", state=visitor.field("state")).status == 303
    assert sorted(path.name for path in (folder / "hierarchies").iterdir()) == before


def test_the_effect_of_a_role_is_shown_beside_that_before(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, _ = own
    first = visitor.get("/columns").text
    assert "are alone on the quasi-identifiers as they are" in first and "Before these roles" not in first
    for name in ("admission_date", "zip"):
        assert visitor.decide(name, "insensitive").status == 303
    page = visitor.get("/columns").text
    assert "0.0 % of the rows are of people who are alone" in page and "Before these roles or levels:" in page
    assert "120 persons, one with up to 2 rows" in page


def test_what_is_only_confirmed_is_not_searched_again(
    own: tuple[Visitor, OpenDesk, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _, _ = own
    visitor.get("/columns")
    measured: list[object] = []
    found = editor.role_effect
    monkeypatch.setattr(editor, "role_effect", lambda *how: measured.append(how) or found(*how))
    assert visitor.decide("age", "quasi_identifier").status == 303
    visitor.get("/columns")
    assert not measured
    assert visitor.decide("age", "insensitive").status == 303
    visitor.get("/columns")
    assert len(measured) == 1


def test_the_first_page_finds_its_effect_measured(
    own: tuple[Visitor, OpenDesk, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, found, folder = own
    read_ahead(found.desk)
    monkeypatch.setattr(editor, "role_effect", lambda *_: pytest.fail("it is measured again"))
    assert "of the rows are of people who are alone on the quasi-identifiers" in visitor.get("/columns").text
    (folder / "visits.csv").unlink()
    read_ahead(found.desk)


def test_nobody_signs_before_the_person_of_a_row_is_named(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    for name, column in Draft.read(folder / "config.yaml").columns.items():
        assert visitor.decide(name, "insensitive" if column.role == "undecided" else column.role).status == 303
    for key in ("data.order", "data.person"):
        assert _send_to(visitor, "/changes", "/changes/set", key=key, value="null") == 303
    page = visitor.get("/columns").text
    assert "values repeat in patient_id" in page and "(120 different values)" in page
    assert _send_to(visitor, "/columns", "/columns/save", name="A. Meier") == 409
    assert _send_to(visitor, "/columns", "/columns/save", **{"data.person": "patient_id"}) == 303
    assert _send_to(visitor, "/columns", "/columns/save", **{"output.identifiers": "all"}) == 409
    assert _send_to(visitor, "/columns", "/columns/save", **{"output.identifiers": "drop"}) == 303
    assert _send_to(visitor, "/columns", "/columns/save", name="A. Meier") == 303
    config = load_config(folder / "config.yaml")
    assert (config.data.person, config.output.identifiers) == ("patient_id", "drop")
    assert config.roles is not None and config.roles.decided_by == "A. Meier"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("", "3"),
        ("anonymize", "3"),
        ("anonymize.k", "0"),
        ("anonymize.k", "!!python/object/apply:os.getcwd []"),
        ("anonymize.k\nroles", "3"),
        ("nothing.of.this", "secret-value"),
        ("anonymize.models", "&a [*a]"),
        ("anonymize.k", "&a [&b [x, x, x, x], *b, *b, *b, *b]"),
    ],
)
def test_a_wrong_setting_writes_nothing(key: str, value: str, own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    before = (folder / "config.yaml").read_text()
    assert _send_to(visitor, "/changes", "/changes/set", key=key, value=value) == 409
    assert (folder / "config.yaml").read_text() == before
    assert "secret-value" not in (folder / "work" / "desk.jsonl").read_text()


def test_constraints_that_were_found_are_kept_and_dropped(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    text, sure = "{le: [admission_date, left]}", "{combinations: [town, zip]}"
    assert text in visitor.get("/columns/constraints").text
    form = {"table": "", "constraint": text}
    assert _send(visitor, "/columns/constraints", action="keep", **form)[0] == 303
    assert [one.text for one in load_config(folder / "config.yaml").constraints] == [sure, text]
    assert _commands(folder)[-1].endswith(f"'constraints=[{sure}, {text}]'")
    assert _send(visitor, "/columns/constraints", action="keep", **form)[0] == 409, "it is kept already"
    assert _send(visitor, "/columns/constraints", action="drop", **form)[0] == 303
    assert [one.text for one in load_config(folder / "config.yaml").constraints] == [sure]


def test_the_commands_of_a_terminal_do_the_same(own: tuple[Visitor, OpenDesk, Path]) -> None:
    _, _, folder = own
    config = str(folder / "config.yaml")
    for words, code in (
        (("hierarchy", "set", config, "age", "type=intervals", "widths=[10, 20]"), 0),
        (("hierarchy", "set", config, "age", "type=intervals", "widths=[10, 15]"), 2),
        (("hierarchy", "set", config, "diagnosis", "type=mask"), 2),
        (("hierarchy", "set", config, "zip", "type=quantiles"), 2),
        (("hierarchy", "set", config, "age", "type=quantiles", "counts=[8, 3]"), 2),
        (("hierarchy", "set", config, "age", "type=quantiles", "widths=[10]"), 2),
        (("edit", config, "constraints=[{le: [admission_date, left]}]"), 0),
    ):
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        assert caught.value.code == code, words
    spec = read_spec(folder / "hierarchies/age.yaml")
    assert [int(one) for one in spec.widths] == [10, 20]  # type: ignore[union-attr]
    with pytest.raises(SystemExit):
        main(["hierarchy", "set", config, "age", "type=quantiles", "counts=[8, 4]"])
    spec = read_spec(folder / "hierarchies/age.yaml")
    assert [len(one) for one in spec.edges] == [7, 3]  # type: ignore[union-attr]


def test_a_hierarchy_is_made_for_each_quasi_identifier_without_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 300), "smokes": rng.choice(["yes", "no"], 300)})
    config = tmp_path / "config.yaml"
    frame.assign(other=rng.integers(0, 9, 300)).to_csv(tmp_path / "people.csv", index=False)

    def command(*words: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        return int(str(caught.value.code))

    assert command("init", str(tmp_path / "people.csv")) == 0
    text = config.read_text().replace("smokes: {role: insensitive", "smokes: {role: quasi_identifier")
    config.write_text(text.replace("other: {role: insensitive", "other: {role: quasi_identifier"))
    assert command("check", str(config)) == 2
    assert command("hierarchy", "make", str(config)) == 0
    assert command("check", str(config)) == 0
    columns = Draft.read(config).columns
    assert columns["age"].hierarchy == "hierarchies/age.yaml", "it had one"
    assert columns["smokes"].hierarchy == "hierarchies/smokes.csv"
    assert columns["other"].hierarchy == "hierarchies/other.yaml"
    before = config.read_text()
    assert command("hierarchy", "make", str(config)) == 0 and config.read_text() == before


def test_columns_of_linked_tables_are_decided(tmp_path: Path) -> None:
    write_linked_demo(tmp_path / "demo", admissions=150, seed=3)
    config = tmp_path / "demo" / "config.yaml"
    draft = Draft.read(config)
    person = str(draft["person"])
    other = next(name for name in draft.columns if not name.startswith(f"{person}."))
    own = next(name for name in draft.columns if name.startswith(f"{person}.") and draft.columns[name].hierarchy)
    with opened(config, tmp_path / "demo") as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        page = visitor.get("/columns").text
        assert "one row per person" in page and f"One row of {person} is one person" in page
        assert visitor.decide(other, "weight").status == 409, "the person table alone has them"
        assert visitor.decide(other, "insensitive").status == 303
        assert visitor.decide(own, "sensitive").status == 303
        assert visitor.get(f"/hierarchy/{own}").status == 200
        assert visitor.get("/columns/constraints").status == 200
    table, column = own.split(".", 1)
    content = yaml.safe_load(config.read_text())
    assert content["tables"][table]["columns"][column]["role"] == "sensitive"
