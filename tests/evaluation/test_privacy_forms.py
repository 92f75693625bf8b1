"""The forms of PrivEval: worked by hand, on copies and on fresh people."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.close_values import close_value, farthest
from hybrid.evaluation.attacks.inference import most_frequent
from hybrid.evaluation.context import Context, Making
from hybrid.evaluation.engine.encoding import encode
from hybrid.evaluation.engine.intervals import wilson
from hybrid.evaluation.engine.space import euclidean, gower
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people

FORMS = ("zcap", "gcap", "air", "close_value", "mir", "hidden_rate")
SCHEMA = Schema(
    (
        Column("place", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("work", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("illness", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)


def people(rows: list[str]) -> Table:
    """One letter per column and row."""
    frame = pd.DataFrame([list(row) for row in rows], columns=SCHEMA.names)
    return Table(frame.astype({column.name: DTYPES[column.kind] for column in SCHEMA}), SCHEMA)


@pytest.fixture(scope="module")
def by_hand() -> Context:
    train = people(["abx"] * 4 + ["acy"] * 4 + ["dex"] * 4)
    control = people(["aby"] * 5 + ["dcx"] * 5)
    table = people(["abx"] * 3 + ["aby"] + ["dcx"] * 6)
    return Context(train, control, table, EvaluateOptions(paper=True))


def rate(successes: float, attempts: int) -> float:
    return wilson(successes, attempts).value


def measured(context: Context, name: str) -> Measure:
    outcome = REGISTRY[name].measure(context, "illness" if REGISTRY[name].per else None).outcome
    assert isinstance(outcome, Measure), outcome
    return outcome


def risk(train: float, control: float) -> float:
    mine, its = rate(train, 12), rate(control, 10)
    return (mine - its) / (1 - its)


def test_zero_cap_by_hand(by_hand: Context) -> None:
    # Keys ab: 3 of 4 rows have x, 1 has y; ac and de: no row; dc: 6 of 6 have x.
    found = measured(by_hand, "zcap")
    assert found.value == pytest.approx(risk(4 * 0.75, 5 * 0.25 + 5 * 1))
    assert found.details["paper"] == {"ZCAP": pytest.approx(3 / 12)}
    assert found.details["keys"] == ["place", "work"]
    assert found.excess == (found.value, found.low, found.high)


def test_general_cap_by_hand(by_hand: Context) -> None:
    # ac: nearest are ab (4 rows, 1 with y) and dc (6, none): 1/10. de: dc, all x.
    found = measured(by_hand, "gcap")
    assert found.value == pytest.approx(risk(4 * 0.75 + 4 * 0.1 + 4, 5 * 0.25 + 5))
    assert found.details["paper"] == {"GCAP": pytest.approx((3 + 0.4 + 4) / 12)}


def test_attribute_inference_risk_by_hand(by_hand: Context) -> None:
    # In E1 every mismatch costs the same: the same rows are nearest. The first tied row decides the printed F1:
    # abx (row 0) tells x right and, of ac, y wrong; all contents are equally frequent, so weights are.
    found = measured(by_hand, "air")
    assert found.value == pytest.approx(risk(4 * 0.75 + 4 * 0.1 + 4, 5 * 0.25 + 5))
    assert found.details["paper"] == {"AIR": pytest.approx(2 * (8 / 12) / (1 + 8 / 12))}


def test_close_values_by_hand() -> None:
    schema = Schema((Column("size", Role.INSENSITIVE, Kind.DECIMAL), Column("weight", Role.INSENSITIVE, Kind.DECIMAL)))

    def line(values: list[float]) -> Table:
        return Table(pd.DataFrame({"size": values, "weight": np.zeros(len(values))}).astype("Float64"), schema)

    train, control = line([*range(0, 100, 10)]), line([v + 4.0 for v in range(0, 100, 10)])
    table = line([*[v - 1.0 for v in range(0, 70, 10)], 300, 310, 320])
    found = close_value(Context(train, control, table, EvaluateOptions(paper=True)))
    assert isinstance(found, Measure)
    sd = math.sqrt(825)  # of 0, 10, .., 90
    assert found.details["threshold"] == pytest.approx(4 / sd)  # every person never seen is 4 from somebody
    # Seven training people are 1 from a row, three 11, 21 and 31; seven people never seen 5, three 15, 25 and 35.
    assert found.value == pytest.approx((rate(7, 10) - rate(0, 10)) / (1 - rate(0, 10)))
    assert found.details["log_ratio"] == pytest.approx(math.log(1 / 5))
    paper = found.details["paper"]
    assert paper["NSND"] == pytest.approx((10 + 20 + 30) / (320 - 1) / 10)  # from 1 to 320 apart
    assert paper["CVP"] == paper["DVP'"] == 1.0
    assert paper["MDCR'"] == pytest.approx(1 / (1 + math.exp(-1 / 10)))  # training people are 10 apart


@pytest.fixture(scope="module")
def of_copy_and_fresh() -> dict[str, dict[str, Measure]]:
    rng = np.random.default_rng(5)
    train, control, fresh = (make_people(400, rng) for _ in range(3))
    shuffled = rng.permutation(400)
    options = EvaluateOptions(metrics=FORMS, secrets=("illness",), paper=True)
    half = pd.concat([train.frame.take(shuffled[:200]), fresh.frame[:200]], ignore_index=True)
    tables = {
        "copy": (train.take(shuffled), shuffled),
        "half": (Table(half.astype(train.frame.dtypes.to_dict()), train.schema), np.append(shuffled[:200], [-1] * 200)),
        "fresh": (fresh, np.full(400, -1)),
    }
    found = {}
    for name, (table, origin) in tables.items():
        drawn = np.random.default_rng(1)
        made = evaluate(
            train, control, {"synthetic": table}, options, drawn, making={"synthetic": Making(origin=origin)}
        )
        found[name] = {result.name: result.outcome for result in made.metrics if isinstance(result.outcome, Measure)}
        assert set(found[name]) == set(FORMS)
    return found


def test_every_form_rises_with_the_leak(of_copy_and_fresh: dict[str, dict[str, Measure]]) -> None:
    for name in FORMS:
        fresh, half, copy = (of_copy_and_fresh[leak][name].excess for leak in ("fresh", "half", "copy"))
        assert fresh is not None and half is not None and copy is not None
        assert fresh[1] <= 0 <= fresh[2] or name == "hidden_rate"
        assert fresh[0] < half[0] < copy[0], name
    assert of_copy_and_fresh["copy"]["close_value"].value > 0.95
    assert of_copy_and_fresh["copy"]["close_value"].details["log_ratio"] == "copy"
    assert of_copy_and_fresh["copy"]["mir"].value > 0.6


def test_the_hidden_rate_is_the_share_that_leaked(of_copy_and_fresh: dict[str, dict[str, Measure]]) -> None:
    rates = {leak: found["hidden_rate"] for leak, found in of_copy_and_fresh.items()}
    assert {leak: found.value for leak, found in rates.items()} == {"copy": 1.0, "half": 0.5, "fresh": 0.0}
    assert rates["copy"].details["paper"]["HiddR"] < 0.05  # a shuffled copy: the record's number is another's row
    assert rates["half"].reference == 1 / 400


def test_printed_forms_of_a_copy(of_copy_and_fresh: dict[str, dict[str, Measure]]) -> None:
    copy, fresh = (
        {key: value for found in of_copy_and_fresh[leak].values() for key, value in found.details["paper"].items()}
        for leak in ("copy", "fresh")
    )
    assert (copy["CVP"], copy["NSND"], copy["MDCR'"]) == (1.0, 0.0, 0.5)
    assert copy["DCR'"] == pytest.approx(1.0)
    assert fresh["MDCR'"] > copy["MDCR'"]  # turned round: a copy scores lowest
    assert fresh["MIR"] > copy["MIR"]  # so is the printed recall
    assert fresh["D-MLP"] > copy["D-MLP"]  # and the network's AUC: twins have the other label


def test_the_detection_by_a_network_by_hand() -> None:
    train, control = people(["abx"] * 400), people(["aby", "acx"] * 20)
    apart, half = people(["acy"] * 400), people(["abx", "acy"] * 200)
    printed = [
        measured(Context(train, control, table, EvaluateOptions(paper=True)), "mir").details["paper"]["D-MLP"]
        for table in (apart, half)
    ]
    # Every pair of a record and another row is told apart; half of the pairs are of equal rows, and count one half.
    assert printed == pytest.approx([1.0, 0.75])


def test_without_provenance_the_hidden_rate_is_unknown() -> None:
    rng = np.random.default_rng(3)
    tables = [make_people(30, rng) for _ in range(3)]
    outcome = REGISTRY["hidden_rate"].measure(Context(*tables, EvaluateOptions())).outcome
    assert isinstance(outcome, NotComputable)
    assert outcome.lacks == "origin"


@settings(max_examples=10)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_the_farthest_pair_is_that_of_all_pairs(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [make_people(n, rng), make_people(m, rng)]
    encoding = encode([tables[0], tables[1], tables[1]])
    for space in (euclidean(encoding), gower(encoding)):
        left, right = (space.place(part) for part in encoding.tables[:2])
        numbers = np.abs(left.numbers[:, :, None] - right.numbers[:, None, :])
        lacks = left.missing[:, :, None], right.missing[:, None, :]
        numbers = np.where(lacks[0] & lacks[1], 0.0, np.where(lacks[0] | lacks[1], 1.0, numbers))
        other = (left.codes[:, :, None] != right.codes[:, None, :]) * left.weights[:, None, None]
        total = ((numbers**2 if space.squared else numbers).sum(axis=0) + other.sum(axis=0)).max()
        assert farthest(left, right, space.squared) == pytest.approx(math.sqrt(total) if space.squared else total)


def test_the_most_frequent_of_several_by_hand() -> None:
    codes = np.array([[1, 1, 2], [1, 2, 3], [1, 2, 2]])
    assert most_frequent(codes, np.array([1, 3, 1])).tolist() == pytest.approx([1, 1 / 3, 0])


def test_secrets_from_several_rows() -> None:
    rng = np.random.default_rng(4)
    train, control, fresh = (make_people(300, rng) for _ in range(3))
    chosen = {"metrics": ("inference_neighbours",), "inference_neighbours": (1, 4)}
    options = EvaluateOptions.model_validate({**chosen, "secrets": ("illness", "cost")})
    for secret, kinds in (("illness", {"mode"}), ("cost", {"mean", "median"})):
        outcomes = []
        for table in (train, fresh):
            metric = REGISTRY["inference_neighbours"]
            outcome = metric.measure(Context(train, control, table, options), secret).outcome
            assert isinstance(outcome, Measure) and outcome.low is not None
            outcomes.append(outcome)
        copy, clean = outcomes
        assert copy.value > 0.97 and copy.details["worst_guess"].startswith("1, ")
        assert set(copy.details["guess"]) == {f"{k}, {kind}" for k in (1, 4) for kind in kinds}
        assert copy.details["guess"][f"4, {min(kinds)}"]["value"] < copy.value
        assert clean.low <= 0 and clean.together == 2 * len(kinds)
    found = [
        evaluate(train, control, {"synthetic": each}, options, np.random.default_rng(1)).metrics[0].outcome
        for each in (fresh, fresh.take(rng.permutation(300)))
    ]
    assert found[0] == found[1]
