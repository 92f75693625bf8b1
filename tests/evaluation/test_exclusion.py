"""Groups of people who are missing: by hand, by chance, by person, and without names of small groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.fidelity.exclusion import Shortfall, shortfall_in_words, shortfalls
from hybrid.evaluation.measure import NotComputable
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.table import Kind, Role, Table
from hybrid.table.cells import people_groups
from tests.evaluation.small_tables import measured, small

COLUMNS = ("origin", Kind.CATEGORICAL, Role.QUASI_IDENTIFIER), ("age", Kind.INTEGER, Role.INSENSITIVE)


def people(**counts: int) -> Table:
    return small([(origin, at % 50) for origin, n in counts.items() for at in range(n)], *COLUMNS)


def drawn(rng: np.random.Generator, n: int) -> Table:
    return people(**dict(zip("abcd", rng.multinomial(n, [0.6, 0.25, 0.1, 0.05]).tolist(), strict=True)))


TRAIN = people(here=300, there=80, far=20)


def test_the_worst_group_is_named_with_its_shortfall() -> None:
    found = measured("group_exclusion", TRAIN, None, people(here=320, there=80), groups=("origin",))
    (first, *_) = found.details["groups"]
    assert (found.value, first["group"], first["people"], first["share"]) == (1.0, "far", 20, 0.05)
    assert found.low is not None and 0 < found.low < 1 == found.high
    half = measured("group_exclusion", TRAIN, None, people(here=320, there=40, far=40), groups=("origin",))
    assert (half.value, half.details["groups"][0]["group"]) == (pytest.approx(0.5), "there")


def test_the_bounds_are_those_of_a_ratio_of_two_shares() -> None:
    """Donner and Zou: (ab - sqrt((ab)^2 - u l)) with Wilson bounds, here of 40 of 400 beside 80 of 400 at 95 %."""
    from hybrid.evaluation.engine.intervals import share_interval

    (groups,) = people_groups(people(here=320, there=80), ["origin"], 20)
    worst = shortfalls(
        [replace(groups, named=groups.named[1:])], people(here=320, there=80), people(here=360, there=40), 0.95
    )
    a, (al, au) = 0.1, share_interval(0.1, 400, 0.95)
    b, (bl, bu) = 0.2, share_interval(0.2, 400, 0.95)
    high = (a * b + np.sqrt((a * b) ** 2 - au * (2 * a - au) * bl * (2 * b - bl))) / (bl * (2 * b - bl))
    low = (a * b - np.sqrt((a * b) ** 2 - al * (2 * a - al) * bu * (2 * b - bu))) / (bu * (2 * b - bu))
    assert [worst[0].value, worst[0].low, worst[0].high] == pytest.approx([0.5, 1 - high, 1 - low])


def test_chance_makes_nobody_missing() -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(24):
        train, table = drawn(rng, 500), drawn(rng, 500)
        groups = list(people_groups(train, ["origin"], 20))
        alarms += shortfalls(groups, train, table, 0.95)[0].low > 0
    assert alarms <= 3


def test_small_groups_are_one_group_and_never_named() -> None:
    train = people(here=300, **{f"village{at}": 3 for at in range(10)})
    found = measured("group_exclusion", train, None, people(here=330))
    assert {one["group"] for one in found.details["groups"] if one["column"] == "origin"} == {
        "here",
        "rare values together",
    }
    assert "village" not in str(found.details)
    few = people(here=300, village=3)
    assert "village" not in str(
        measured("group_exclusion", few, None, people(here=303), groups=("origin", "age")).details
    )


def test_the_unit_is_the_person() -> None:
    """One person with a hundred rows is one; of 40 persons from far, all but that one are gone."""
    rows = [("here", 1)] * 200 + [("far", 1)] * 139
    train = replace(small(rows, *COLUMNS), named_persons=np.array([*range(200), *[200] * 100, *range(201, 240)]))
    table = replace(small(rows[:300], *COLUMNS), named_persons=np.array([*range(200), *[200] * 100]))
    linked = measured("group_exclusion", train, None, table, groups=("origin",))
    assert linked.details["unit"] == "persons"
    assert linked.value == pytest.approx(1 - (1 / 201) / (40 / 240))
    rows_alone = measured("group_exclusion", train, None, replace(table, named_persons=None), groups=("origin",))
    assert rows_alone.details["unit"] == "rows"
    assert rows_alone.value == pytest.approx(1 - (100 / 300) / (139 / 339))


def test_too_few_people_are_no_pass() -> None:
    few = people(here=10, there=5)
    options = EvaluateOptions(metrics=("group_exclusion",))
    outcome = evaluate(few, None, {"synthetic": few}, options, np.random.default_rng(1)).metrics[0].outcome
    assert isinstance(outcome, NotComputable)
    assert outcome.state == "too_few"
    with pytest.raises(ConfigError, match=r"evaluate\.groups: no such column: origins"):
        measured("group_exclusion", TRAIN, None, TRAIN, groups=("origins",))


@pytest.mark.parametrize("name", packaged_policies())
def test_packaged_policies_ask_somebody_about_a_group_that_is_gone(name: str) -> None:
    policy = load_policy(packaged_policies()[name])
    rule = next(rule for rule in policy.rules if rule.metric == "group_exclusion")
    policy = policy.model_copy(update={"rules": (rule,), "anonymity": (), "history": (), "must_detect": None})

    def status(table: Table) -> str:
        options = EvaluateOptions(metrics=("group_exclusion",))
        found = evaluate(people(a=500, b=100), None, {"synthetic": table}, options, np.random.default_rng(1))
        assert isinstance(found.metrics[0].outcome, Measure)
        return judge(policy, found, None).status

    assert status(people(a=500, b=100)) == status(people(a=520, b=80)) == "pass"
    assert status(people(a=590, b=10)) == "review"


def test_a_group_that_is_not_rarer_is_not_said_to_be_missing() -> None:
    group = Shortfall("town", "Ulm", 50, 0.05, 0.02, 0.6, 0.1, 0.8)
    assert shortfall_in_words(group, "rows") == "town Ulm: 2.0 % of the rows instead of 5.0 %"
    assert shortfall_in_words(group._replace(share_there=0.06, value=-0.2), "rows") == ""
