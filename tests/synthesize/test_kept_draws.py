"""Rows that generators drew, as they were looked at once: a change of any step of learning or drawing is noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.synthesize import SynthesizeOptions
from hybrid.synthesize.fitted import fit
from hybrid.table import Table
from tests.helpers.kept import assert_kept
from tests.synthesize.synthesize_tables import people
from tests.synthesize.visits import STATIC, visits

RECORDS: dict[str, dict[str, Any]] = {
    "cart": {"generator": "cart", "options": {"min_leaf": 20}},
    "cart_shallow": {"generator": "cart", "options": {"min_leaf": 10, "max_depth": 2, "smoothing": 20}},
    "cart_methods": {
        "generator": "cart",
        "options": {"min_leaf": 50, "methods": {"cost": "linear", "ill": "logistic"}},
    },
    "baynet": {"generator": "baynet"},
    "privbayes": {"generator": "privbayes", "options": {"epsilon": 5.0}},
}


def lines(table: Table) -> str:
    """Drawn rows as comma-separated text, numbers with six digits, persons first."""
    frame = table.frame if table.rows_are_persons else table.frame.assign(person=table.persons)
    return str(frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


@pytest.mark.parametrize("name", list(RECORDS))
def test_drawn_records_are_kept(name: str) -> None:
    drawn = fit(people(400), SynthesizeOptions.model_validate(RECORDS[name]), 3).sample(60, 4)
    assert_kept(f"drawn_{name}.csv", lines(drawn))


def test_drawn_persons_are_kept() -> None:
    table = visits(150)
    drawn = fit(table, SynthesizeOptions(options={"min_leaf": 15}), 3, static=STATIC).sample(25, 4)
    assert np.bincount(drawn.persons).min() > 0  # type: ignore[arg-type]
    assert_kept("drawn_persons.csv", lines(drawn))
