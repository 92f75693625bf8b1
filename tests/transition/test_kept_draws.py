"""Values that every transition drew, as they were looked at once."""

from __future__ import annotations

import pytest

from tests.helpers.kept import assert_kept
from tests.transition.choices import CHOICES, restore
from tests.transition.transition_tables import mixed_table

STRATEGIES = sorted({name for name, _ in CHOICES})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_drawn_values_are_kept(strategy: str) -> None:
    anonymized = mixed_table(300)
    found = []
    for name, options in CHOICES:
        if name == strategy:
            drawn = restore(anonymized, name, options).table.frame[list(anonymized.quasi_identifiers)].head(12)
            found.append(f"# {options}\n{drawn.to_csv(index=False, float_format='%.6g', lineterminator=chr(10))}")
    assert_kept(f"values_of_{strategy}.csv", "".join(found))
