"""Trees keep the splits that people bear out, and every leaf draws from enough persons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.cart import leaf_odds
from hybrid.synthesize.generators.predictors import SMALLER, CategoryScores, Ranks, fit_scores
from hybrid.synthesize.generators.trees import DonorTree, TreeLimits, _Nodes, grow
from hybrid.synthesize.protocol import Feature

NUMBER = Feature("x", 0, ordered=True, missing=False)
LIMITS = TreeLimits(20, 0.01, None)


def state(levels: int) -> Feature:
    return Feature("c", levels, ordered=False, missing=False)


def told(tree: DonorTree[int]) -> float:
    """Share of the training rows that are drawn below the root."""
    if tree.tree is None:
        return 0.0
    grown = tree.tree.tree_.children_left < 0
    at = np.flatnonzero(grown)
    above = tree.parent[at]
    while (above > 0).any():
        at, above = np.where(above > 0, above, at), tree.parent[above]
    return float(np.average(tree.reach[at], weights=tree.count[grown]))


def columns(n: int, rng: np.random.Generator) -> tuple[dict[int, Array], dict[int, Feature]]:
    known = {
        0: rng.normal(size=n),
        1: rng.integers(0, 12, n).astype(np.int32),
        2: rng.integers(0, 2, n).astype(np.int32),
    }
    return known, {0: NUMBER, 1: state(12), 2: state(2)}


@pytest.mark.parametrize("people", [300, 3_000])
def test_noise_tells_hardly_anything(people: int) -> None:
    found = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        known, features = columns(people, rng)
        for feature, values in (
            (NUMBER, rng.normal(size=people)),
            (state(5), rng.integers(0, 5, people).astype(np.int32)),
        ):
            found.append(told(grow((9, feature, values), known, features, np.arange(people), LIMITS, rng)))
    assert np.mean(found) < 0.03


def test_columns_of_several_states_have_an_alpha_of_their_own() -> None:
    rng = np.random.default_rng(1)
    known, features = columns(1_000, rng)
    limits = TreeLimits(20, 1.0, None, alpha_of_states=0.01)
    noise = [(NUMBER, rng.normal(size=1_000))] + [
        (state(n), rng.integers(0, n, 1_000).astype(np.int32)) for n in (2, 3, 5)
    ]
    found = [told(grow((9, *each), known, features, np.arange(1_000), limits, rng)) for each in noise]
    assert min(found[:2]) > 0.1 and max(found[2:]) < 0.03


def test_every_split_counts_where_alpha_is_1() -> None:
    rng = np.random.default_rng(1)
    known, features = columns(1_000, rng)
    tree = grow((9, NUMBER, rng.normal(size=1_000)), known, features, np.arange(1_000), TreeLimits(20, 1.0, None), rng)
    assert told(tree) == 1 and (tree.reach == 1).all() and (tree.tree.tree_.children_left < 0).sum() > 20


def test_what_always_holds_holds_in_the_draws() -> None:
    rng = np.random.default_rng(6)
    ward = rng.integers(0, 4, 2_000).astype(np.int32)
    tree = grow((9, state(2), (ward > 1).astype(np.int32)), {0: ward}, {0: state(4)}, np.arange(2_000), LIMITS, rng)
    assert (tree.draw({0: ward}, 2_000, rng) == (ward > 1)).all()


@pytest.mark.parametrize(("gain", "share"), [(0, 0), (10, 0), (12, 0.2), (20, 1), (500, 1)])
def test_the_share_of_a_split_by_hand(gain: float, share: float) -> None:
    rng = np.random.default_rng(5)
    x = np.repeat(np.arange(4.0), 50)
    tree = grow((9, NUMBER, x + rng.normal(size=200)), {0: x}, {0: NUMBER}, np.arange(200), TreeLimits(10, 1.0, 1), rng)
    nodes = _Nodes(tree.tree.tree_, np.repeat([1, 2], 100), np.arange(200))
    found = nodes.borne_out(np.array([gain, 0.0, 0.0]), np.array([10.0, 0.0, 0.0]))
    assert found.tolist() == pytest.approx([share, 0, 0])
    assert nodes.reach(found, 10).tolist() == pytest.approx([1, share, share])
    assert nodes.reach(found, 101).tolist() == pytest.approx([1, 0, 0])


def test_a_relation_that_only_two_columns_together_show_stays() -> None:
    """Exclusive or: the first split tells nothing, the two below it everything."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 4_000)).astype(np.int32)
    values = np.where(rng.random(4_000) < 0.9, a ^ b, 1 - (a ^ b)).astype(np.int32)
    tree = grow((9, state(2), values), {0: a, 1: b}, {0: state(2), 1: state(2)}, np.arange(4_000), LIMITS, rng)
    drawn = tree.draw({0: a, 1: b}, 4_000, rng)
    assert (drawn == (a ^ b)).mean() == pytest.approx(0.9, abs=0.03)


