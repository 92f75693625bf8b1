"""Those most at risk: who they are, and that a leak about them alone is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest

from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.exposed import LEAST_UNSEEN, groups, in_full
from hybrid.evaluation.attacks.vulnerability import RANKINGS, Ranking, most_exposed, ranked, rankings, vulnerability
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Outcome
from hybrid.evaluation.options import RetrainOptions
from hybrid.evaluation.planted_leaks import LEAKS, Planted
from hybrid.lab.attacks.shadows import attacked
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_customers import AMOUNTS, make_customers
from tests.evaluation.simulated_people import make_people

CHOSEN = ("membership", "membership_exposed", "membership_subgroups", "inference_exposed", "inference_subgroups")


def printed_distance(context: Context, role: str) -> np.ndarray:
    """Meeus et al. 2023, as printed: 1 - |Fc|/F cos(h_i, h_j) - |Fn|/F cos(c_i, c_j)."""
    encoding, train, mine = context.encoding, context.encoded("train"), context.encoded(role)  # type: ignore[arg-type]
    numeric = encoding.continuous
    low, high = np.nanmin(train.numbers[:, numeric], axis=0), np.nanmax(train.numbers[:, numeric], axis=0)

    def vectors(table: object) -> tuple[np.ndarray, np.ndarray]:
        scaled = (table.numbers[:, numeric] - low) / (high - low)  # type: ignore[attr-defined]
        filled = np.concatenate([np.nan_to_num(scaled), np.isnan(scaled)], axis=1)
        ranks = table.ranks[:, ~numeric]  # type: ignore[attr-defined]
        hot = np.concatenate([ranks[:, [c]] == np.arange(-1, 50) for c in range(ranks.shape[1])], axis=1)
        return filled, hot.astype(float)

    (a, h), (b, g) = vectors(mine), vectors(train)
    cosine = (a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    share = (h @ g.T) / (~numeric).sum()
    return 1 - (~numeric).mean() * share - numeric.mean() * cosine


@pytest.mark.parametrize("role", ["train", "control"])
def test_vulnerability_is_the_printed_one(role: str) -> None:
    rng = np.random.default_rng(1)
    tables = [make_people(n, rng) for n in (120, 90, 50)]
    context = Context(*tables, EvaluateOptions(), 1)
    distance = printed_distance(context, role)
    if role == "train":
        np.fill_diagonal(distance, np.inf)
    expected = np.sort(distance, axis=1)[:, :5].mean(axis=1)
    np.testing.assert_allclose(vulnerability(context, context.whole(role)), expected, atol=1e-9)  # type: ignore[arg-type]
    chosen = most_exposed(context, 0.1, context.whole(role), "direction")  # type: ignore[arg-type]
    assert chosen.sum() == round(len(expected) * 0.1)
    assert expected[chosen].min() > expected[~chosen].max()


def outcomes(train: Table, control: Table, table: Table, **options: object) -> dict[str, Outcome]:
    chosen = EvaluateOptions.model_validate({"metrics": CHOSEN, "secrets": ("illness", "cost"), **options})
    found = evaluate(train, control, {"synthetic": table}, chosen, np.random.default_rng(1))
    return {metric.name: metric.outcome for metric in found.metrics}


def leaking(rng: np.random.Generator, chosen: np.ndarray, train: Table) -> Table:
    """A fresh sample in which the chosen training records stand as they are."""
    fresh = make_people(len(train) - int(chosen.sum()), rng)
    frame = pd.concat([train.frame[chosen], fresh.frame], ignore_index=True)
    return Table(frame.astype({c.name: DTYPES[c.kind] for c in train.schema}), train.schema)


def test_a_leak_of_outliers_alone_is_found_among_them() -> None:
    rng = np.random.default_rng(2)
    train, control = make_people(1200, rng), make_people(1200, rng)
    context = Context(train, control, train, EvaluateOptions(), 1)
    found = outcomes(
        train, control, leaking(rng, most_exposed(context, 0.05, context.whole("train"), "direction"), train)
    )
    whole, exposed, told = (found[name] for name in ("membership", "membership_exposed", "inference_exposed"))
    assert isinstance(whole, Measure) and isinstance(exposed, Measure) and isinstance(told, Measure)
    assert whole.value < 0.56
    assert exposed.value > 0.95
    assert told.low is not None and told.low > 0.5
    assert exposed.details["vulnerability"] == sorted(exposed.details["vulnerability"])


def test_a_leak_of_one_subgroup_is_found_and_named() -> None:
    rng = np.random.default_rng(3)
    train, control = make_people(1500, rng), make_people(1500, rng)
    found = outcomes(train, control, leaking(rng, (train.frame["place"] == "7").to_numpy(), train))
    member, told = found["membership_subgroups"], found["inference_subgroups"]
    assert isinstance(member, Measure) and isinstance(told, Measure)
    assert (member.details["most_exposed"][0]["column"], member.details["most_exposed"][0]["group"]) == ("place", "= 7")
    assert member.low is not None and member.low > 0.8
    assert told.details["most_exposed"][0]["group"] == "= 7"
    assert told.low is not None and told.low > 0.5


def test_a_leaked_group_is_noticed_by_the_gate_with_few_people_never_seen() -> None:
    rng = np.random.default_rng(5)
    train, control = make_people(700, rng), make_people(230, rng)
    group = (train.frame["place"] == "7").to_numpy()
    unseen = int((control.frame["place"] == "7").sum())
    assert group.sum() >= 50 and LEAST_UNSEEN <= unseen < 20
    names = ("membership_subgroups", "inference_subgroups")
    options = EvaluateOptions(metrics=names, secrets=("illness", "cost"))
    found = evaluate(train, control, {"synthetic": leaking(rng, group, train)}, options, np.random.default_rng(1))
    noticed = {c.metric for c in judge(load_policy(), found, None).checks if c.status in ("review", "block")}
    assert "membership_subgroups" in noticed
    fresh = evaluate(train, control, {"synthetic": make_people(700, rng)}, options, np.random.default_rng(1))
    assert not {c.metric for c in judge(load_policy(), fresh, None).checks if c.status in ("review", "block")}


def test_near_copies_of_a_group_are_recognized_by_rare_cells() -> None:
    """Of seven columns a redrawn one hides a near copy from the search for the nearest row, not from that for cells."""

    def patients(n: int, rng: np.random.Generator) -> Table:
        values = {
            "born": (Kind.INTEGER, rng.integers(1920, 2010, n)),
            "sex": (Kind.CATEGORICAL, rng.choice(["f", "m"], n)),
            "town": (Kind.CATEGORICAL, rng.integers(0, 300, n).astype(str)),
            "nation": (Kind.CATEGORICAL, np.where(rng.random(n) < 0.8, "0", rng.integers(0, 40, n).astype(str))),
            "work": (Kind.CATEGORICAL, np.where(rng.random(n) < 0.02, "student", rng.integers(0, 30, n).astype(str))),
            "smoker": (Kind.BOOLEAN, rng.random(n) < 0.3),
            "bmi": (Kind.DECIMAL, rng.normal(26, 4, n).round(1)),
        }
        known = ("born", "sex", "town", "nation", "work")
        roles = {name: Role.QUASI_IDENTIFIER if name in known else Role.INSENSITIVE for name in values}
        schema = Schema(tuple(Column(name, roles[name], kind) for name, (kind, _) in values.items()))
        frame = pd.DataFrame({name: column for name, (_, column) in values.items()})
        return Table(frame.astype({column.name: DTYPES[column.kind] for column in schema}), schema)

    rng = np.random.default_rng(8)
    train, control = patients(4000, rng), patients(1700, rng)
    judged = Context(train, control, patients(4000, rng), EvaluateOptions(), 1)
    group = train.frame["work"] == "student"
    rows = np.flatnonzero(group)
    near = LEAKS["near"].values(judged, rows, rng)
    frame = judged.table.frame.copy()
    frame.iloc[: len(rows)] = near.astype(object).to_numpy()
    leaked = Table(frame.astype({column.name: DTYPES[column.kind] for column in train.schema}), train.schema)
    clean, found = (
        outcomes(train, control, table, secrets=None, metrics=("membership_subgroups",))["membership_subgroups"]
        for table in (judged.table, leaked)
    )
    assert isinstance(clean, Measure) and isinstance(found, Measure)
    assert clean.low is not None and clean.low < 0.5
    surest = found.details["most_exposed"][0]
    assert (surest["column"], surest["group"], surest["by"]) == ("work", "= student", "shared cells")
    assert surest["low"] > 0.6
    parts = found.parts or {}
    assert parts["work = student by nearness"].value < parts["work = student by shared cells"].value - 0.05


def test_no_subgroup_below_the_minimum_cell_is_named() -> None:
    rng = np.random.default_rng(4)
    train, control, table = (make_people(400, rng) for _ in range(3))
    for least in (20, 60):
        found = outcomes(train, control, table, min_cell=least)
        for name in ("membership_subgroups", "inference_subgroups"):
            outcome = found[name]
            assert isinstance(outcome, Measure)
            assert min(row["members"] for row in outcome.details["most_exposed"]) >= least
    few = outcomes(train, control, table, min_cell=500)["membership_exposed"]
    assert not isinstance(few, Measure)


def test_the_rare_on_the_quasi_identifiers_are_a_subgroup() -> None:
    rng = np.random.default_rng(5)
    train, control = make_people(3000, rng), make_people(200, rng)
    context = Context(train, control, train, EvaluateOptions(), 1)
    rare = {group.label: group for group in groups(context) if group.column == "quasi-identifiers"}
    names = train.schema.quasi_identifiers
    sizes = train.frame.groupby(names, observed=True, dropna=False)[names[0]].transform("size").to_numpy()
    np.testing.assert_array_equal(rare["shared with no other record"].mask("train"), sizes == 1)
    np.testing.assert_array_equal(rare["shared with fewer than 5 others"].mask("train"), sizes <= 5)
    known = set(map(tuple, train.frame[names].astype(str).to_numpy()))
    absent = [tuple(row) not in known for row in control.frame[names].astype(str).to_numpy()]
    np.testing.assert_array_equal(rare["shared with no other record"].mask("control"), absent)


def test_the_most_exposed_are_attacked_alike_alone_and_among_all() -> None:
    rng = np.random.default_rng(12)
    tables = [make_people(n, rng) for n in (300, 200, 250)]
    alone = outcomes(*tables, metrics=("inference_exposed",))
    beside = outcomes(*tables, metrics=("inference", "inference_exposed"))
    assert isinstance(alone["inference_exposed"], Measure)
    assert alone["inference_exposed"] == beside["inference_exposed"]


def with_a_rare_place(n: int, rng: np.random.Generator) -> Table:
    people = make_people(n, rng)
    rare = np.where(rng.random(n) < 0.03, "99", people.frame["place"].astype(str))
    return Table(people.frame.assign(place=rare).astype({"place": DTYPES[Kind.CATEGORICAL]}), people.schema)


def test_a_small_leaked_group_of_a_large_table_is_attacked_in_full() -> None:
    """Of 300 queried records some nine are of the group of which every member leaked."""
    rng = np.random.default_rng(6)
    train, control = with_a_rare_place(2000, rng), with_a_rare_place(1200, rng)
    group = (train.frame["place"] == "99").to_numpy()
    leaked = leaking(rng, group, train)
    found = [
        outcomes(train, control, leaked, metrics=("membership_subgroups",), max_records=most)["membership_subgroups"]
        for most in (300, None)
    ]
    for measure in found:
        assert isinstance(measure, Measure)
        top = measure.details["most_exposed"][0]
        assert (top["column"], top["group"], top["members"]) == ("place", "= 99", group.sum())
    assert [measure.details["in_full"] > 0 for measure in found if isinstance(measure, Measure)] == [True, False]
    assert found[0].value == found[1].value  # type: ignore[union-attr]


def test_groups_asked_in_full_are_no_more_than_the_sample() -> None:
    rng = np.random.default_rng(7)
    train, control, table = (make_people(n, rng) for n in (1500, 900, 500))
    context = Context(train, control, table, EvaluateOptions(max_records=150), 1)
    (members, others), names = in_full(context)
    assert 0 < len(members.rows) <= 150 and 0 < len(others.rows) <= 150
    assert context.asked(members) is members and context.asked(others) is others
    whole = Context(train, control, table, EvaluateOptions(), 1)
    assert in_full(whole)[1] == set() and names


def customers(seed: int, rows: int = 2200) -> tuple[Table, Table, Table]:
    rng = np.random.default_rng(seed)
    return make_customers(rows, rng), make_customers(rows, rng), make_customers(rows, rng)


def amounts(train: Table) -> np.ndarray:
    return train.frame[[column.name for column in train.schema if column.kind.is_continuous]].to_numpy(float)


def by_isolation_forest(train: Table) -> np.ndarray:
    frame = train.frame[[column.name for column in train.schema if not column.kind.is_continuous]]
    features = np.hstack([amounts(train), pd.get_dummies(frame.astype(str)).to_numpy(float)])
    return -IsolationForest(random_state=0).fit(features).score_samples(features)


def by_five_nearest(train: Table) -> np.ndarray:
    """Gower's distances of all pairs, written out."""
    found = np.zeros((len(train), len(train)))
    for column in train.schema:
        values = train.frame[column.name]
        if column.kind.is_continuous:
            numbers = values.to_numpy(float)
            found += np.abs(numbers[:, None] - numbers) / np.ptp(numbers)
        else:
            codes = pd.factorize(values)[0]
            found += codes[:, None] != codes
    np.fill_diagonal(found, np.inf)
    return np.sort(found, axis=1)[:, :5].mean(axis=1)


