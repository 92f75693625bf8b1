"""Attacks with shadow models on generators whose leak is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.retraining import Rows, coder, with_places
from hybrid.evaluation.attacks.vulnerability import mean_of_nearest, vulnerability
from hybrid.evaluation.context import Context, FitAndSample, Making
from hybrid.evaluation.engine.encoding import encode
from hybrid.evaluation.engine.space import gower
from hybrid.lab.attacks import counting_queries
from hybrid.lab.attacks.bagging import NEAR, _near_and_random, _row_scores, described
from hybrid.lab.attacks.inference_queries import possible
from hybrid.lab.attacks.shadows import attacked
from hybrid.lab.attacks.target_attention import NEAREST, nearest, stacked
from hybrid.table import Kind, Schema, Table
from tests.evaluation.known_generators import copier, ignorant
from tests.evaluation.simulated_people import make_people

RETRAIN = {"canaries": 10, "records": 3, "shadows": 30, "tests": 30, "bagging": 15, "rows": 50}
SHARED = ("counting_queries", "bagging_membership", "inference_queries")


@pytest.fixture(scope="module", autouse=True)
def small_forests() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting_queries, "TREES", 20)
        yield


def attacks(generator: FitAndSample, **changes: object) -> dict[tuple[str, str | None], Measure]:
    rng = np.random.default_rng(1)
    train, control = make_people(120, rng), make_people(120, rng)
    settings = {"metrics": SHARED, "secrets": ("illness", "cost"), "retrain": RETRAIN, **changes}
    options, drawn = EvaluateOptions.model_validate(settings), np.random.default_rng(1)
    found = evaluate(
        train, control, {"synthetic": train}, options, drawn, making={"synthetic": Making(again=generator)}
    )
    outcomes = {(result.name, result.column): result.outcome for result in found.metrics}
    assert all(isinstance(outcome, Measure) for outcome in outcomes.values()), outcomes
    return outcomes  # type: ignore[return-value]


@pytest.fixture(scope="module")
def of_copies() -> tuple[dict[tuple[str, str | None], Measure], int]:
    calls = []

    def counted(table: Table, seed: int) -> Table:
        calls.append(len(table))
        return copier(table, seed)

    return attacks(counted), len(calls)


def test_attacks_with_shadow_models_share_their_trainings(
    of_copies: tuple[dict[tuple[str, str | None], Measure], int],
) -> None:
    assert of_copies[1] == 30 + 30 + 2 * 15


def test_who_was_copied_is_known_and_so_is_the_secret(
    of_copies: tuple[dict[tuple[str, str | None], Measure], int],
) -> None:
    found = of_copies[0]
    bagged = found["bagging_membership", None]
    assert bagged.value > 0.6 and bagged.together == 2
    assert set(bagged.details["readings"]) == {"tables", "rows"}
    assert bagged.excess is not None and bagged.excess[1] > 0
    for secret in ("illness", "cost"):
        risk = found["inference_queries", secret]
        assert risk.low is not None and risk.low > 0.05 and risk.value > 0.3


def test_nothing_is_known_from_a_table_that_ignores_its_records() -> None:
    for (name, _), measure in attacks(ignorant).items():
        assert measure.excess is not None
        assert measure.excess[1] <= 0.05 and abs(measure.excess[0]) < 0.25, (name, measure)


def test_a_summary_by_hand() -> None:
    # One category (codes 0, 0, 1) and one number (0, .5, 1, none missing).
    rows = Rows(np.array([[0], [0], [1]]), np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]))
    found = described(rows)
    assert found[:6] == pytest.approx([0.5, 0, 0.5, 0, 1 / 6, 0])  # mean, median, variance of the number, of missing
    assert found[6:9].tolist() == [2, 0, 1]  # two categories, 0 the most frequent, 1 the least
    assert found[9:] == pytest.approx([np.sqrt(3) / 2, 0, 0])  # correlations; missing never varies


def test_distances_to_a_person_are_those_of_the_paper() -> None:
    rng = np.random.default_rng(3)
    train = make_people(60, rng)
    context = Context(train, make_people(20, rng), train, EvaluateOptions())
    rows = coder(train, train, context.encoding.names).rows(train)
    every = np.sort(np.array([rows.distances_to(rows.take(np.array([at]))) for at in range(60)]), axis=1)
    assert every[:, 0] == pytest.approx(0, abs=1e-12)
    assert every[:, 1:6].mean(axis=1) == pytest.approx(vulnerability(context, context.whole("train")), abs=1e-9)


def test_rows_nearest_to_a_person_do_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(4)
    own, table = make_people(80, rng), make_people(150, rng)
    doubled = Table(pd.concat([table.frame, table.frame[:20]], ignore_index=True), table.schema)
    coding = coder(own, own, table.schema.names)
    person = coding.rows(own.take(np.array([0])))
    seen = [nearest(*coding.rows(each).distinct(), person) for each in (doubled, doubled.take(rng.permutation(170)))]
    (first, about), (second, again) = seen
    for one, other in ((first.codes, second.codes), (first.numbers, second.numbers), (about, again)):
        np.testing.assert_array_equal(one, other)
    assert len(seen[0][0]) == NEAREST + 1
    assert seen[0][1][0].tolist() == [1, 0] and set(seen[0][1][:, 0]) == {1, 2}
    assert (np.diff(seen[0][1][:, 1]) >= -1e-9).all()


def test_bagging_by_rows_compares_the_nearest_with_random_ones() -> None:
    """Rows near a member hold 1, near a stranger 0, random ones .5: three new tables score 1/2, -1/2 and 0."""
    members = np.tile([0, 1], 10)
    worlds = [np.repeat([[held, 0.5]], NEAR, axis=1) for held in (*members, 1, 0, 0.5)]
    tables = np.concatenate(worlds)[:, :, None].astype(float)
    assert _row_scores(tables[:20], members, tables[20:], 1) == pytest.approx([0.5, -0.5, 0.0], abs=0.1)
    codes = np.append(np.ones(4 * NEAR, dtype=int), np.zeros(NEAR // 2, dtype=int))[:, None]
    rows = Rows(codes, np.empty((len(codes), 0)))
    near = _near_and_random(rows, rows.take(np.array([len(rows) - 1])), np.random.default_rng(2))[:, 0]
    assert near[: NEAR // 2].tolist() == [0] * (NEAR // 2) and near[NEAR // 2 : NEAR].min() == 1
    assert 0.6 < near[NEAR:].mean() < 1


@pytest.mark.parametrize("power", [1, 1.5, 2, 3, 7, "chebyshev", "hamming"])
def test_distances_by_the_definition(power: float | str) -> None:
    rng = np.random.default_rng(5)
    tables = [make_people(25, rng), make_people(30, rng)]
    encoding = encode([*tables, tables[1]])
    space = gower(encoding, tables=[encoding.tables[1]])
    left, right = (space.place(part) for part in encoding.tables[:2])
    numbers = np.abs(left.numbers[:, :, None] - right.numbers[:, None, :])
    lacks = left.missing[:, :, None], right.missing[:, None, :]
    numbers = np.where(lacks[0] & lacks[1], 0.0, np.where(lacks[0] | lacks[1], 1.0, numbers))
    gaps = np.concatenate([numbers, (left.codes[:, :, None] != right.codes[:, None, :]).astype(float)])
    if power == "chebyshev":
        distances = gaps.max(axis=0)
    elif power == "hamming":
        distances = (gaps > 0).sum(axis=0)
    else:
        distances = (gaps ** float(power)).sum(axis=0) ** (1 / float(power))
    expected = np.sort(distances, axis=1)[:, :4].mean(axis=1)
    assert mean_of_nearest(left, right, power, 4, np.full(25, -1)) == pytest.approx(expected)
    own = mean_of_nearest(right, right, power, 1, np.arange(30))
    assert own.min() > 0 or power == "chebyshev"


def test_an_order_makes_numbers_of_categories() -> None:
    rng = np.random.default_rng(6)
    train, control = make_people(100, rng), make_people(100, rng)
    order = {"illness": ("z", "x", "y")}
    places = with_places(train, order)
    assert places.schema["illness"].kind is Kind.INTEGER
    expected = train.frame["illness"].astype(str).map({"z": 0, "x": 1, "y": 2})
    assert places.frame["illness"].tolist() == expected.tolist()
    with pytest.raises(ConfigError, match="not listed") as refused:
        with_places(train, {"illness": ("z", "x")})
    assert "y" not in refused.value.problems[0].message.split()
    chosen = []
    for declared in ({}, order):
        options = EvaluateOptions.model_validate(
            {"retrain": {**RETRAIN, "records": 10, "ordinal": declared, "distance": 1}}
        )
        chosen.append(attacked(Context(train, control, train, options)).tolist())
    assert chosen[0] != chosen[1]
    with pytest.raises(ConfigError, match=r"ordinal: not categorical: age"):
        wrong = EvaluateOptions.model_validate({"retrain": {"ordinal": {"age": ("1", "2")}}})
        evaluate(train, control, {}, wrong, rng)


def test_possible_secrets() -> None:
    people = make_people(400, np.random.default_rng(7))
    ages = possible(people, "age")
    assert len(ages.values) == 10
    counts = np.bincount(ages.of(people, "age"), minlength=10)
    assert counts.min() > 25
    places = possible(people, "place")
    assert set(places.values) == set(people.frame["place"])
    elsewhere = people.frame.assign(place=pd.Categorical(["elsewhere"] * 400))
    assert set(places.of(Table(elsewhere, people.schema), "place")) == {-1}


def wide(table: Table, seed: int) -> Table:
    """The same people with sixteen more columns."""
    rng = np.random.default_rng(seed)
    column = table.schema["sex"]
    more = [replace(column, name=f"answer {at}") for at in range(16)]
    frame = table.frame.assign(**{c.name: pd.Categorical(rng.choice(["no", "yes"], len(table))) for c in more})
    return Table(frame, Schema((*table.schema.columns, *more)))


def test_wide_tables_are_attacked() -> None:
    rng = np.random.default_rng(8)
    train, control = (wide(make_people(100, rng), seed) for seed in (1, 2))
    few = {**RETRAIN, "shadows": 20, "tests": 20}
    settings = {"metrics": ("counting_queries", "inference_queries"), "secrets": ("illness",), "retrain": few}
    options, drawn = EvaluateOptions.model_validate(settings), np.random.default_rng(1)
    found = evaluate(train, control, {"synthetic": train}, options, drawn, making={"synthetic": Making(again=copier)})
    for result in found.metrics:
        assert isinstance(result.outcome, Measure), result
        assert result.outcome.excess is not None and result.outcome.excess[1] > 0


@pytest.mark.generators
def test_target_attention_knows_who_was_copied() -> None:
    few = {**RETRAIN, "records": 1, "shadows": 100}
    (known,) = attacks(copier, metrics=("target_attention",), retrain=few).values()
    assert known.value > 0.9
    (unknown,) = attacks(ignorant, metrics=("target_attention",), retrain={**few, "shadows": 30}).values()
    assert unknown.low is not None and unknown.low <= 0.5


@pytest.mark.generators
def test_padding_does_not_change_a_score() -> None:
    import torch

    from hybrid.lab.attacks.target_attention import _tensors, network

    rng = np.random.default_rng(9)
    own = make_people(40, rng)
    coding = coder(own, own, own.schema.names)
    person = coding.rows(own.take(np.array([3])))
    few = nearest(*coding.rows(make_people(12, rng)).distinct(), person)
    many = nearest(*coding.rows(make_people(60, rng)).distinct(), person)
    torch.manual_seed(1)
    model = network(coding.unseen, many[0].numbers.shape[1] + 2).eval()
    alone, padded = (model(*_tensors(stacked(seen, coding.unseen))) for seen in ([few], [few, many]))
    assert float(alone[0].detach()) == pytest.approx(float(padded[0].detach()), abs=1e-6)


def test_attacks_that_must_be_named_say_what_they_are() -> None:
    for name in (*SHARED[1:], "target_attention"):
        assert (REGISTRY[name].by_default, REGISTRY[name].mechanism) == (False, "shadow")
