"""Values, interval widths and weights of the attacks on ten people, worked by hand.

Everywhere z = 1.959964, z^2 = 3.841459. Wilson (1927): centre (s + z^2/2) / (n + z^2), half width
z / (n + z^2) sqrt(s (n - s) / n + z^2 / 4):

    5 of 10: .5 -+ .263407      8 of 10: .716740 -+ .226577      3 of 10: .355507 -+ .247714
"""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.twins import _weighted
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import vote_error
from hybrid.evaluation.options import RetrainOptions
from hybrid.lab.attacks.canary import _measured
from hybrid.table import Kind, Role, Table
from tests.evaluation.small_tables import measured, small

COLUMNS = (("x", Kind.DECIMAL, Role.QUASI_IDENTIFIER), ("ill", Kind.CATEGORICAL, Role.SENSITIVE))
PEOPLE = range(10)


def people(*rows: tuple[float, str]) -> Table:
    return small(list(rows), *COLUMNS)


def half(i: int) -> str:
    return "a" if i < 5 else "b"


# Half of the table are training records, half control records; each lies 4 beside one of the other side.
TRAIN = people(*((10.0 * i, half(i)) for i in PEOPLE))
CONTROL = people(*((10.0 * i + 4, half(i)) for i in PEOPLE))
TABLE = people(*((10.0 * i + (4 if i % 2 else 0), half(i)) for i in PEOPLE))

# The table tells ill of the first 8 training records; of control records, only the first 3 are as the table says.
TOLD_TRAIN = people(*((10.0 * i, "ab"[i % 2]) for i in PEOPLE))
TOLD_TABLE = people(*((10.0 * i, "ab"[(i + (i >= 8)) % 2]) for i in PEOPLE))
TOLD_CONTROL = people(*((10.0 * i + 1, "ab"[(i + (i >= 3) + (i >= 8)) % 2]) for i in PEOPLE))


def close(found: Measure, value: float, low: float, high: float) -> None:
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=2e-6)


@pytest.mark.parametrize("name", ["identical_match", "identical_match_quasi", "identical_match_secrets"])
def test_identical_match(name: str) -> None:
    found = measured(name, TRAIN, CONTROL, TABLE)
    # 5 of 10 rows, all different: Wilson. Control: 5 of 10 as well.
    close(found, 0.5, 0.236593, 0.763407)
    assert found.reference == pytest.approx(0.5)
    # In train less in control is 1 or -1 in each row: z sqrt(10) / 10 = .619795. Exact: 5 of 10 contents are in train
    # rather than in control, Clopper and Pearson .187086 to .812914, twice that less 1: .625828, which is wider.
    assert found.details["excess"] == 0.0
    assert found.details["excess_interval"] == pytest.approx([-0.625828, 0.625828], abs=2e-6)


def test_copied_identifiers() -> None:
    columns = (*COLUMNS, ("note", Kind.CATEGORICAL, Role.INSENSITIVE))

    def noted(kind: str) -> Table:  # 25 on each side: with fewer than 50 records no text is taken for a name
        return small([(10.0 * i, half(i), f"{kind} {i}") for i in range(25)], *columns)

    rows = [(10.0 * i, half(i), f"{'mine' if i < 5 else 'new'} {i}") for i in PEOPLE]
    # 5 of 10 notes are a training record's, none a control record's: Wilson.
    found = measured("copied_identifiers", noted("mine"), noted("other"), small(rows, *columns))
    close(found, 0.5, 0.236593, 0.763407)
    assert found.reference == 0.0


def test_hitting_rate() -> None:
    # Within 90 / 30 = 3 of some row: 5 of 10 on both sides; the others are 4 away.
    found = measured("hitting_rate", TRAIN, CONTROL, TABLE)
    close(found, 0.5, 0.236593, 0.763407)
    # Risk 0; its error .263407 hypot(1 / .5, (.5 - 1) / .5^2) = .263407 sqrt(8) = .745027. The ratio of failures, with
    # .236593 (1 - .236593) = .180617: (.25 + sqrt(.25^2 - .180617^2)) / .180617 = 2.341152, so at least 1 - 2.341152.
    assert found.details["risk_interval"] == pytest.approx([-1.341152, 0.745027], abs=2e-6)