def by_largest_amounts(train: Table) -> np.ndarray:
    return pd.DataFrame(amounts(train)).rank().mean(axis=1).to_numpy()


def noticed_exposed(tables: tuple[Table, Table, Table]) -> set[str]:
    """Rules about the most exposed that do not pass."""
    options = EvaluateOptions(metrics=("membership_exposed", "inference_exposed"))
    found = evaluate(tables[0], tables[1], {"synthetic": tables[2]}, options, np.random.default_rng(1))
    return {
        str(check.metric) for check in judge(load_policy(), found, None).checks if check.status in ("review", "block")
    }


@pytest.mark.parametrize("measure", [by_isolation_forest, by_five_nearest, by_largest_amounts])
@pytest.mark.parametrize("seed", [1, 2])
def test_noisy_copies_of_the_most_unusual_people_by_any_of_these_measures_are_noticed(
    measure: Callable[[Table], np.ndarray], seed: int
) -> None:
    """Of the 22 people with the largest amounts a cosine named none, and their copies passed every rule."""
    train, control, fresh = customers(seed)
    most = np.argsort(-measure(train), kind="stable")[:22]
    leak = replace(LEAKS["near"], people=lambda *_: most)
    planted = leak.plant(Context(train, control, fresh, EvaluateOptions(), seed), 0.01, np.random.default_rng(seed))
    assert isinstance(planted, Planted)
    assert "membership_exposed" in noticed_exposed((train, control, planted.table))