def test_rows_of_the_same_people_bear_out_nothing_more() -> None:
    """What 200 people show by chance, 200 people with fifty rows each show by chance."""
    found: dict[str, list[float]] = {"rows": [], "people": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = np.repeat(rng.normal(size=(2, 200)), 50, axis=1)
        x = x + rng.normal(0, 0.01, len(x))
        persons = np.repeat(np.arange(200), 50)
        for name, owner in (("rows", np.arange(len(x))), ("people", persons)):
            found[name].append(told(grow((9, NUMBER, y), {0: x}, {0: NUMBER}, owner, LIMITS, rng)))
    assert np.mean(found["rows"]) > 0.99 and np.mean(found["people"]) < 0.1


def test_a_leaf_draws_from_enough_persons() -> None:
    rng = np.random.default_rng(3)
    owner = np.repeat(np.arange(60), rng.integers(1, 25, 60))
    x = owner + rng.normal(0, 0.1, len(owner))
    rows = np.arange(len(owner)).astype(np.float64)
    tree = grow((9, NUMBER, rows), {0: x}, {0: NUMBER}, owner, TreeLimits(8, 1.0, None), rng)
    drawable = tree.reach > 0
    found = [
        len(np.unique(owner[tree.donors[first : first + count].astype(int)]))
        for first, count in zip(tree.first[drawable], tree.count[drawable], strict=True)
    ]
    assert min(found) >= 8 and len(found) > 3
    assert not drawable.all()


def test_the_gain_is_pearsons_statistic() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=500)
    codes = np.where(rng.random(500) < 0.3, x > 0, rng.integers(0, 3, 500)).astype(np.int32)
    tree = grow((9, state(3), codes), {0: x}, {0: NUMBER}, np.arange(500), TreeLimits(50, 1.0, 1), rng)
    landed = tree.tree.apply(np.searchsorted(np.sort(x), x).astype(np.float32)[:, None])
    order = np.argsort(landed, kind="stable")
    gain, freedom = _Nodes(tree.tree.tree_, landed[order], order).gain(codes[order])
    table = np.array([np.bincount(codes[landed == side], minlength=3) for side in (1, 2)])
    expected = chi2_contingency(table, correction=False)
    assert gain[0] == pytest.approx(expected.statistic) and freedom[0] == expected.dof


def test_the_price_by_hand() -> None:
    """Of 1 predictor with 4 places: alpha / 3. Of 4 categories ordered by the outcome: alpha / 2^3."""
    from scipy.stats import chi2

    rng = np.random.default_rng(5)
    x = np.repeat(np.arange(4.0), 50)
    tree = grow((9, NUMBER, x + rng.normal(size=200)), {0: x}, {0: NUMBER}, np.arange(200), TreeLimits(10, 1.0, 1), rng)
    nodes = _Nodes(tree.tree.tree_, np.repeat([1, 2], 100), np.arange(200))
    limits = TreeLimits(10, 0.01, None)
    assert nodes.price([Ranks(np.arange(4.0))], np.ones(3), limits)[0] == pytest.approx(chi2.isf(0.01 / 3, 1))
    scores = CategoryScores(np.arange(4, dtype=np.float32)[:, None], (True,))
    assert nodes.price([scores], np.ones(3), limits)[0] == pytest.approx(chi2.isf(0.01 / 8, 1))
    thousand = CategoryScores(np.arange(2_000, dtype=np.float32)[:, None], (True,))
    few = TreeLimits(1, 1e-280, None)
    assert np.isfinite(nodes.price([thousand], np.ones(3), few)).all()


