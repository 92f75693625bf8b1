"""What the search itself discloses, by attacks on planted tables, and that fixed levels do not."""

from __future__ import annotations

import pytest

from hybrid.anonymize import AnonymizeOptions
from tests.anonymize.minimality import Setting, binary, compositions, sensitive_values

DIVERSE = ({"model": "l_diversity", "l": 2, "attribute": "secret"},)
PEOPLE, SECRETS = [(0,), (0,), (1,), (1,), (1,)], [7, 7, 1, 2, 3]


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_minimality_attack(recoding: str) -> None:
    """Wong et al. 2007: labels are merged only since the first two people agree, and only 7 occurs twice."""
    setting = Setting(binary(1), AnonymizeOptions(k=2, models=DIVERSE, recoding=recoding, suppression_limit=0))
    found = sensitive_values(setting, PEOPLE, SECRETS)
    assert found is not None
    assert [(person[7].before, person[7].after) for person in found] == [
        *[(pytest.approx(0.4), 1.0)] * 2,
        *[(pytest.approx(0.4), 0.0)] * 3,
    ]


def test_fixed_levels_prevent_the_minimality_attack() -> None:
    setting = Setting(binary(1), AnonymizeOptions(k=2, models=DIVERSE, levels={"q0": 1}, suppression_limit=0))
    found = sensitive_values(setting, PEOPLE, SECRETS)
    assert found is not None and len(found) == 5
    assert all(one.before == one.after for person in found for one in person.values())


def test_downcoding() -> None:
    """Two records with one label of 0 and 1: two of the same would have kept their value, so one is 0 and one is 1."""
    records = [(0, 0), (0, 0), (1, 0), (1, 1)]
    setting = Setting(binary(2), AnonymizeOptions(k=2, recoding="local", suppression_limit=0))
    found = compositions(setting, records)
    assert found is not None
    assert [(one.before, one.after) for one in found] == [(pytest.approx(0.5), 1.0)]


def test_fixed_levels_prevent_downcoding() -> None:
    records = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1)]
    setting = Setting(binary(2), AnonymizeOptions(k=2, levels={"q0": 0, "q1": 1}, suppression_limit=1))
    found = compositions(setting, records)
    assert found is not None and len(found) == 2
    assert all(one.before == one.after for one in found)
