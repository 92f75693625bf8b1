"""What a model says of single records to whoever holds it: leaves of trees, worked by hand, and whole models."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.base.arrays import Array
from hybrid.base.progress import silent
from hybrid.base.rng import rng_for
from hybrid.evaluation.engine.intervals import auc
from hybrid.synthesize.fitted import fit, log_odds
from hybrid.synthesize.generators.cart import Cart, CartOptions, leaf_odds
from hybrid.synthesize.generators.sdv import Copula
from hybrid.synthesize.generators.trees import DonorTree, TreeLimits, grow
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import Encoded, Feature, InspectableGenerator
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people


def test_a_value_is_compared_with_other_people() -> None:
    tree: DonorTree[int] = DonorTree.without_splits(0, np.array([0, 0, 0, 1]))
    found = leaf_odds(tree, {}, np.array([0, 1, 2]), {}, np.array([0, 1, 1]))
    shares = np.array([1.5, 2.5, 0.5]) / 4
    donors = (np.array([3, 1, 0]) + shares / 10) / 4.1
    others = (np.array([1, 2, 0]) + 5 * shares) / 8
    assert found == pytest.approx(np.log(donors / others))
    assert found[0] > 0 > found[1] > found[2], "a value that no training record has is least likely"


def test_a_value_is_looked_for_in_its_own_leaf() -> None:
    """Who lacks a value is looked for in the leaves of that tree, and who has one in those of the values, too."""
    known, values = np.repeat([0, 1], 4).astype(np.int32), np.array([5.0, 5, 5, 6, 7, 7, 7, np.nan])
    feature = Feature("group", 2, ordered=False, missing=False)
    target = 1, Feature("number", 0, ordered=True, missing=True), values
    tree = grow(target, {0: known}, {0: feature}, np.arange(len(known)), TreeLimits(3, 1.0, None), rng_for(1, "trees"))
    asked, others = np.array([7.0, 7, np.nan]), np.array([7.0, 5.0])
    found = leaf_odds(tree, {0: np.array([0, 1, 1])}, asked, {0: np.array([1, 0])}, others)
    lack = np.array([2.5, 2.5, 0.5]) / 3
    flags = (np.array([4, 3, 1]) + lack / 10) / 4.1 / ((np.array([1, 1, 0]) + 5 * lack) / 6)
    seven = 1.5 / 3
    number = (np.array([0, 3]) + seven / 10) / np.array([4.1, 3.1]) / ((np.array([0, 1]) + 5 * seven) / 6)
    assert found == pytest.approx(np.log(flags * np.append(number, 1.0)))


def test_who_lacks_a_number_follows_a_relation_of_its_own() -> None:
    """Nine of ten with a job lack no income, four of ten without one do; incomes themselves follow the age."""
    rng = np.random.default_rng(1)
    job, age = (rng.random(4000) < 0.5).astype(np.int32), rng.normal(size=4000)
    income = np.where(rng.random(4000) < np.where(job == 1, 0.1, 0.4), np.nan, age + rng.normal(size=4000) / 5)
    features = [Feature("job", 2, False, False), Feature("age", 0, True, False), Feature("income", 0, True, True)]
    model = Cart().learn(Encoded(features, [job, age, income]), CartOptions(min_leaf=200), 1, silent)
    drawn = model.draw(20_000, 1).rows
    for one, share in ((1, 0.1), (0, 0.4)):
        assert np.isnan(drawn[2][drawn[0] == one]).mean() == pytest.approx(share, abs=0.03)
    there = ~np.isnan(drawn[2])
    assert np.corrcoef(drawn[1][there], drawn[2][there])[0, 1] > 0.9


def sentences(n: int, few: int) -> tuple[Array, Array]:
    """Years of the longest sentence, 0 but for a few, and years in prison, which are no less."""
    rng = np.random.default_rng(1)
    longest = np.where(np.arange(n) < few, rng.integers(1, 300, n) / 10, 0.0)
    return longest, np.where(longest > 0, longest + rng.integers(0, 20, n) / 10, 0.0)


def test_a_number_that_few_have_goes_with_what_they_alone_have() -> None:
    """Forty of a thousand were in prison, and leaves hold fifty people."""
    features = [Feature(name, 0, True, False) for name in ("longest", "prison")]
    model = Cart().learn(Encoded(features, list(sentences(1000, 40))), CartOptions(min_leaf=50), 1, silent)
    longest, prison = model.draw(20_000, 1).rows
    assert ((longest > 0) == (prison > 0)).all() and (prison > 0).mean() == pytest.approx(0.04, abs=0.005)
    there = prison > 0
    assert np.corrcoef(longest[there], prison[there])[0, 1] > 0.6


def test_a_value_that_half_of_the_people_have_is_looked_for_among_who_has_it() -> None:
    known, values = np.repeat([0, 1], 4).astype(np.int32), np.array([0.0, 0, 0, 0, 0, 7, 7, 8])
    tree = grow(
        (1, Feature("number", 0, ordered=True, missing=False), values),
        {0: known},
        {0: Feature("group", 2, ordered=False, missing=False)},
        np.arange(len(known)),
        TreeLimits(4, 1.0, None),
        rng_for(1, "trees"),
    )
    asked, others = np.array([0.0, 7]), np.array([0.0, 7.0])
    found = leaf_odds(tree, {0: np.array([0, 1])}, asked, {0: np.array([1, 1])}, others)
    share = np.array([1.5, 1.5]) / 3
    flags = (np.array([4, 3]) + share / 10) / 4.1 / ((np.array([0, 1]) + 5 * share) / np.array([5, 7]))
    seven = 1.5 / 2
    number = (2 + seven / 10) / 3.1 / ((1 + 5 * seven) / 6)
    assert found == pytest.approx(np.log(flags * np.array([1.0, number])))


def encoded(n: int, seed: int) -> Encoded:
    rng = np.random.default_rng(seed)
    columns: list[Array] = [rng.integers(4, size=n).astype(np.int32), rng.normal(size=n), rng.normal(size=n)]
    features = [Feature("group", 4, False, False), Feature("first", 0, True, False), Feature("second", 0, True, False)]
    return Encoded(features, columns)


def test_every_learned_number_is_found_in_a_kept_model_of_cart() -> None:
    train, others, reference = encoded(300, 1), encoded(300, 2), encoded(300, 3)
    model = Cart().learn(train, CartOptions(min_leaf=50), 1, silent)
    learned, strangers = (Cart().log_odds(model, people, reference, 1) for people in (train, others))
    assert auc(learned, strangers) == 1, "leaves hold the numbers themselves, whatever comes out of them"


def test_a_regression_keeps_no_value_of_anybody() -> None:
    train, reference = encoded(300, 1), encoded(300, 3)
    methods = {"group": "logistic", "first": "linear", "second": "linear"}
    model = Cart().learn(train, CartOptions.model_validate({"methods": methods}), 1, silent)
    assert not Cart().log_odds(model, train, reference, 1).any()


def test_who_can_be_asked() -> None:
    assert isinstance(Cart(), InspectableGenerator)
    assert not isinstance(Copula(), InspectableGenerator)


@pytest.fixture(scope="module")
def people() -> tuple[Table, Table, Table]:
    rng = np.random.default_rng(4)
    return make_people(400, rng), make_people(400, rng), make_people(400, rng)


def test_small_leaves_tell_more_of_people_than_large_ones(people: tuple[Table, Table, Table]) -> None:
    train, others, reference = people
    found = []
    for least in (1, 100):
        options = SynthesizeOptions(options={"min_leaf": least})
        fitted = fit(train, options, 1)
        learned, strangers = (log_odds(fitted, options.engine, table, reference, 1) for table in (train, others))
        found.append(auc(learned, strangers))
    assert found[0] > found[1] > 0.55


def test_values_that_were_not_learned_are_no_error(people: tuple[Table, Table, Table]) -> None:
    train, others, reference = people
    options = SynthesizeOptions()
    part = train.take(np.arange(60))
    gaps = others.frame.assign(illness=others.frame["illness"].where(np.arange(len(others)) > 9))
    others = Table(gaps, others.schema)
    said = log_odds(fit(part, options, 1), options.engine, others, reference, 1)
    assert np.isfinite(said).all()
