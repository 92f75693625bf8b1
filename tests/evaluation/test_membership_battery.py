"""Membership attacks of the literature on people worked by hand, and their combination."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure
from hybrid.evaluation.attacks import membership_battery as battery
from hybrid.evaluation.attacks.membership import Fold
from hybrid.evaluation.context import Context, Part
from hybrid.table import Kind, Role, Table
from tests.evaluation.known_generators import half
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import small


def numbers(*values: float) -> Table:
    return small([(value,) for value in values], ("x", Kind.DECIMAL, Role.QUASI_IDENTIFIER))


def of(train: Table, control: Table, table: Table) -> Context:
    return Context(train, control, table, EvaluateOptions(), 1)


# Mean 0 and standard deviation 1, so that numbers are coordinates. The reference is -1 and 1; 3 is a person never seen.
TRAIN = numbers(*(-1.0, 1.0) * 5)
CONTROL = numbers(-1.0, 1.0, 3.0)
FOLD = Fold(
    Part("train", "members", np.arange(2)),
    Part("control", "others", np.array([2])),
    Part("control", "reference", np.arange(2)),
)


def scored(attack: object, *rows: float) -> list[float]:
    """Scores of the members -1 and 1, and of 3, given the rows of the table."""
    score = attack(of(TRAIN, CONTROL, numbers(*rows)), FOLD)  # type: ignore[operator]
    return [float(value) for part in (FOLD.members, FOLD.others) for value in score(part)]


def test_gen_lra() -> None:
    # Kernels of the reference: variance 2 (of -1 and 1) times 2^(-2/5) = 1.515717. At the rows 1 they sum up to
    # 1 + exp(-4 / 3.031433) = 1.267267. If 1 joins, each of its five nearest rows gains log(1 + 1 / 1.267267) =
    # .581712; if 3 does, log(1 + .267267 / 1.267267) = .191364. By symmetry -1 is as 1.
    found = scored(battery.likelihood_ratio, *(-1.0, 1.0) * 5)
    assert found == pytest.approx([5 * 0.581712, 5 * 0.581712, 5 * 0.191364], abs=1e-5)


def test_data_plagiarism_index() -> None:
    # Three rows at 1, seven at -1. Of -1 the five nearest are at distance 0: seven rows and one of the reference. Of 1
    # three rows and one of the reference are; the fifth is 2 away, as all others: ten rows, two of the reference. Of 3
    # four are 2 away, the fifth 4: again all.
    found = scored(battery.plagiarism, *(1.0,) * 3, *(-1.0,) * 7)
    assert found == pytest.approx([7 / 8, 10 / 12, 10 / 12])


def test_likelihood() -> None:
    # Variance of the rows 10 / 9, times 10^(-2/5) = .442341. At 1: log of (1 + exp(-4 / .884682)) / 2 = -.682331, less
    # log(.442341) / 2 = -.407837. At 3: log of (exp(-4.521396) + exp(-18.085584)) / 2 = -5.214542.
    found = scored(battery.likelihood, *(-1.0, 1.0) * 5)
    assert found == pytest.approx([-0.274494, -0.274494, -4.806705], abs=1e-5)


def test_distances_and_rows_around() -> None:
    # Rows at every other member, twice. Members: 0 or 10 away; people never seen: 4 or 6 (the last 14). Ten are at most
    # 4 away, so the median is (4 + 6) / 2 = 5: two rows are around those at 0 or 4, none around the others.
    train = numbers(*(10.0 * i for i in range(10)))
    context = of(train, numbers(*(10.0 * i + 4 for i in range(10))), numbers(*(20.0 * (i // 2) for i in range(10))))
    deviation = 10 * np.sqrt(8.25)
    members, others = battery.distance(context)
    assert members * deviation == pytest.approx([0, -10] * 5)
    assert others * deviation == pytest.approx([-4, -6] * 4 + [-4, -14])
    members, others = battery.rows_around(context)
    assert members.tolist() == others.tolist() == [2, 0] * 5


def test_difference_of_distances() -> None:
    # Whoever is the reference stands at 4: |10 i - 4| less 0 or 10; people never seen are there, 4 from a row.
    train = numbers(*(10.0 * i for i in range(10)))
    context = of(train, numbers(*(4.0,) * 10), numbers(*(20.0 * (i // 2) for i in range(10))))
    members, others = battery.distance_difference(context)
    expected = [abs(10 * i - 4) - 10 * (i % 2) for i in range(10)]
    assert members * 10 * np.sqrt(8.25) == pytest.approx(expected)
    assert others * 10 * np.sqrt(8.25) == pytest.approx([-4] * 10)


def test_normal_scores() -> None:
    # Ranks 1, 2.5, 2.5, 4 of 4: quantiles at .125, .5, .5, .875.
    assert battery.normal(np.array([3.0, 5.0, 5.0, 9.0])) == pytest.approx([-1.150349, 0, 0, 1.150349], abs=1e-6)


def test_the_combination_adds_up_normal_scores_of_each_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two attacks that agree: each person has twice the normal score of the rank in its fold. All members rank above all
    # others; of n members and n others the ranks of the others are 1 to n.
    member, other = np.arange(10.0), np.arange(10.0) - 20
    monkeypatch.setattr(battery, "TOGETHER", ("one", "two"))
    monkeypatch.setattr(battery, "scored", lambda context, name: (member, other))
    context = of(TRAIN, numbers(*(-1.0, 1.0) * 5), TRAIN)
    members, others = battery.combined(context)
    # Five of each in a fold: ranks 1 to 5 and 6 to 10 of ten.
    high = 2 * np.array([0.125661, 0.385320, 0.674490, 1.036433, 1.644854])
    assert sorted(members) == pytest.approx(np.repeat(high, 2), abs=1e-5)
    assert sorted(-others) == pytest.approx(np.repeat(high, 2), abs=1e-5)


def test_the_combination_raises_no_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 draws without any signal, intervals lie above .5 in 2.5 %: in at most 19, with probability .998."""
    rng, alarms = np.random.default_rng(2), 0
    context = of(*(make_people(60, rng) for _ in range(3)))
    for _ in range(400):
        common = rng.normal(size=(2, 60))  # Attacks agree on people, as they do.
        drawn = {name: tuple(common + rng.normal(size=(2, 60))) for name in battery.TOGETHER}
        monkeypatch.setattr(battery, "scored", lambda context, name, drawn=drawn: drawn[name])
        found = battery.membership_battery(context)
        assert found.low is not None
        alarms += found.low > 0.5
    assert alarms <= 19


def measured(table: Table, train: Table, control: Table) -> Measure:
    found = REGISTRY["membership_battery"].measure(of(train, control, table)).outcome
    assert isinstance(found, Measure), found
    return found


def test_battery_on_half_a_copy_and_on_fresh_people() -> None:
    rng = np.random.default_rng(3)
    train, control, fresh = (make_people(300, rng) for _ in range(3))
    leaky, clean = measured(half(train, 4), train, control), measured(fresh, train, control)
    assert leaky.low is not None and leaky.low > 0.6
    attacks = leaky.details["attacks"]
    assert set(attacks) == set(battery.TOGETHER) and leaky.value > max(value for value, *_ in attacks.values()) - 0.02
    assert clean.low is not None and clean.high is not None and clean.low < 0.5 < clean.high