def test_new_people_are_no_leak_of_the_most_exposed() -> None:
    assert [noticed_exposed(customers(seed, 400)) for seed in range(20, 25)] == [set()] * 5


def exposed_rows(table: Table, ranking: Ranking, share: float = 0.02) -> set[tuple[object, ...]]:
    """Records of the most exposed."""
    context = Context(table, customers(9, 300)[1], table, EvaluateOptions(), 1)
    chosen = most_exposed(context, share, context.whole("train"), ranking)
    return set(table.frame[chosen].astype(object).itertuples(index=False, name=None))


@pytest.mark.parametrize("ranking", RANKINGS)
def test_the_order_of_the_rows_does_not_decide_who_is_exposed(ranking: Ranking) -> None:
    train = customers(3, 400)[0]
    shuffled = train.take(np.random.default_rng(1).permutation(len(train)))
    assert exposed_rows(train, ranking) == exposed_rows(shuffled, ranking)
    assert len(exposed_rows(train, ranking)) == 8


def test_the_largest_amounts_are_exposed_whatever_their_sign() -> None:
    train, control, _ = customers(4, 500)
    largest = set(np.argsort(-by_largest_amounts(train), kind="stable")[:5])
    for sign in (1, -1):
        signed = [{name: sign * table.frame[name] for name in AMOUNTS} for table in (train, control)]
        frames = (table.frame.assign(**of) for table, of in zip((train, control), signed, strict=True))
        mine, its = (Table(frame, train.schema) for frame in frames)
        context = Context(mine, its, mine, EvaluateOptions(), 1)
        assert largest & set(np.flatnonzero(most_exposed(context, 0.02, context.whole("train"), "size")))