SMALL_GROUPS = TreeLimits(100, 1.0, None, small_groups=True)


def children(n: int, few: int, owner: Array | None = None) -> tuple[Array, Array, Array]:
    """Ages, whether a person has an occupation, which of the ``few`` youngest nobody has, and the persons."""
    ages = np.concatenate([np.full(few, 3.0), np.random.default_rng(0).uniform(20, 90, n - few)])
    without = np.where(ages < 10, 1, np.random.default_rng(1).random(n) < 0.05).astype(np.int32)
    return ages, without, np.arange(n) if owner is None else owner


def grown(ages: Array, without: Array, persons: Array, limits: TreeLimits) -> DonorTree[int]:
    rng = np.random.default_rng(2)
    return grow((9, state(2), without), {0: ages}, {0: NUMBER}, persons, limits, rng)


@pytest.mark.parametrize(("limits", "share"), [(SMALL_GROUPS, 1.0), (TreeLimits(100, 1.0, None), 0.35)])
def test_a_small_group_is_drawn_alone_where_chance_is_no_explanation(limits: TreeLimits, share: float) -> None:
    ages, without, persons = children(1_000, 30)
    tree = grown(ages, without, persons, limits)
    drawn = tree.draw({0: np.full(500, 3.0)}, 500, np.random.default_rng(3))
    others = tree.draw({0: np.full(2_000, 60.0)}, 2_000, np.random.default_rng(3))
    assert drawn.mean() == pytest.approx(share, abs=0.1) and others.mean() < 0.15


def test_chance_makes_no_small_group() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        known, features = columns(1_000, rng)
        values = (rng.random(1_000) < 0.1).astype(np.int32)
        assert grow((9, state(2), values), known, features, np.arange(1_000), SMALL_GROUPS, rng).certain is None


