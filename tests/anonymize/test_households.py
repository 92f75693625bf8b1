"""Risk of households, by hand and against a loop over members; classes with several households."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize.anonymize_table import anonymize
from hybrid.anonymize.models import describe
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.risk import household_risk
from hybrid.base.errors import DataError, InfeasibleError
from hybrid.hierarchy.build import from_rows
from hybrid.table import Column, Kind, Role, Schema, Table


def test_by_hand() -> None:
    """Classes of 5, 5, 2 persons. A household of three: two in a class of five and one in that of two."""
    classes = np.array([0] * 5 + [1] * 5 + [2] * 2)
    households = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9])
    found = household_risk(classes, np.arange(len(classes)), households)
    assert found.risk[0] == pytest.approx(1 - 0.8 * 0.8 * 0.5)
    assert found.risk[1:9] == pytest.approx([0.2] * 8) and found.risk[9] == pytest.approx(0.5)
    assert list(found.worst_class) == [2, *[5] * 8, 2]


def test_four_at_k_five_are_at_59_percent() -> None:
    found = household_risk(np.repeat([0, 1, 2, 3], 5), np.arange(20), np.tile([0, 1, 2, 3, 4], 4))
    assert found.risk == pytest.approx([1 - 0.8**4] * 5)


def test_rows_of_a_person_are_one_member_at_its_smallest_class() -> None:
    """Person 0 has three rows, in classes of three and of two persons; the household is that person alone."""
    classes = np.array([0, 0, 0, 1, 1, 0])
    persons = np.array([0, 1, 2, 0, 1, 0])
    found = household_risk(classes, persons, np.array([0, 1, 2, 0, 1, 0]))
    assert found.risk == pytest.approx([1 / 2, 1 / 2, 1 / 3])


def test_alone_in_a_class_is_certain() -> None:
    assert list(household_risk(np.array([0]), np.array([0]), np.array([7])).risk) == [1.0]
    nameless = household_risk(np.array([0, 0]), np.array([-1, 4]), np.array([-1, 3]))
    assert list(nameless.risk) == [1.0, 1.0], "who has no key is counted as nobody"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_against_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_persons = int(rng.integers(1, 25))
    home = rng.integers(0, max(n_persons // 2, 1), n_persons)
    persons = rng.permutation(np.repeat(np.arange(n_persons), rng.integers(1, 4, n_persons)))
    classes = rng.integers(0, 5, len(persons))
    classes = np.unique(classes, return_inverse=True)[1]
    members = {c: set(persons[classes == c].tolist()) for c in set(classes.tolist())}
    found = household_risk(classes, persons, home[persons])
    expected = {}
    for household in set(home.tolist()):
        spared = 1.0
        for person in np.flatnonzero(home == household):
            spared *= 1 - max(1 / len(members[c]) for c in classes[persons == person])
        expected[household] = 1 - spared
    assert found.risk == pytest.approx([expected[household] for household in sorted(expected)])


def families(rows: list[tuple[str, int]]) -> Table:
    """People of towns, each with a household."""
    frame = pd.DataFrame(rows, columns=["town", "home"])
    schema = Schema((Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),))
    towns = pd.DataFrame({"town": frame["town"].astype("category")})
    return Table(towns, schema, named_households=frame["home"].to_numpy(dtype=np.int64))


ROWS = [("a", "north", "*"), ("b", "north", "*"), ("c", "south", "*"), ("d", "south", "*")]
TOWNS = from_rows(ROWS, Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL), False, "towns")
ASKED = {"k": 3, "models": [{"model": "households", "least": 2}], "suppression_limit": 0.0}


def test_three_people_of_one_family_are_no_class() -> None:
    """Town a has three people of one household: alone it is 3-anonymous, and a class only together with town b."""
    alone = families([("a", 0)] * 3 + [("b", 1), ("b", 2), ("b", 3)])
    free = anonymize(alone, {"town": TOWNS}, AnonymizeOptions.model_validate(ASKED | {"models": []}))
    assert free.result.levels == {"town": 0}
    found = anonymize(alone, {"town": TOWNS}, AnonymizeOptions.model_validate(ASKED))
    assert found.result.levels == {"town": 1}
    (check,) = found.result.verified["models"]
    assert (check["reached"], check["threshold"], check["holds"]) == (4.0, 2.0, True)
    assert describe(found.result.models[0]) == "persons of at least 2 households"


@settings(max_examples=40, deadline=None)
@given(
    people=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), min_size=6, max_size=40),
    least=st.integers(2, 4),
)
def test_every_class_has_the_households_or_there_is_no_solution(people: list[tuple[str, int]], least: int) -> None:
    table = families(people)
    asked = ASKED | {"k": 2, "models": [{"model": "households", "least": least}]}
    homes = table.households
    if len(set(homes.tolist())) < least:
        with pytest.raises(InfeasibleError, match=f"{least} households"):
            anonymize(table, {"town": TOWNS}, AnonymizeOptions.model_validate(asked))
        return
    found = anonymize(table, {"town": TOWNS}, AnonymizeOptions.model_validate(asked))
    classes, kept = found.class_ids, found.originals.households
    assert all(len(set(kept[classes == one].tolist())) >= least for one in set(classes.tolist()))


def test_rows_without_a_household_are_refused() -> None:
    with pytest.raises(DataError, match="2 rows have no household"):
        anonymize(
            families([("a", 0), ("a", 1), ("b", -1), ("b", -2)]),
            {"town": TOWNS},
            AnonymizeOptions.model_validate(ASKED),
        )
