"""Lost columns and lost links: by hand, by chance, in tables that were ruined in one way, and as a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.language import catalogue
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.fidelity.content import GROUPS, _Figure, corrected_v, distance_beyond_chance, error_of_v
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.utility.prediction import fall_in_words, ranked
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.verdict import Check, Verdict
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.evaluation.small_tables import measured, small

COLUMNS = (
    ("plz", Kind.CATEGORICAL, Role.QUASI_IDENTIFIER),
    ("age", Kind.INTEGER, Role.QUASI_IDENTIFIER),
    ("work", Kind.CATEGORICAL, Role.INSENSITIVE),
    ("stroke", Kind.BOOLEAN, Role.SENSITIVE),
)
METRICS = ("lost_column", "lost_link", "lost_prediction")


def people(n: int, seed: int) -> pd.DataFrame:
    """Age decides about work, and is U-shaped in strokes: no correlation."""
    rng = np.random.default_rng(seed)
    age = rng.integers(1, 90, n)
    region = rng.choice(["10", "20", "50"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "plz": np.char.add(region, rng.integers(100, 200, n).astype(str)),
            "age": age,
            "work": np.where(age < 16, "child", rng.choice(["office", "field"], n)),
            "stroke": rng.random(n) < 0.02 + 0.4 * (np.abs(age - 45) / 45) ** 2,
        }
    )


def table(frame: pd.DataFrame) -> Table:
    return small([tuple(row) for row in frame.itertuples(index=False)], *COLUMNS)


def both(ruined: pd.DataFrame) -> dict[str, Measure]:
    train, control = table(people(1000, 1)), table(people(500, 2))
    return {name: measured(name, train, control, table(ruined)) for name in METRICS}


def test_hand_worked_distance() -> None:
    """|.6 - .5| + |.4 - .5| is .2, half of it .1; by chance .5 * 2 * sqrt(2 / pi * .55 * .45 * (.01 + .01)) = .0561."""
    value, step = distance_beyond_chance(np.array([60, 40]), np.array([50, 50]), (100, 100))
    assert value == pytest.approx(0.1 - np.sqrt(2 / np.pi * 0.55 * 0.45 * 0.02))
    assert step == pytest.approx(0.1)


def test_hand_worked_link() -> None:
    """20 of each of two equal groups: phi 1, less 1 / 39, over 2 - 1 / 39 - 1: 1. 10 in each cell: 0."""
    starts = np.array([0, 2])
    full = np.array([[20, 0, 20, 0], [0, 20, 0, 20], [20, 0, 20, 0], [0, 20, 0, 20]], dtype=float)
    none = np.array([[20, 0, 10, 10], [0, 20, 10, 10], [10, 10, 20, 0], [10, 10, 0, 20]], dtype=float)
    assert corrected_v(full, starts)[0, 1] == pytest.approx(1.0)
    assert corrected_v(none, starts)[0, 1] == 0.0


def test_a_fresh_sample_has_lost_nothing() -> None:
    alarms = 0
    for seed in range(30):
        found = both(people(700, 100 + seed))
        alarms += found["lost_column"].low > 0.02
        alarms += found["lost_link"].low > 0.02
        alarms += found["lost_prediction"].low > 0.02
    assert alarms == 0


@pytest.mark.parametrize(
    ("ruin", "metric", "worst"),
    [
        (lambda f: f.assign(plz="10150"), "lost_column", "plz"),
        (lambda f: f.assign(plz=np.where(f["plz"].str[0] == "1", f["plz"], "50111")), "lost_column", "plz"),
        (lambda f: f.assign(age=f["age"] // 2), "lost_column", "age"),
        (lambda f: f.assign(age=f["age"].sample(frac=1, random_state=0).to_numpy()), "lost_link", "age and work"),
        (
            lambda f: f.assign(stroke=f["stroke"].sample(frac=1, random_state=0).to_numpy()),
            "lost_link",
            "age and stroke",
        ),
        (
            lambda f: f.assign(stroke=f["stroke"].sample(frac=1, random_state=0).to_numpy()),
            "lost_prediction",
            "stroke",
        ),
    ],
)
def test_one_ruined_column_is_named(ruin, metric: str, worst: str) -> None:
    found = both(ruin(people(900, 3)))
    assert found[metric].details["worst"] == worst
    assert found[metric].low > (0.02 if metric == "lost_prediction" else 0.1)
    assert all(name in found[metric].details["said"] for name in worst.split(" and "))


def test_the_verdict_names_what_was_lost() -> None:
    frame = people(900, 3)
    ruined = frame.assign(age=frame["age"].sample(frac=1, random_state=0).to_numpy())
    options = EvaluateOptions(metrics=("lost_link",))
    train, control, drawn = table(people(1000, 1)), table(people(500, 2)), table(ruined)
    found = evaluate(train, control, {"synthetic": drawn}, options, np.random.default_rng(0))
    rule = next(one for one in load_policy(packaged_policies()["default"]).rules if one.metric == "lost_link")
    policy = load_policy(packaged_policies()["default"]).model_copy(
        update={"rules": (rule,), "anonymity": (), "history": (), "must_detect": None}
    )
    (check,) = judge(policy, found, None).checks
    assert check.status == "review"
    assert "work is child: " in check.message and "instead of 100 % where age is below 10" in check.message


def test_a_link_of_values_too_rare_to_be_named_is_said_by_its_strength() -> None:
    """Postcodes of two people each: no share of a named value tells that clinics have lost their regions."""
    rng = np.random.default_rng(2)

    def frame(n: int, *, lost: bool = False) -> pd.DataFrame:
        region = rng.integers(1, 5, n)
        clinic = [f"K{one}" for one in (rng.permutation(region) if lost else region)]
        codes = [f"{one}{code:02d}" for one, code in zip(region, rng.integers(0, 100, n), strict=True)]
        return pd.DataFrame({"plz": codes, "clinic": clinic}, dtype="category")

    def of(made: pd.DataFrame) -> Table:
        return Table(made, Schema(tuple(Column(name, Role.INSENSITIVE, Kind.CATEGORICAL) for name in made)))

    tables = of(frame(900)), of(frame(500)), {"synthetic": of(frame(900, lost=True))}
    (found,) = evaluate(*tables, EvaluateOptions(metrics=("lost_link",)), rng).metrics  # type: ignore[arg-type]
    assert isinstance(found.outcome, Measure) and found.outcome.low > 0.3
    said = str(found.outcome.details["said"])
    assert said.startswith("clinic and plz: their link fell from 0.99 to ") and "rare values" not in said


def test_no_lost_link_is_said_by_equal_numbers() -> None:
    """Shares of 0.2 and 0.4 % are not both 0 %; what is equal is called so; a link without a difference by strength."""
    few = _Figure("stroke", "True", np.array([0.4, 30.0, 5.0]), np.array([0.2, 30.0, 5.0]))
    where = {"by": "ward", "group": "eyes"}
    assert few.in_words(0, where) == "0.2 % instead of 0.4 % where ward is eyes"
    assert [few.in_words(group, where) for group in (1, 2)] == [
        "still 30.0 % where ward is eyes",
        "still 5.0 % where ward is eyes",
    ]


def test_as_many_values_of_other_rows_are_not_said_to_be_another_number() -> None:
    rng = np.random.default_rng(1)

    def of(low: int) -> Table:
        codes = [f"{code}" for code in rng.permutation(np.repeat(np.arange(low, low + 300), 3))]
        return small([(code, 1) for code in codes], *COLUMNS[:2])

    said = measured("lost_column", of(1000), of(1000), of(2000)).details["said"]
    assert said == "plz: 300 different values as before, but of other rows"
    assert catalogue("de").say(said) == "plz: 300 verschiedene Werte wie zuvor, aber in anderen Zeilen"


def test_a_column_of_rare_values_is_not_said_by_the_share_of_all_rare_values() -> None:
    """A postcode that had 8 values instead of 500 was once said to have 100.0 % rare values instead of 99.6 %."""
    rng = np.random.default_rng(1)

    def of(codes: np.ndarray[Any, Any], rest: int) -> Table:
        return small([(f"{code}", 1) for code in codes] + [(None, 1)] * rest, *COLUMNS[:2])

    many = rng.permutation(np.repeat(np.arange(1000, 1300), 3))
    few = rng.permutation(np.repeat(np.arange(2000, 2008), 110))
    said = str(measured("lost_column", of(many, 60), of(many, 60), of(few, 0)).details["said"])
    assert said == "plz: number of different values 8 instead of 300"


def test_other_codes_of_the_same_region_are_no_loss() -> None:
    frame = people(900, 3)
    rng = np.random.default_rng(0)
    other = frame.assign(plz=frame["plz"].str[:2] + pd.Series(rng.integers(100, 200, 900).astype(str)))
    assert both(other)["lost_column"].low < 0
    assert frame["plz"].nunique() > GROUPS


def test_without_links_there_is_nothing_to_lose() -> None:
    rng = np.random.default_rng(0)
    frames = [people(400, 1).apply(lambda c: rng.permutation(c.to_numpy())) for _ in range(3)]
    options = EvaluateOptions(metrics=("lost_link",))
    train, control, drawn = map(table, frames)
    (found,) = evaluate(train, control, {"synthetic": drawn}, options, rng).metrics
    assert isinstance(found.outcome, NotComputable) and found.outcome.lacks == "linked_columns"


def test_every_packaged_policy_asks() -> None:
    for name, path in packaged_policies().items():
        asked = {rule.metric for rule in load_policy(path).rules}
        assert set(METRICS) <= asked, name


def test_hand_worked_paired_auc() -> None:
    """Of 2 of the group with .9 and .4, beside .5 and .1, three of four pairs are in order: .75, in both groups."""
    likely = np.array([[0.1, 0.9], [0.6, 0.4], [0.5, 0.5], [0.9, 0.1]])
    found = ranked(likely, np.array([1, 1, 0, 0]), [0, 1])
    assert found.auc == pytest.approx(0.75)
    # Of each group's rows one is above all others (1) and one above half of them (.5); a row counts in both groups.
    assert found.parts == pytest.approx(np.array([0.5, -0.5, -0.5, 0.5]))


def test_what_few_people_of_control_have_is_no_lost_prediction() -> None:
    """The AUC of one person is 0 or 1 without any error: 1 of 80 customers in default made a loss of .64 of nothing."""

    def with_default(n: int, seed: int, holders: int, known: bool) -> Table:
        frame = people(n, seed)
        frame["stroke"] = np.arange(n) < holders
        frame.loc[: holders - 1, "age"] = 95 if known else 40
        return table(frame)

    train, ruined = with_default(1000, 1, 60, True), with_default(1000, 3, 60, False)
    few = measured("lost_prediction", train, with_default(200, 2, 3, True), ruined)
    enough = measured("lost_prediction", train, with_default(200, 2, 20, True), ruined)
    assert "stroke" not in {one["column"] for one in few.details["columns"]}
    assert enough.details["worst"] == "stroke" and enough.low > 0.2


def test_a_link_of_few_rows_is_no_lost_link() -> None:
    """Two rows of 200 that share two rare values have a strong link, in every sample of such pairs another one."""
    rng = np.random.default_rng(4)

    def drawn(n: int, together: int) -> Table:
        frame = people(n, int(rng.integers(100)))
        frame["work"], frame["plz"] = "office", "10"
        frame.loc[:together, ["work", "plz"]] = "abroad", "99"
        return table(frame)

    train, control, fresh = drawn(200, 2), drawn(200, 2), drawn(200, -1)
    options = EvaluateOptions(metrics=("lost_link",))
    (found,) = evaluate(train, control, {"synthetic": fresh}, options, rng).metrics
    outcome = found.outcome
    assert isinstance(outcome, NotComputable) or outcome.details["worst"] != "plz and work"


def test_words_name_no_value_of_few_people() -> None:
    frame = people(1000, 1)
    frame.loc[:3, "work"] = "bishop"
    ruined = frame.assign(work="bishop", stroke=frame["stroke"].sample(frac=1, random_state=0).to_numpy())
    control = table(people(500, 2))
    for changed in (ruined, ruined.assign(work=frame["work"])):
        for name in METRICS:
            assert "bishop" not in measured(name, table(frame), control, table(changed)).details["said"], name


def test_what_is_lost_stands_first() -> None:
    checks = tuple(
        Check(rule=metric, status=status, found="", metric=metric)
        for metric, status in (("membership", "review"), ("lost_link", "review"), ("tstr", "block"), ("nndr", "pass"))
    )
    assert [check.metric for check in Verdict.of("p", checks).open_checks] == ["tstr", "lost_link", "membership"]


def test_a_prediction_that_did_not_fall_in_the_printed_digits_is_not_said() -> None:
    said = [fall_in_words({"column": "ward", "train": 1.0, "table": there}) for there in (0.5, 0.9987, 0.9999999, 1.0)]
    assert said[0].startswith("ward can be predicted with 0.50 instead of 1.00") and "0.999 instead of 1.000" in said[1]
    assert said[2:] == ["", ""] and fall_in_words({"column": "ward", "train": 0.7, "table": 0.8}) == ""


def test_of_a_table_that_lost_nothing_no_difference_is_said() -> None:
    found = both(people(1000, 1))
    assert not found["lost_column"].details["said"]


def test_the_error_of_a_link_is_that_of_repeated_samples() -> None:
    # A minority of 2 %, half of whom were born abroad, as 4 % of the others were; two columns of four linked groups.
    rng = np.random.default_rng(3)
    sparse = np.array([[0.94, 0.04], [0.01, 0.01]])
    even = np.full((4, 4), 0.03) + np.eye(4) * 0.13
    for shares, least in ((sparse, 1.6), (even, 0.8)):
        n, found, errors = 600, [], []
        for _ in range(400):
            cells = rng.multinomial(n, shares.ravel() / shares.sum()).reshape(shares.shape).astype(float)
            size = sum(shares.shape)
            counts = np.zeros((size, size))
            counts[: len(shares), len(shares) :] = cells
            counts += counts.T + np.diag([*cells.sum(axis=1), *cells.sum(axis=0)])
            groups = np.array([0, len(shares)])
            found.append(corrected_v(counts, groups)[0, 1])
            errors.append(error_of_v(counts, groups, (np.array([0]), np.array([1])), n)[0])
        spread = np.std(found)
        assert 0.8 * spread < np.median(errors) < 1.3 * spread
        assert spread * np.sqrt(n * (min(shares.shape) - 1)) > least, "beside the error of independent columns"


def test_a_link_of_a_few_people_is_not_lost_where_others_of_them_are_drawn() -> None:
    # In one table 11 of 30 of a minority were born abroad, in the other 2 of 21, as in two halves of Adult's people.
    schema = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in ("group", "born")))

    def of(abroad: int, minority: int, others: int, n: int) -> Table:
        group = ["minority"] * minority + ["rest"] * (n - minority)
        born = ["abroad"] * abroad + ["here"] * (minority - abroad) + ["abroad"] * others
        frame = pd.DataFrame({"group": group, "born": born + ["here"] * (n - len(born))})
        return Table(frame.astype("category"), schema)

    few = measured("lost_link", of(11, 30, 16, 400), of(5, 9, 4, 80), of(2, 21, 14, 400))
    assert few.value > 0.2 and few.low is not None and few.low < 0.1
    many = measured("lost_link", of(110, 300, 160, 4000), of(50, 90, 40, 800), of(20, 210, 140, 4000))
    assert many.low is not None and many.low > 0.1
