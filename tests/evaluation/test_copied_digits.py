"""Metric ``copied_digits``: edit distances beside the textbook's, worked by hand, leaks of digits, clean tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.attacks import copied_digits
from hybrid.evaluation.attacks.copied_digits import Digits, _nearest, scores, written
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Column, ColumnFormat, Kind, Role, Table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame

Way = Literal["exact", "one", "shift", "lead"]
BILLS = ["rent", "food", "care"]


def levenshtein(first: str, second: str) -> int:
    """The textbook's table of distances (Wagner and Fischer 1974)."""
    row = list(range(len(second) + 1))
    for i, mine in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, its in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (mine != its))
    return row[-1]


def digits(*columns: list[str]) -> Digits:
    """Records with these digits in each column."""
    parts = [_one(column) for column in columns]
    return Digits(np.array([part[0] for part in parts]), np.array([part[1] for part in parts]))


def _one(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    found = np.zeros((15, len(texts)), np.uint8)
    for at, text in enumerate(texts):
        found[: len(text), at] = [int(letter) for letter in text]
    return found, np.array([len(text) for text in texts], np.int16)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_distances_are_those_of_levenshtein_summed_over_columns(data: st.DataObject) -> None:
    text = st.text("0123456789", max_size=15) | st.text("01", max_size=15)
    columns = data.draw(st.integers(1, 3))
    people, others = (
        [data.draw(st.lists(text, min_size=n, max_size=n)) for _ in range(columns)]
        for n in (data.draw(st.integers(1, 6)), data.draw(st.integers(1, 600)))
    )
    found = _nearest(digits(*people), digits(*others))
    for at, nearest in enumerate(found):
        each = zip(*others, strict=True)
        mine = [column[at] for column in people]
        assert nearest == min(sum(map(levenshtein, mine, row)) for row in each)


def test_numbers_are_written_as_the_source_does() -> None:
    """Without sign and point, with the column's decimals and 15 digits at most; what is missing has none."""
    cents = ColumnFormat(decimals=2, fixed_decimals=True, missing="99")
    price = Column("price", Role.INSENSITIVE, Kind.DECIMAL, format=cents)
    exact = Column("exact", Role.INSENSITIVE, Kind.DECIMAL)
    count = Column("count", Role.INSENSITIVE, Kind.INTEGER)
    for column, values, texts in (
        (price, [12.3, -0.05, None], ["1230", "005", ""]),
        (exact, [0.1234567890123456, 7.0], ["012345678901234", "70"]),
        (count, [1203, None, -7], ["1203", "", "7"]),
    ):
        series = pd.Series(values, dtype="Int64" if column is count else "float64")
        places, lengths = written(series, column)
        found = ["".join(map(str, places[:length, at])) for at, length in enumerate(lengths)]
        assert found == texts


def bills(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """People with amounts to the cent."""
    level = rng.normal(size=n)
    amounts = {name: np.exp(7 + 0.7 * level + rng.normal(0, 0.7, n)).round(2) for name in BILLS}
    return pd.DataFrame(amounts | {"age": rng.integers(18, 90, n), "town": rng.choice(list("abcdefgh"), n)})


def tables(*frames: pd.DataFrame) -> list[Table]:
    """Tables of one population, read together."""
    whole = read_frame(pd.concat(frames, ignore_index=True), ReadOptions())
    ends = np.cumsum([0, *map(len, frames)]).tolist()
    return [whole.take(np.arange(*two)) for two in itertools.pairwise(ends)]


def leaked(train: pd.DataFrame, table: pd.DataFrame, way: Way, rng: np.random.Generator) -> pd.DataFrame:
    """2 % of the rows have the amounts of training records, written with an error in each but ``exact``."""
    n = round(0.02 * len(table))
    rows, people = (rng.choice(len(table), n, replace=False) for _ in range(2))
    frame = table.copy()
    for name in BILLS:
        texts = [f"{value:.2f}" for value in train[name].iloc[people]]
        frame.loc[rows, name] = [float(_with_error(text, way, rng)) for text in texts]
    return frame


def _with_error(text: str, way: Way, rng: np.random.Generator) -> str:
    letters = list(text)
    places = [at for at, letter in enumerate(letters) if letter.isdigit()]
    at = int(rng.choice(places))
    if way == "one":
        letters[at] = str(rng.integers(10))
    elif way == "shift":
        letters[at] = "" if rng.random() < 0.5 else 2 * letters[at]
    elif way == "lead":
        for last in places[-(-3 * len(places) // 5) :]:
            letters[last] = str(rng.integers(10))
    return "".join(letters)


def measure(train: Table, control: Table | None, table: Table, seed: int = 1) -> Outcome:
    return REGISTRY["copied_digits"].measure(Context(train, control, table, EvaluateOptions(), seed)).outcome


@pytest.mark.parametrize("way", ["exact", "one", "shift", "lead"])
def test_digits_of_two_per_cent_are_found(way: Way) -> None:
    """Of 1,000 rows 20, the other columns being those of other people: above the limit for review in 4 of 4 draws."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        train, control, table = (bills(1000, rng) for _ in range(3))
        found = measure(*tables(train, control, leaked(train, table, way, rng)), seed=seed)
        assert isinstance(found, Measure) and found.excess is not None
        assert found.excess[1] > 0.002, (seed, found.excess)


def test_what_distances_and_shared_values_do_not_see() -> None:
    """A digit of every amount changed: neither the rare values nor the nearest records betray the rows."""
    rng = np.random.default_rng(5)
    train, control, table = (bills(1000, rng) for _ in range(3))
    context = Context(*tables(train, control, leaked(train, table, "one", rng)), EvaluateOptions(), 5)
    seen = {}
    for name in ("copied_digits", "shared_cells", "rare_values", "nndr_share", "hitting_rate"):
        outcome = REGISTRY[name].measure(context).outcome
        assert isinstance(outcome, Measure) and outcome.excess is not None
        seen[name] = outcome.excess[1] > 0.002
    assert seen == dict.fromkeys(seen, False) | {"copied_digits": True}


def test_clean_tables_are_no_leak() -> None:
    """Bounds of 95 % lie above 0 in at most 2.5 % of clean tables; binomial(40, .025) exceeds 4 once in 300 times."""
    alarms, values = 0, []
    for seed in range(40):
        rng = np.random.default_rng([7, seed])
        sizes = 300, (300, 90)[seed % 2], 300
        found = measure(*tables(*(bills(n, rng) for n in sizes)), seed=seed)
        assert isinstance(found, Measure) and found.low is not None and found.high is not None
        assert found.low <= found.value <= found.high
        alarms += found.low > 0
        values.append(found.value)
    assert alarms <= 4
    assert abs(float(np.mean(values))) < 0.006


def test_a_copy_and_half_of_control_instead_of_train() -> None:
    rng = np.random.default_rng(3)
    train, control = tables(bills(600, rng), bills(600, rng))
    copied, kept_away = measure(train, control, train), measure(train, control, control)
    assert isinstance(copied, Measure) and copied.value == pytest.approx(0.06)
    assert isinstance(kept_away, Measure) and kept_away.high is not None and kept_away.high < 0


def test_a_person_is_one_attempt_whatever_the_number_of_rows() -> None:
    rng = np.random.default_rng(4)
    train, control, table = tables(*(bills(200, rng) for _ in range(3)))
    rows = np.repeat(np.arange(200), 4)
    four = [replace(part.take(rows), named_persons=rows) for part in (train, control)]
    assert [len(side) for side in scores(Context(*four, table, EvaluateOptions(), 1))] == [200, 200]
    found = measure(*four, table)
    assert isinstance(found, Measure) and found.n == 200


def test_large_tables_are_asked_about_through_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    frames = [bills(800, rng) for _ in range(3)]
    train, control, table = tables(*frames[:2], leaked(frames[0], frames[2], "exact", rng))
    whole = measure(train, control, table)
    monkeypatch.setattr(copied_digits, "PAIRS", 0)
    part = measure(train, control, table)
    assert isinstance(whole, Measure) and isinstance(part, Measure)
    assert (whole.n, part.n) == (800, 500)
    assert part.details["sampled"] == {role: {"records": 500, "of": 800} for role in ("train", "control")}
    assert "sampled" not in whole.details
    assert part.value == pytest.approx(whole.value, abs=0.01)


def test_tables_with_few_digits_and_without_control() -> None:
    rng = np.random.default_rng(8)
    few = [frame[["age", "town"]] for frame in (bills(60, rng) for _ in range(3))]
    for frames in (few, [frame[["town"]] for frame in few]):
        found = measure(*tables(*frames))
        assert isinstance(found, NotComputable) and found.lacks == "numbers"
    train, _, table = tables(*(bills(60, rng) for _ in range(3)))
    found = measure(train, None, table)
    assert isinstance(found, NotComputable) and found.lacks == "control"


def test_details_hold_no_value() -> None:
    rng = np.random.default_rng(9)
    found = measure(*tables(*(bills(100, rng) for _ in range(3))))
    assert isinstance(found, Measure) and found.details["columns"] == ["age", "care", "food", "rent"]
    assert found.details["digits"] > 12