def test_equal_sizes_are_told_apart_by_distance() -> None:
    """One number that half of the people have at its largest value."""
    rng = np.random.default_rng(5)
    people = make_people(300, rng)
    frame = people.frame[["age", "place", "illness"]].assign(age=pd.array(np.arange(300) % 2, dtype="Int64"))
    table = Table(frame, people.schema.only(["age", "place", "illness"]))
    context = Context(table, None, table, EvaluateOptions(), 1)
    part = context.whole("train")
    chosen, apart = most_exposed(context, 0.05, part, "size"), ranked(context, part, "distance")
    old = (frame["age"] == 1).to_numpy(bool)
    assert old[chosen].all() and chosen.sum() < 100
    assert apart[chosen].min() >= np.sort(apart[old])[-chosen.sum() :].min()


def test_rankings_need_their_columns() -> None:
    people = make_people(60, np.random.default_rng(6))

    def of(*names: str) -> tuple[Ranking, ...]:
        table = people.only(names)
        return rankings(Context(table, None, table, EvaluateOptions(), 1))

    assert of("sex", "place") == ("distance", "isolation")
    assert of("sex", "admitted") == ("direction", "distance", "isolation")
    assert of("age", "sex") == tuple(RANKINGS)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_of_a_person_one_row_is_exposed_and_other_people_alone_are_near(ranking: Ranking) -> None:
    """Three equal rows of a person like nobody else: by rows they would hide each other."""
    people = make_people(300, np.random.default_rng(7)).frame
    people.loc[0, ["age", "cost"]] = 119, 10**7
    people.loc[0, ["height", "place"]] = 260.0, "11"
    rows = people.iloc[np.repeat(np.arange(300), 3)].reset_index(drop=True)
    schema = make_people(2, np.random.default_rng(1)).schema
    table = Table(rows, schema, np.repeat(np.arange(300), 3))
    context = Context(table, table, table, EvaluateOptions(), 1)
    chosen = np.flatnonzero(most_exposed(context, 0.02, context.whole("train"), ranking))
    persons = np.repeat(np.arange(300), 3)[chosen]
    assert len(chosen) == len(set(persons)) == 6
    assert ranking == "direction" or 0 in persons


def test_details_have_the_interval_of_every_ranking_and_share() -> None:
    found = outcomes(*customers(8, 500), secrets=None, metrics=("membership_exposed",))["membership_exposed"]
    assert isinstance(found, Measure) and found.low is not None
    groups = found.details["groups"]
    assert set(groups) == {f"{share} % by {ranking}" for share in (4, 5) for ranking in RANKINGS}
    assert [found.value, found.low, found.high] == max(groups.values(), key=lambda one: one[1])
    assert found.together == 8


def test_people_with_the_largest_amounts_can_be_attacked_by_retraining() -> None:
    train, control, _ = customers(6, 400)
    largest = set(np.argsort(-by_largest_amounts(train), kind="stable")[:10])
    for distance in ("size", "cosine", "isolation"):
        retrain = RetrainOptions.model_validate({"distance": distance, "records": 10})
        chosen = attacked(Context(train, control, train, EvaluateOptions(retrain=retrain), 1))
        assert len(chosen) == 10
        assert (len(largest & set(chosen)) >= 9) is (distance == "size")
