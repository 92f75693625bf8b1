"""The excess over people never seen: one scale for all attacks, whatever the sizes of train and control."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, Measure, evaluate
from hybrid.evaluation.attacks.closeness import centred, tie_score
from hybrid.evaluation.attacks.copies import _excess_bounds
from hybrid.evaluation.attacks.outcome import attacked
from hybrid.evaluation.measure import NotComputable
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people

PRIVACY = EvaluateOptions(attacks=500, families=("privacy",), secrets=("illness",), singling_out_columns=(3, 5))
SIZES = ((900, 900), (1050, 450), (1000, 200))
SAME_FOR_A_COPY = {
    "identical_match": 1.0,
    "dcr_share": 0.5,
    "dcr_score": 1.0,
    "nndr_share": 1.0,
    "identifiability": 1.0,
    "singling_out": 1.0,
    "singling_out_univariate": 1.0,
    "linkability": 1.0,
    "nnaa": 0.5,
    "authenticity": 1.0,
    "membership": 0.5,
    "inference": 1.0,
    "hitting_rate": 1.0,
}
"""The excess that a full copy of train scores."""


def privacy(train: Table, control: Table, table: Table, options: EvaluateOptions = PRIVACY) -> Evaluation:
    return evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(1))


def excess(found: Evaluation, name: str) -> tuple[float, float, float]:
    result = found.find(name, "synthetic")
    assert result is not None
    assert isinstance(result.outcome, Measure), (name, result.outcome)
    assert result.outcome.excess is not None, name
    return result.outcome.excess


@pytest.fixture(scope="module", params=SIZES, ids=["1:1", "7:3", "5:1"])
def copy_and_fresh(request: pytest.FixtureRequest) -> tuple[Evaluation, Evaluation]:
    n_train, n_control = request.param
    rng = np.random.default_rng(5)
    train, control, fresh = (make_people(n, rng) for n in (n_train, n_control, n_train))
    return privacy(train, control, train), privacy(train, control, fresh)


def test_a_copy_scores_the_same_whatever_the_sizes(copy_and_fresh: tuple[Evaluation, Evaluation]) -> None:
    for name, expected in SAME_FOR_A_COPY.items():
        value, low, _ = excess(copy_and_fresh[0], name)
        assert value == pytest.approx(expected, abs=0.06), name
        # Predicates are tried on a fifth of train, and on 200 control records again and again: little is left to tell.
        assert low > 0 or (name.startswith("singling_out") and excess(copy_and_fresh[1], name)[2] > 0.1), name


def test_rates_and_intervals_of_both_sides_by_hand() -> None:
    """Wilson at 95 %: (s + z^2 / 2) / (n + z^2) and z sqrt(s (n - s) / n + z^2 / 4) / (n + z^2), z = 1.959964."""
    attack = attacked(30.0, 10.0, 100, 50, 0.95)
    assert not isinstance(attack, NotComputable)
    details = attack.measure().details
    assert details["train_rate"] == pytest.approx(0.307400, abs=1e-5)
    assert details["train_interval"] == pytest.approx([0.218949, 0.395851], abs=1e-5)
    assert details["control_rate"] == pytest.approx(0.221405, abs=1e-5)
    assert details["control_interval"] == pytest.approx([0.112438, 0.330373], abs=1e-5)


def test_people_never_seen_have_no_excess(copy_and_fresh: tuple[Evaluation, Evaluation]) -> None:
    outside = 0
    for result in copy_and_fresh[1].metrics:
        if isinstance(result.outcome, Measure) and result.outcome.excess is not None:
            _, low, high = result.outcome.excess
            assert low <= high
            outside += not low <= 0 <= high
    assert outside <= 2  # of about 20 intervals at 95 %


def test_every_attack_with_a_control_says_its_excess(copy_and_fresh: tuple[Evaluation, Evaluation]) -> None:
    for result in copy_and_fresh[0].metrics:
        if isinstance(result.outcome, Measure):
            said = result.outcome.excess is not None
            assert said == ("control" in REGISTRY[result.name].needs or "identical" in result.name), result.name
            assert (result.to_json()["excess"] is not None) == said


def test_without_control_there_is_no_excess() -> None:
    people = make_people(200, np.random.default_rng(1))
    found = evaluate(people, None, {"synthetic": people}, PRIVACY, np.random.default_rng(1))
    match = found.find("identical_match", "synthetic")
    assert match is not None
    assert isinstance(match.outcome, Measure)
    assert match.outcome.excess is None
    assert match.to_json()["excess"] is None


@given(chance=st.floats(0.05, 0.95), ties=st.integers(2, 40))
def test_tied_neighbours_score_as_chance_has_it(chance: float, ties: int) -> None:
    score = float(tie_score(np.array([float(ties)]), chance)[0])
    mixed = 1 - chance**ties - (1 - chance) ** ties
    assert chance**ties + score * mixed == pytest.approx(chance)


def test_tie_score_by_hand() -> None:
    # Two tied records, three quarters of all are training records: both are with 9/16, neither with 1/16; the six
    # sixteenths of mixed pairs must bring the 12/16 about: (12 - 9)/6.
    assert tie_score(np.array([2.0]), 0.75)[0] == pytest.approx(0.5)
    # Three: 27/64 and 1/64; (48 - 27)/36.
    assert tie_score(np.array([3.0]), 0.75)[0] == pytest.approx(21 / 36)
    assert tie_score(np.array([np.inf]), 0.75)[0] == 0.75


def test_shares_are_centred_by_hand() -> None:
    assert [centred(share, 0.8) for share in (0.0, 0.4, 0.8, 0.9, 1.0)] == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_one_chance_twin_is_no_leak() -> None:
    keys, none = np.arange(200), np.zeros(200)
    one = none.copy()
    one[0] = 1
    low, high = _excess_bounds(one, none, keys, 0.95)
    assert low <= 0 < high
    low, high = _excess_bounds(none, none, keys, 0.95)
    # Nothing found: one twin on either side could have been, with all that one observation leaves open.
    assert (low, high) == pytest.approx((-1 / 200, 1 / 200))
    eight = none.copy()
    eight[:8] = 1
    # 8 of 8: Clopper and Pearson's lower bound is .025^(1/8) = .6306; 8/200 (2 x .6306 - 1) = .01045.
    assert _excess_bounds(eight, none, keys, 0.95)[0] == pytest.approx(0.01045, abs=2e-5)


def test_a_part_of_train_is_attacked_with_less_reach() -> None:
    # 30 of 100 attacks succeed where a copy would reach 50, and 10 on control: (.3 - .1)/(.5 - .1), up to Wilson's
    # centres.
    made = attacked(30_000, 10_000, 100_000, 100_000, 0.95, reach=0.5)
    assert not isinstance(made, NotComputable)
    measure = made.measure()
    assert measure.value == pytest.approx(0.5, abs=1e-3)
    assert measure.excess == (measure.value, measure.low, measure.high)
    assert isinstance(attacked(30, 10, 100, 100, 0.95, reach=0.105), NotComputable)


def test_dependent_attacks_are_worth_fewer() -> None:
    alone = attacked(300, 200, 1000, 1000, 0.95)
    together = attacked(300, 200, 1000, 1000, 0.95, independent=(100.0, 100.0))
    assert not isinstance(alone, NotComputable)
    assert not isinstance(together, NotComputable)
    few, many = together.measure(), alone.measure()
    assert few.value == many.value
    assert few.low is not None
    assert many.low is not None
    # A tenth of the attempts: about sqrt(10) times as wide.
    assert (few.value - few.low) / (many.value - many.low) == pytest.approx(np.sqrt(10), rel=0.15)


def leaked(train: Table, fresh: Table, names: list[str], share: float) -> Table:
    """Fresh rows, some of which carry these columns of a training record."""
    count = round(share * len(fresh))
    frame = fresh.frame.copy()
    for name in names:
        column = frame[name].array.copy()
        column[:count] = train.frame[name].array[:count]
        frame[name] = column
    return Table(frame, fresh.schema)


def test_who_knows_the_quasi_identifiers_finds_the_secrets_that_leaked_with_them() -> None:
    rng = np.random.default_rng(3)
    train, control, fresh = (make_people(2500, rng) for _ in range(3))
    chosen = PRIVACY.model_copy(update={"metrics": ("inference", "inference_quasi")})
    names = ["age", "sex", "place", "illness"]
    found = privacy(train, control, leaked(train, fresh, names, 0.3), chosen)
    assert excess(found, "inference_quasi")[1] > 0
    assert excess(found, "inference_quasi")[0] > 2 * excess(found, "inference")[0]
    assert excess(privacy(train, control, fresh, chosen), "inference_quasi")[1] <= 0


def test_who_knows_the_other_columns_finds_the_quasi_identifiers_that_leaked_with_them() -> None:
    rng = np.random.default_rng(3)
    train, control, fresh = (make_people(1200, rng) for _ in range(3))
    known = [column.name for column in train.schema if column.name not in train.schema.quasi_identifiers]
    chosen = PRIVACY.model_copy(update={"metrics": ("inference_rest",), "secrets": ("age", "illness")})
    found = privacy(train, control, leaked(train, fresh, [*known, "age"], 0.5), chosen)
    for column, others in (("age", known), ("illness", [name for name in known if name != "illness"])):
        measured = found.find("inference_rest", "synthetic", column)
        assert measured is not None and isinstance(measured.outcome, Measure)
        assert measured.outcome.excess is not None and measured.outcome.excess[1] > 0
        assert set(measured.outcome.details["known"]) >= set(others)  # type: ignore[call-overload]
    nothing = privacy(train, control, fresh, chosen).find("inference_rest", "synthetic", "age")
    assert nothing is not None and isinstance(nothing.outcome, Measure) and nothing.outcome.excess is not None
    assert nothing.outcome.excess[1] <= 0
    # Quasi-identifiers are no help: the same rows without the other columns leak nothing to this attacker.
    quasi = privacy(train, control, leaked(train, fresh, train.schema.quasi_identifiers, 1.0), chosen)
    closed = quasi.find("inference_rest", "synthetic", "age")
    assert closed is not None and isinstance(closed.outcome, Measure) and closed.outcome.excess is not None
    assert closed.outcome.excess[1] <= 0


def test_a_leaked_subgroup_by_two_columns_is_found() -> None:
    rng = np.random.default_rng(4)
    train, control, fresh = (make_people(3000, rng) for _ in range(3))
    oldest = train.frame["age"] >= train.frame["age"].quantile(0.75)
    women = np.flatnonzero(((train.frame["sex"] == "f") & oldest).to_numpy())
    frames = [train.frame.iloc[women], fresh.frame.iloc[len(women) :]]
    table = Table(pd.concat(frames, ignore_index=True).astype(fresh.frame.dtypes.to_dict()), fresh.schema)
    chosen = PRIVACY.model_copy(update={"metrics": ("membership_subgroups",)})
    found = privacy(train, control, table, chosen).find("membership_subgroups", "synthetic")
    assert found is not None
    assert isinstance(found.outcome, Measure)
    assert found.outcome.excess is not None
    assert found.outcome.excess[1] > 0.2
    top = found.outcome.details["most_exposed"][0]
    assert (top["column"], top["group"]) == ("age and sex", "part 4 of 4 by size and = f")


def test_narrow_tables_without_a_leak_are_rarely_called_singled_out() -> None:
    names = ["age", "sex", "place", "urgent", "illness"]
    options = EvaluateOptions(metrics=("singling_out",), singling_out_columns=(3, 4, 5), attacks=1000)
    above = 0
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        train, control, fresh = (_narrow(make_people(600, rng), names) for _ in range(3))
        above += excess(privacy(train, control, fresh, options), "singling_out")[1] > 0
    assert above <= 1


def _narrow(table: Table, names: list[str]) -> Table:
    return Table(table.frame[names], type(table.schema)(tuple(table.schema[name] for name in names)))


def test_a_bootstrap_of_real_rows_is_not_recognized_by_its_twins() -> None:
    rng = np.random.default_rng(6)
    train, control = make_people(1500, rng), make_people(1500, rng)
    drawn = train.take(rng.integers(0, 1500, 1500))
    found = privacy(train, control, drawn, EvaluateOptions(metrics=("discriminator",))).find(
        "discriminator", "synthetic"
    )
    assert found is not None
    assert isinstance(found.outcome, Measure)
    assert abs(found.outcome.value - 0.5) < 0.05