def test_a_small_group_has_a_fifth_of_the_people_of_a_leaf_and_never_one_persons_rows_alone() -> None:
    groups = grown(*children(1_000, 30), SMALL_GROUPS).certain
    assert groups is not None and groups.tree.count[groups.inside & (groups.tree.reach > 0)].min() >= 20
    owner = np.concatenate([np.arange(40) // 5, np.arange(8, 968)])  # 8 persons with 5 rows each
    assert grown(*children(1_000, 40, owner), SMALL_GROUPS).certain is None


def test_odds_of_a_person_in_a_small_group_are_those_of_the_group() -> None:
    ages, without, persons = children(1_000, 30)
    tree = grown(ages, without, persons, SMALL_GROUPS)
    others, own = np.array([3.0] * 20 + [60.0] * 200), np.array([1] * 20 + [0] * 200, dtype=np.int32)
    asked, values = np.array([3.0, 3.0, 60.0]), np.array([1, 0, 0], dtype=np.int32)
    odds = leaf_odds(tree, {0: asked}, values, {0: others}, own)
    assert odds[0] > -0.3 > odds[1] and abs(odds[2]) < 0.3


@pytest.mark.parametrize("alike", [True, False])
def test_rare_codes_that_begin_alike_say_what_their_region_says(alike: bool) -> None:
    """400 codes of five people each, the first half of one region: each alone is too rare to say anything."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(400), 5).astype(np.int32)
    region = (codes >= 200).astype(np.int32)
    if not alike:  # regions that the order of the codes does not show
        region = (rng.permutation(400)[codes] >= 200).astype(np.int32)
    tree = grow((9, state(2), region), {0: codes}, {0: state(400)}, np.arange(2_000), LIMITS, rng)
    drawn = tree.draw({0: codes}, len(codes), rng)
    assert bool(np.mean(drawn == region) > 0.95) is alike


def test_the_order_of_texts_counts_for_rare_levels_alone() -> None:
    codes = np.repeat(np.arange(10), 50).astype(np.int32)
    outcome = np.random.default_rng(1).random((500, 1))
    assert fit_scores(codes, state(10), outcome, 20).scores.shape == (10, 1)
    assert fit_scores(codes, state(10), outcome, 50).scores.shape == (10, 1)
    below = fit_scores(codes, state(10), outcome, 51)
    assert below.by_outcome == (True, False) and len(np.unique(below.scores[:, 0])) == 10
    rare = fit_scores(codes, state(10), outcome, 51 * SMALLER)
    assert rare.scores[:, 1].tolist() == list(range(10))
    assert rare.by_outcome == (True, False)


def test_codes_smaller_than_a_leaf_say_their_region_of_many_classes() -> None:
    """320 postcodes of 20 people in 16 regions; 7 of 10 go to the hospital of theirs: one order shows few regions."""
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(320), 20).astype(np.int32)
    near = rng.permutation(16)[codes // 20]
    hospital = np.where(rng.random(len(codes)) < 0.7, near, rng.integers(0, 16, len(codes))).astype(np.int32)
    limits = TreeLimits(50, 1.0, None)
    tree = grow((9, state(16), hospital), {0: codes}, {0: state(320)}, np.arange(len(codes)), limits, rng)
    drawn = tree.draw({0: codes}, len(codes), rng)
    assert abs(np.mean(drawn == near) - np.mean(hospital == near)) < 0.03


def test_a_number_that_is_neither_low_nor_high_in_a_group_is_drawn_so() -> None:
    """Who has children at school is as old as the others on average, but neither young nor old."""
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 70, 2_000).round()
    parent = (abs(age - 45) < 10).astype(np.int32)
    known, features = {0: parent, 1: rng.normal(size=2_000)}, {0: state(2), 1: NUMBER}
    tree = grow((9, NUMBER, age), known, features, np.arange(2_000), TreeLimits(50, 1.0, None), rng)
    drawn = tree.draw(known, 2_000, rng)
    assert abs(np.mean(age[parent == 1]) - np.mean(age[parent == 0])) < 1
    assert np.mean(abs(drawn[parent == 1] - 45) < 10) > 0.95
    assert np.mean(abs(drawn[parent == 0] - 45) >= 10) > 0.95


def test_a_category_smaller_than_a_leaf_says_what_its_people_show() -> None:
    """30 kinds of 20 people each, of which every third comes with large numbers: no order of the kinds shows it."""
    rng = np.random.default_rng(2)
    kinds = np.tile(np.arange(30), 20).astype(np.int32)
    many = np.concatenate([kinds, np.full(1_400, 30, dtype=np.int32)])
    large = (many % 3 == 1).astype(np.int32)
    grown = grow((9, state(2), large), {0: many}, {0: state(31)}, np.arange(2_000), TreeLimits(50, 1.0, None), rng)
    drawn = grown.draw({0: many}, 2_000, rng)
    assert np.mean(drawn == large) > 0.95
    assert (fit_scores(many, state(31), large[:, None] * 1.0, 50).scores[:30, 0] != 0).any()
    assert len(np.unique(fit_scores(many, state(31), large[:, None] * 1.0, 250).scores[:30, 0])) == 1, "below 50"


def test_shares_of_a_leaf_are_counted_by_hand() -> None:
    values, side = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    limits, rng = TreeLimits(3, 1.0, None), np.random.default_rng(1)
    tree = grow((1, state(3), values), {0: side}, {0: state(2)}, np.arange(6), limits, rng)
    asked = {0: np.array([0, 0, 0, 1, 1], dtype=np.int32)}
    assert tree.shares(asked, np.array([0, 1, 2, 2, 3])) == pytest.approx([2 / 3, 1 / 3, 0, 1, 0])
    own = np.array([0, 0, 1, 2, 2])
    assert tree.shares(asked, np.array([0, 1, 2, 2, 3]), own) == pytest.approx([1 / 2, 1 / 2, 0, 1, 0])