def test_near_copies_of_everybody_tell_nothing_of_training() -> None:
    """All control records are hit and 39 of 40 training records; shrunken rates once made that a risk of .7."""
    train = people(*((10.0 * (i % 4), "a") for i in range(39)), (90.0, "b"))
    control, table = people(*((10.0 * (i % 4), "a") for i in PEOPLE)), people(*((10.0 * (i % 4), "a") for i in PEOPLE))
    found = evaluate(
        train, control, {"synthetic": table}, EvaluateOptions(metrics=("hitting_rate",)), np.random.default_rng(1)
    ).metrics[0]
    assert isinstance(found.outcome, NotComputable) and found.outcome.lacks == "headroom"


def test_dcr_share() -> None:
    # Five rows lie on a training record, five on a control record, each on one of its own: Wilson of 5 of 10.
    close(measured("dcr_share", TRAIN, CONTROL, TABLE), 0.5, 0.236593, 0.763407)
    # Six rows lie nearest to the first training record, four to the first control record: of 20 records w is .6, .4 and
    # 0, its mean .05. .55^2 + .35^2 + 18 * .05^2 = .47, times 20/19 = .494737: 2.021277 votes. Wilson of a share of .6.
    unlike = people(*(((-1.0, "a"),) * 6 + ((5.0, "a"),) * 4))
    close(measured("dcr_share", TRAIN, CONTROL, unlike), 0.6, 0.132545, 0.936409)


def test_nndr() -> None:
    # Five rows: 0. Beyond: 14, 34, 54, 74 lie 4 from one and 6 from another record; 94 lies 4 and 14 away.
    # Mean (4 * 4/6 + 4/14) / 10 = .295238; sum of squares 4 * 16/36 + 16/196 = 1.859410, less 10 * .295238^2
    # = .987755; z sqrt(.987755) / 10 = .194793. To control: 20, 40, 60, 80 (6 and 4), 0 (4 and 14), so the same.
    found = measured("nndr", TRAIN, CONTROL, TABLE)
    close(found, 0.295238, 0.100445, 0.490031)
    assert found.reference == pytest.approx(0.295238, abs=2e-6)


def test_nndr_share() -> None:
    # Every row lies on a record of its own, so that all ten are pointed at; five are training records, by chance half.
    # Sidak for three shares: 1 - .95^(1/3) = .016953. Clopper and Pearson: 5 or more of 10 have probability .008476 at
    # p = 0.144784, (p - .5) / .5 = -0.710432. Of a copy all ten are: p^10 = .008476 at 0.620612.
    close(measured("nndr_share", TRAIN, CONTROL, TABLE), 0.0, -0.710432, 0.710432)
    close(measured("nndr_share", TRAIN, CONTROL, TRAIN), 1.0, 0.241224, 1.0)
    # One row lies on a training record; the others 1 from a control record and 5 from the next: ratio .2. The lowest
    # 1, 2 and 5 % of ten ratios are one row, and one tenth of (1 - .5) / .5 is the excess.
    table = people((0.0, "a"), *((10.0 * i + 5, half(i)) for i in range(1, 10)))
    found = measured("nndr_share", TRAIN, CONTROL, table)
    assert found.value == pytest.approx(0.1) and found.details["records"] == 1


def test_inference_and_linkability() -> None:
    # Told of 8 of 10 training and 3 of 10 control records. Risk (.716740 - .355507) / (1 - .355507) = .560492.
    # Propagated: hypot(.226577 / .644493, .247714 * .283260 / .644493^2) = .390039, so from .170453 to .950531.
    # Donner and Zou: failures .2 (.056682 to .509838) and .7 (.396779 to .892207), ratio at most .865889: from .134111.
    expected = (0.560492, 0.134111, 0.950531)
    tables = TOLD_TRAIN, TOLD_CONTROL, TOLD_TABLE
    for name in ("inference", "inference_worst"):  # of a single secret, so that Sidak's level is that of one
        close(measured(name, *tables, secrets=("ill",)), *expected)
    # By ill all rows of the same letter tie; by x one row is nearest: linked where it has that letter.
    close(measured("linkability", *tables, linkability=(("ill",), ("x",))), *expected)
    # min_cell 10 of 10 people: all of them are the exposed ones, by each of four rankings. At Sidak's level of four z
    # is 2.490915. Rates .685132 -+ .272869 and .376579 -+ .293721: risk .494938, error hypot(.272869 / .623421,
    # .293721 * .314868 / .623421^2) = .498196, so up to .993134. Donner and Zou: ratio at most 1.082366.
    found = measured("inference_exposed", *tables, secrets=("ill",), min_cell=10)
    close(found, 0.560492, 1 - 1.082366, 0.993134)


