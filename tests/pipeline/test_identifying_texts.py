"""Identifiers inside of other columns, and contacts in the names of columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.identifying_texts import identifying_problems
from hybrid.pipeline.starter.value_patterns import contact_in, pattern_of
from hybrid.pipeline.table_run import TableRun
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

N = 300


def table(remarks: list[str], ids: list[str] | None = None, name: str = "remark") -> Table:
    numbers = [f"P{at:05d}" for at in range(len(remarks))] if ids is None else ids
    columns = Column("pid", Role.IDENTIFIER, Kind.CATEGORICAL), Column(name, Role.INSENSITIVE, Kind.CATEGORICAL)
    frame = pd.DataFrame({"pid": pd.Series(numbers), name: pd.Series(remarks)}, dtype=DTYPES[Kind.CATEGORICAL])
    return Table(frame, Schema(columns))


def found(one: Table, kept: tuple[str, ...] = ()) -> list[str]:
    return [str(problem) for _, problem in identifying_problems({"": one}, kept)]


def test_a_number_of_another_person_in_a_remark_is_an_error() -> None:
    (message,) = found(table(["stable"] * 295 + ["see also P00005"] * 5))
    assert "fewer than 10 rows hold a value of an identifier" in message and "P00005" not in message
    assert found(table(["stable"] * 295 + ["see also P00005"] * 5), kept=("remark",)) == []


def test_names_of_several_words_are_found_in_any_spelling_of_the_text() -> None:
    names = [f"Person Nr{at}" for at in range(N - 1)] + ["Mustermann, Erika"]
    assert found(table(["seen by MUSTERMANN ERIKA today"] + ["stable"] * (N - 1), names))
    assert not found(table(["Erika came, Mustermann not"] + ["stable"] * (N - 1), names))


def test_single_words_and_numbers_count_in_the_row_of_their_own_person() -> None:
    rng = np.random.default_rng(0)
    trades = rng.choice(["Baker", "Cook", "Smith"], N).tolist()
    surnames = rng.permutation(trades).tolist()
    assert (
        found(table([f"Mr {name} came" for name in surnames], [f"{at}{name}" for at, name in enumerate(surnames)]))
        == []
    )
    numbers = [str(10_000 + at) for at in range(N)]
    assert found(table(rng.permutation(numbers).tolist(), numbers)) == [], (
        "codes that look alike are no numbers of people"
    )
    assert found(table([f"case {number}" for number in numbers], numbers))


def test_a_colour_is_no_name_of_the_few_who_are_called_so() -> None:
    """Four Whites who are white, and one remark that five share: no run of a table with surnames and races began."""
    names = ["White"] * 4 + [f"Person{at}" for at in range(N - 4)]
    races = ["White"] * 10 + ["Black"] * (N - 10)
    assert found(table(races, names)) == []
    assert found(table(["White"] * 4 + ["Black"] * (N - 4), names)), "four people alone have this text"


def test_what_many_share_names_nobody() -> None:
    ids = ["not known 1"] * 10 + [f"P{at:05d}" for at in range(N - 10)]
    assert found(table(["not known 1"] * 20 + ["stable"] * (N - 20), ids)) == []


def test_identifiers_of_one_table_are_looked_for_in_all() -> None:
    people, visits = (
        table(["stable"] * N),
        table(["see P00007"] + ["stable"] * (N - 1), [f"V{at:05d}" for at in range(N)]),
    )
    assert [name for name, _ in identifying_problems({"people": people, "visits": visits}, ())] == ["visits"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Erika Mustermann 0170-5551234", "phone numbers"),
        ("erika_mustermann_01705551234", "phone numbers"),
        ("answer of erika@example.org", "e-mail addresses"),
        ("blood pressure 24.11.2026", None),
        ("visit 01.02.2020-05.03.2020", None),
        ("ICD10 2019 0815", None),
        ("x1234567890", None),
    ],
)
def test_contacts_in_names_of_columns(name: str, what: str | None) -> None:
    assert contact_in(name) == what
    messages = found(table(["stable"] * N, name=name))
    assert bool(messages) == (what is not None)
    assert not any("Mustermann" in message or "example.org" in message for message in messages)


@pytest.mark.parametrize(
    "text", ["Dr. Erika Mustermann, 0170-5551234", "write to erika@example.org", "call +49 170 5551234"]
)
def test_a_contact_in_a_single_distinct_text_is_found(text: str) -> None:
    column = Column("remark", Role.INSENSITIVE, Kind.CATEGORICAL)
    values = pd.Series(["stable", "see again", "called", "sent"] * 122 + [text] * 12)
    pattern = pattern_of(column, values)
    assert pattern is not None and pattern.inside
    assert pattern_of(column, values.replace(text, "room 0123, 12.05.2024 10:30, 1 234 567 EUR")) is None


def test_check_and_run_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"pid": [f"P{at:05d}" for at in range(N)], "age": rng.integers(20, 80, N)})
    frame["remark"] = ["see also P00005"] * 5 + ["stable"] * (N - 5)
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "config.yaml").write_text(
        "version: 1\nname: people\ndata:\n  path: people.csv\n  columns:\n    pid: {role: identifier}\n"
        "    age: {role: insensitive}\n    remark: {role: insensitive}\nsynthesize: {generator: cart}\n"
    )
    config = load_config(tmp_path / "config.yaml")
    errors = [finding.message for finding in diagnose(config) if finding.level == "error"]
    assert any("data.columns.remark" in message and "identifier" in message for message in errors)
    with pytest.raises(DataError, match="remark"):
        TableRun(config, seed=1).check()
