"""The last look: no text of a release prints what few people of the source hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError, GateRefused, VerificationError
from hybrid.publication.ledger import Ledger
from hybrid.publication.publish import publish
from hybrid.publication.rare_values import RARE, phrase, phrases
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.publication.conftest import RunMaker, an_evaluation

COLUMNS = {
    "name": (Role.IDENTIFIER, Kind.CATEGORICAL),
    "remark": (Role.INSENSITIVE, Kind.CATEGORICAL),
    "ward": (Role.INSENSITIVE, Kind.CATEGORICAL),
    "amount": (Role.SENSITIVE, Kind.DECIMAL),
    "seen": (Role.INSENSITIVE, Kind.DATETIME),
    "born": (Role.QUASI_IDENTIFIER, Kind.DATE),
}
SCHEMA = Schema(tuple(Column(name, role, kind) for name, (role, kind) in COLUMNS.items()))


def source(rows_of_one: int = 6) -> Table:
    """Forty people with frequent values, and one person with rows of values of her own."""
    common = {
        "name": [f"Person Number{at:03d}" for at in range(40)],
        "remark": ["called again"] * 20 + ["Zentralklinikum Altona, Haus 3"] * 20,
        "ward": ["Urology"] * 40,
        "amount": [12.5] * 40,
        "seen": pd.to_datetime(["2024-01-02"] * 40),
        "born": pd.to_datetime(["1970-01-02"] * 40),
    }
    own = {
        "name": "Erika Mustermann",
        "remark": "Frau Mustermann, 0170-5551234",
        "ward": "Altona",
        "amount": 98765432.17,
        "seen": pd.Timestamp("2024-05-06 13:47:11"),
        "born": pd.Timestamp("2026-11-21"),
    }
    frame = pd.DataFrame({name: pd.Series([*common[name], *[own[name]] * rows_of_one]) for name in common})
    frame = frame.astype({name: DTYPES[kind] for name, (_, kind) in COLUMNS.items()})
    return Table(frame, SCHEMA, np.array([*range(40), *[40] * rows_of_one]))


@pytest.fixture
def out(make_run: RunMaker, tmp_path: Path) -> Callable[..., Path]:
    def let_out(**made: Any) -> Path:
        run = make_run(source=source(), **made)
        return publish(run, tmp_path / "releases", tmp_path / "work")

    return let_out


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("<svg><title>Frau Mustermann, 0170-5551234: real 1.7 %</title></svg>", "remark"),
        ("<td>ERIKA\n mustermann</td>", "name"),
        ('<img alt="Erika Mustermann">', "name"),
        ("<p>asked by Erika Mustermann on the phone</p>", "name"),
        ("<td>98,765,432.17</td>", "amount"),
        ("<p>amount is at most 98765432.17</p>", "amount"),
        ("<pre>  seen: 2024-05-06 13:47:11</pre>", "seen"),
    ],
)
def test_a_text_with_a_value_of_one_person_is_not_published(
    out: Callable[..., Path], tmp_path: Path, text: str, column: str
) -> None:
    with pytest.raises(GateRefused) as refused:
        out(report=f"<html>{text}</html>")
    (problem,) = refused.value.problems
    assert f"the column {column!r} that fewer than 5 people" in problem.message and "report.html" in problem.message
    assert "ustermann" not in str(refused.value).lower() and "98765432" not in str(refused.value)
    assert not list((tmp_path / "releases").glob("2*"))
    assert Ledger(tmp_path / "work").events(last=1)[0].outcome == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "<td>7</td><td>yes</td><td>other</td><td>about 98,765,430</td>",
        "<td>called again: real 41 %</td>",
        "<td>Zentralklinikum Altona, Haus 3</td>",  # what one person holds is a part of what many hold
        "<p>2026-11-21, 1970-01-02</p>",  # days are those of any calendar
        "<style>.Erika-Mustermann{}</style>",
        "<p>Mustermann</p>",  # a part of a name is not the name
    ],
)
def test_words_numbers_and_what_many_hold_are_no_reason(out: Callable[..., Path], text: str) -> None:
    assert out(report=f"<html>{text}</html>").is_dir()


def test_configuration_and_descriptions_are_looked_at_but_not_the_publishers_own_words(
    out: Callable[..., Path],
) -> None:
    publisher = {"title": "Visits", "publisher": {"name": "Erika Mustermann"}}
    assert out(name="own", publish=publisher).is_dir()
    with pytest.raises(GateRefused, match=r"manifest\.json"):
        out(name="limits", data_fingerprint="0" * 64, constraints=[{"range": {"amount": [0, 98765432.17]}}])


def test_a_column_may_be_called_as_a_rare_value_but_not_as_a_person(out: Callable[..., Path]) -> None:
    def named(name: str) -> Schema:
        return Schema((Column(name, Role.INSENSITIVE, Kind.INTEGER),))

    assert out(name="ward", schema=named("Altona")).is_dir()
    with pytest.raises(GateRefused, match="'name'"):
        out(name="person", data_fingerprint="0" * 64, schema=named("Erika Mustermann"))


def test_reasons_of_approvals_are_looked_at_and_names_are_not(make_run: RunMaker, tmp_path: Path) -> None:
    def let_out(name: str, by: str, reason: str) -> Path:
        run = make_run(name, source=source(), measured=an_evaluation(copies=0.0017), data_fingerprint=name * 8)
        return publish(run, tmp_path / "releases", tmp_path / "work", accept_review=True, by=by, reason=reason)

    assert let_out("approver", "Erika Mustermann", "looked at").is_dir()
    with pytest.raises(GateRefused, match=r"certificate\.json"):
        let_out("reasons1", "Ada Lovelace", "Erika Mustermann agreed")


def test_without_the_rare_values_nothing_is_published(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run(source=source())
    (run / RARE).write_bytes(b"changed")
    with pytest.raises(VerificationError, match="changed"):
        publish(run, tmp_path / "releases", tmp_path / "work")
    (run / RARE).unlink()
    with pytest.raises(DataError, match="which values few people hold"):
        publish(run, tmp_path / "releases", tmp_path / "work")


def test_the_kept_file_has_no_value(make_run: RunMaker) -> None:
    content = (make_run(source=source()) / RARE).read_bytes()
    assert b"Mustermann" not in content and b"mustermann" not in content and len(content) < 10_000
    assert json.dumps(pd.read_parquet(make_run("again", source=source()) / RARE).columns.tolist()) == (
        '["column", "identifier", "hash", "least"]'
    )


def test_phrases_find_what_a_value_becomes() -> None:
    for value, text in [
        ("Dr. Erika Mustermann", "seen by (Dr Erika Mustermann), 12:30"),
        ("O'Neill-Smith", "x O'Neill-Smith’s"),
        ("a long remark about one person that goes on and on", "q: A long remark about one person that goes on ..."),
        ("the score is higher", "the score is higher than"),
    ]:
        assert (phrase(value) in set(phrases(text))) == (value != "O'Neill-Smith"), value
    assert phrase("7") == phrase("yes") == phrase("x") == phrase("2024-05-06") == phrase("12345678") == ""
    assert phrase("E10") == "e10" and phrase("123456789") == "123456789"