def test_gtcap() -> None:
    # Keys within .05 * 90 = 4.5: one record for each row. Told 8 of 10 and 3 of 10, no prior: (.8 - .3) / .7.
    # Errors by the jackknife: z sqrt(.8 * .2 / 10) = .247918, z sqrt(.3 * .7 / 10) = .284026;
    # together hypot(.247918 / .7, .284026 * .2 / .7^2) = .372659, so up to 1.086945. Donner and Zou reach lower: from
    # .134111, as for the same rates of the inference.
    found = measured("gtcap", TOLD_TRAIN, TOLD_CONTROL, TOLD_TABLE, secrets=("ill",), radius=0.05)
    close(found, 0.714286, 0.134111, 1.086945)


def test_singling_out_univariate() -> None:
    # 10 values that occur once, and ">= 90" (that "<= 0" is the value 0 itself): 11 predicates, all of which fit
    # one training record; of control only 91 is fitted, by the last. Rates .870584 and .196795 -+ .180428: risk
    # .838875. The 11 are about 10 rows, so that success on train is worth 10 of 10: .861234 -+ .138766, risk .827234,
    # error hypot(.138766 / .803205, .180428 * .138766 / .803205^2) = .177078; Donner and Zou lie inside.
    close(measured("singling_out_univariate", TOLD_TRAIN, TOLD_CONTROL, TOLD_TABLE), 0.838875, 0.650156, 1.004312)


