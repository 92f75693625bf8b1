"""Correlations between metrics over the trials of a kind of leak."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.base.language import ENGLISH
from hybrid.lab.measurements import LEAST_TRIALS, agreements, correlations, matrix_of
from hybrid.lab.page import _correlations


def rows(numbers: dict[str, list[float]], risk: str = "leaky", series: str = "") -> pd.DataFrame:
    found = []
    for name, values in numbers.items():
        for at, value in enumerate(values):
            head = {"data": "people", "risk": risk, "series": series, "position": at // 2, "seed": at % 2}
            found.append({**head, "contestant": name, "excess": value})
    return pd.DataFrame(found)


NUMBERS = {
    "one": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    "two": [0.0, 1.0, 4.0, 9.0, 16.0, 25.0],
    "three": [5.0, 4.0, 3.0, 2.0, 1.0, 0.0],
    "four": [0.0, 2.0, 1.0, 3.0, 5.0, 4.0],
    "constant": [1.0] * 6,
    "one (printed IMS)": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
}


def test_worked_by_hand() -> None:
    """Ranks of one and four differ by 0, 1, 1, 0, 1, 1: 1 - 6 * 4 / (6 * 35) = .885714."""
    found = correlations(rows(NUMBERS)).set_index(["one", "other"])
    assert found.loc[("one", "two"), "correlation"] == 1
    assert found.loc[("one", "three"), "correlation"] == -1
    assert found.loc[("one", "four"), "correlation"] == pytest.approx(0.885714, abs=1e-6)
    assert set(found["trials"]) == {6}
    assert not {"constant", "one (printed IMS)"} & {name for pair in found.index for name in pair}


def test_every_kind_of_leak_has_its_own_and_shared_trials_count_once() -> None:
    leaky, noisy = rows(NUMBERS), rows({"one": [0, 1, 2, 3, 4, 5], "two": [5, 4, 3, 2, 1, 0]}, "noisy", "a")
    again = noisy.assign(series="b")
    found = correlations(pd.concat([leaky, noisy, again]))
    pair = found[(found["one"] == "one") & (found["other"] == "two")].set_index("risk")
    assert pair.loc["leaky", "correlation"] == 1 and pair.loc["noisy", "correlation"] == -1
    # Two series of three levels and two seeds; the two trials without a leak are the same.
    assert pair.loc["noisy", "trials"] == 10


def test_too_few_trials_are_not_compared() -> None:
    few = {name: values[: LEAST_TRIALS - 1] for name, values in NUMBERS.items()}
    assert correlations(rows(few)).empty


def test_agreement_and_picture() -> None:
    found = correlations(rows(NUMBERS))
    (said,) = agreements(found)
    assert said.pairs == 6 and said.least[2] == -1 and "three" in said.least[:2]
    matrix = matrix_of(found, "leaky", ["four", "one", "two", "missing", "three"])
    assert list(matrix.index) == ["four", "one", "two", "three"]
    assert matrix.loc["four", "one"] == matrix.loc["one", "four"] == pytest.approx(0.885714, abs=1e-6)
    picture = str(_correlations(matrix, ENGLISH))
    assert picture.count("<rect") == 12 and picture.count("heat-cell negative") == 6 and ">89<" in picture
    matrix.loc["one", "four"] = np.nan
    assert str(_correlations(matrix, ENGLISH)).count("<rect") == 11