def test_singling_out_by_one_value_needs_values_that_stand_alone() -> None:
    twice = people(*((10.0 * (i // 2), "a") for i in PEOPLE))
    metric = REGISTRY["singling_out_univariate"]
    found = metric.measure(Context(TOLD_TRAIN, TOLD_CONTROL, twice, EvaluateOptions())).outcome
    assert isinstance(found, NotComputable)
    assert (found.state, found.lacks) == ("too_few", "lone_values")
    assert "only 0 values stand alone" in found.reason


def test_few_values_that_stand_alone_say_nothing_beside_a_small_control() -> None:
    """No leak and a full copy are both in the interval, -.95 to 1.57, of 50 values beside 40 control records."""
    rng = np.random.default_rng(1)
    tables = [people(*((float(value), "a") for value in rng.integers(0, 1000, n))) for n in (400, 40, 50)]
    found = REGISTRY["singling_out_univariate"].measure(Context(*tables, EvaluateOptions())).outcome
    assert isinstance(found, NotComputable) and found.lacks == "lone_values", found
    assert "only 50 values stand alone in the table, too few for a rate" in found.reason


@pytest.mark.parametrize(
    ("name", "options", "low"), [("membership", {}, 0.800214), ("membership_exposed", {"min_cell": 5}, 0.704085)]
)
def test_membership(name: str, options: dict[str, object], low: float) -> None:
    # The table is train: members score 1, people never seen less. The area is 1 and DeLong's variance 0. Newcombe: the
    # least A with 1 - A <= z sqrt(A (1 - A) (1 + (n - 1) ((1 - A)/(2 - A) + A/(1 + A)) / n^2), n on each side: all 10
    # and 10, and the same as the most exposed by four rankings, at Sidak's level of four (z = 2.490915).
    close(measured(name, TRAIN, CONTROL, TRAIN, **options), 1.0, low, 1.0)


def test_nnaa_and_authenticity_of_a_copy() -> None:
    # A copy: every record lies on a row. Control: 4 from the nearest row, 10 from the nearest other control record:
    # all nearer to the table as well, so accuracy 0 outward; inward, rows lie 4 from control and 10 from each other.
    found = measured("nnaa", TRAIN, CONTROL, TRAIN)
    close(found, 0.0, 0.0, 0.0)
    assert found.details["accuracy_train"] == found.details["accuracy_control"] == 0.0
    close(measured("authenticity", TRAIN, CONTROL, TRAIN), 1.0, 1.0, 1.0)


def test_entropies_weigh_the_columns_of_identifiability() -> None:
    # Ten values in bins of their own: ln 10; five and five: ln 2. Standard deviation of 0, 10, ..., 90: sqrt(825).
    # Columns are divided by their entropy: 28.722813 * 2.302585 is one unit of x; a mismatch costs 2 / (ln 2)^2.
    space = _weighted(Context(TRAIN, CONTROL, TABLE, EvaluateOptions()))
    assert space.scale.tolist() == pytest.approx([66.136722], abs=2e-6)
    assert space.weights.tolist() == pytest.approx([4.162738], abs=2e-6)


def test_identifiability_counts_rare_surprises_more() -> None:
    # Half of the people are a, half b; x is 0 or 1 for half of each and 9 for one more, so that ln 2 = .693147 weighs
    # the letter and x has four bins (4, 4, 1, 1 of 10): entropy 1.193550.
    # Every training record has another one of its own letter at most 9 away; every row has the other letter:
    # a mismatch costs more than 9 / (scale of x), so that no row is nearer.
    values = [0.0, 0.0, 1.0, 1.0, 9.0, 0.0, 0.0, 1.0, 1.0, 8.0]
    train = people(*((value, half(i)) for i, value in enumerate(values)))
    control = people(*((value + 0.25, half(i)) for i, value in enumerate(values)))
    twins = people(*((value, half(9 - i)) for i, value in enumerate(values)))
    found = measured("identifiability", train, control, twins)
    # Shared places 0 and 1 have a row of the same letter there: distance 0 against 0, one half each. 9 (a) has
    # another a 8 away and a row of a 1 away; 8 (b) another b 7 away and a row of b 1 away: 2 + 8 / 2 of 10.
    assert found.value == pytest.approx(0.6)


def test_canary() -> None:
    # 20 canaries among 4 secrets; 8 planted ones told, 5 times the record's own. By chance (1 - .25) / 3 = .25.
    # Wilson of 8 of 20: .416112 -+ .197306. The chance itself: z sqrt(.25 * .75) / 3 / sqrt(20) = .063258.
    # Error hypot(.197306, .063258) / (1 - .25) = .276264, around (.416112 - .25) / .75 = .221483.
    found = np.zeros((20, 2))
    found[:8, 0] = found[8:13, 1] = 1.0
    options = EvaluateOptions(retrain=RetrainOptions())
    measure = _measured(Context(TRAIN, CONTROL, TABLE, options), found, 4, 100)
    close(measure, 0.2, -0.054781, 0.497748)
    assert measure.details["by_chance"] == pytest.approx(0.25)


def test_majorities_of_knn_share() -> None:
    # One vote: a record's part is all of it, 1. Voters 2, 1, 1 (squares about 4/3: 2/3) and 1, 3 (about 2: 2):
    # .5 sqrt((2/3 + 2) / 2) / 4 = .144338.
    one = [np.array([[0], [0], [1], [2]]), np.array([[0], [1], [1], [1]])]
    assert vote_error(np.array([1.0, 1, 0, 0]), *one, sizes=(3, 2)) == pytest.approx(0.144338, abs=2e-6)
    # Three votes: first order 3 (C(2, 1) / 2^2)^2 = .75. Voters 2, 2, 2, 2 (0) and 4, 4, 0, 0 (about 2: 16):
    # .5 sqrt(.75 * 16 / 4 + .25 * 4) / 4 = .25.
    three = [np.array([[0, 1], [0, 1], [2, 3], [2, 3]]), np.array([[0, 1]] * 4)]
    assert vote_error(np.array([1.0, 1, 0, 0]), *three, sizes=(4, 4)) == pytest.approx(0.25)
