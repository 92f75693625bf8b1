"""The first page: each sentence, over the configurations that change its truth."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.protect import ProtectOptions, protect
from hybrid.publication.criteria import QUESTIONS, criterion_of
from hybrid.publication.first_page import RunFacts, answer, concern, first_page, not_attacked, open_rules
from hybrid.publication.gate import ALL_ROWS, LIKE_FOLDS, judge
from hybrid.publication.lamps import OF_THE_MOST_EXPOSED, AttackFinding, Lamp, lamps
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.power import POWER
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Check, Verdict, folded
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY as TRANSITIONS
from hybrid.transition import reads_originals
from tests.helpers.reading_grade import reading_grade
from tests.publication.conftest import an_anonymization

TABLE = TableFacts(5000, 1500, 3500, 4, ("number",), ("age", "sex"), ("ward", "cost"))
FACTS = RunFacts("visits", "2026-11-22", "the owner", {}, TABLE)
PRIVACY = [name for name, metric in REGISTRY.items() if metric.family == "privacy"]


def check(metric: str, status: Any = "pass", excess: Any = (-0.01, 0.009), **changes: Any) -> Check:
    return Check(metric, status, "found", metric=metric, excess=excess, **changes)


def lamp(criterion: str, *checks: Check) -> Lamp:
    return next(one for one in lamps(Verdict.of("p", checks)) if one.criterion == criterion)


def said(config: dict[str, Any], table: TableFacts = TABLE, anonymized: Any = None, **options: Any) -> str:
    return " ".join(protection(table, config, anonymized, options.pop("private", False), **options))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "not judged"], "not judged"),
        (["not judged", "review"], "review"),
        (["block", "review"], "block"),
        ([], "not judged"),
    ],
)
@pytest.mark.parametrize("metric", ["singling_out", "linkability", "inference", "membership", "identical_match"])
def test_a_lamp_is_the_worst_of_its_checks(metric: str, statuses: list[Any], expected: str) -> None:
    criterion = criterion_of(metric)
    checks = [check(metric, status, None if status == "not judged" else (-0.01, 0.009)) for status in statuses]
    found = lamps(Verdict.of("p", tuple(checks)))
    assert [one.criterion for one in found] == list(QUESTIONS)
    for one in found:
        assert one.status == (expected if one.criterion == criterion else "not judged")
        assert (one.status == "not judged") <= ("Cannot tell" in one.sentence or "could not be judged" in one.sentence)


def test_what_does_not_apply_is_not_a_green_lamp() -> None:
    found = lamp("inference", check("inference", "not judged", None, applies=False))
    assert found.status == "not judged" and found.sentence.startswith("Cannot tell: it was not tried")


def judged(metric: str, excess: tuple[float, float], limit: float, status: Any = "pass", measured: Any = None) -> Check:
    return check(metric, status, excess, limit=limit, measured=sum(excess) / 2 if measured is None else measured)


NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def number_of(text: str | None) -> float | None:
    """The number of a part, fewer being negative; of right answers as it is."""
    if text is None or text == "no more":
        return None if text is None else 0.0
    number, _, side = text.replace(",", "").partition(" ")
    return float(number) * (-1 if side == "fewer" else 1)


def numbers(found: AttackFinding) -> list[float | None]:
    """Measured, up to, and allowed."""
    return [number_of(part) for part in (found.measured, found.up_to, found.allowed)]


@pytest.mark.parametrize(
    ("metric", "measured", "excess", "limit", "said"),
    [
        # Measured, not ruled out, allowed.
        ("singling_out", 0.0012, (-0.1, 0.00848), 0.03, [1.2, 8.5, 30]),
        ("singling_out", -0.02, (-0.1, 0.0), 0.03, [-20, 0, 30]),
        ("linkability", 0.0, (-0.1, 0.0123), 0.02, [0, 13, 20]),
        ("inference", 0.012, (-0.4, 0.46871), 0.05, [12, 469, 50]),
        ("membership", 0.01, (-0.01, 0.02), 0.02, [510, 520, 520]),
        ("membership", 0.3, (0.1, 0.5), 0.02, [800, 1000, 520]),
        ("identical_match", 0.0011, (-0.01, 0.011), 0.02, [1.1, 11, 20]),
    ],
)
def test_a_lamp_says_what_was_measured_what_cannot_be_ruled_out_and_what_is_allowed(
    metric: str, measured: float, excess: tuple[float, float], limit: float, said: list[float]
) -> None:
    one = lamp(str(criterion_of(metric)), judged(metric, excess, limit, measured=measured))
    (found,) = one.findings
    assert numbers(found) == said and found.sentence in one.sentence
    assert found.about == ("exact copies" if metric == "identical_match" else "everybody")
    assert ("A coin gets 500" in one.unit) == (metric == "membership") and one.unit.startswith("Of 1,000 ")


@pytest.mark.parametrize(
    ("excess", "status", "standing", "leak"),
    [
        ((-0.01, 0.04), "pass", "pass", False),
        ((0.01, 0.04), "pass", "pass", True),
        ((-0.01, 0.06), "pass", "not ruled out", False),
        ((0.01, 0.06), "pass", "not ruled out", True),
        ((0.06, 0.1), "review", "review", True),
        # Neither: the limit is not exceeded for certain, but a table drawn again is judged more strictly.
        ((0.01, 0.1), "review", "review", None),
        ((-0.1, -0.06), "review", "review", False),
    ],
)
def test_a_lamp_says_whether_a_leak_was_found(
    excess: tuple[float, float], status: str, standing: str, leak: bool | None
) -> None:
    found = lamp("inference", judged("inference", excess, 0.05, status))
    assert found.status == standing
    assert found.answer.startswith("A leak") == (leak is True)
    assert found.answer.startswith("No leak") == (leak is False)
    assert ("more strictly" in found.answer) == (leak is None)
    assert ("policy allows." in found.answer) == (standing == "pass" and leak is True)
    assert ("does not allow" in found.answer) == (standing == "review" and leak is True)
    assert [each.status for each in found.findings] == [standing]


def test_numbers_are_those_of_the_deciding_check_and_the_most_exposed_stand_apart() -> None:
    checks = [judged("inference", (-0.01, 0.01), 0.05), judged("inference_quasi", (-0.03, 0.03), 0.01)]
    exposed = judged("inference_subgroups", (0.15, 0.3), 0.1, "review", 0.2)
    assert [numbers(each) for each in lamp("inference", *checks).findings] == [[0, 30, 10]]
    found = lamp("inference", *checks, exposed)
    assert [(each.about, *numbers(each), each.status) for each in found.findings] == [
        ("everybody", 0, 30, 10, "not ruled out"),
        ("the people most at risk", 200, 300, 100, "review"),
    ]
    assert found.answer == "The people most at risk: a leak was found that the policy does not allow."


@pytest.mark.parametrize("policy", packaged_policies().values(), ids=lambda path: path.stem)
def test_a_green_lamp_never_shows_a_number_above_its_limit(policy: Any) -> None:
    rules, rng, green, grey = load_policy(policy), np.random.default_rng(7), 0, 0
    for draw in range(400):
        size = 10.0 ** rng.uniform(-5, 0)
        metrics = [
            MetricResult(rule.metric, REGISTRY[rule.metric].family, rule.stage, rule.direction, outcome)
            for rule in rules.rules
            for value in [rng.normal(0, size)]
            for outcome in [Measure(0.5, excess=(value, value - size * rng.random(), value + size * rng.random()))]
        ]
        verdict = judge(rules, Evaluation(tuple(metrics)), an_anonymization(), draws=1 + draw % 3)
        for one in lamps(verdict):
            about = [each for each in verdict.checks if criterion_of(each.metric) == one.criterion]
            beyond = any(each.excess and each.limit is not None and each.excess[1] > each.limit for each in about)
            green, grey = green + (one.status == "pass"), grey + (one.status == "not ruled out")
            if one.status == "pass":
                assert not beyond and "does not allow" not in one.answer and "not certain" not in one.answer
                assert all(each.status == "pass" for each in one.findings)
            if one.status == "not ruled out":
                assert beyond and all(each.decision == "pass" for each in about if each.applies)
                assert "cannot be ruled out" in one.answer or "not certain" in one.answer
            for each in one.findings:
                measured, up_to, allowed = numbers(each)
                assert allowed is not None and measured is not None
                if each.status == "pass" and up_to is not None:
                    assert max(measured, up_to) <= allowed, one.sentence
        for each in verdict.checks:
            assert ("cannot be ruled out" in each.message) == (each.standing == "not ruled out")
    assert green > 50 and grey > 50


def test_rows_that_keep_away_and_rows_too_close_are_said() -> None:
    away = lamp("membership", judged("membership", (-0.2, -0.1), 0.05, "review"))
    assert numbers(away.findings[0]) == [350, None, 550] and "keep away" in away.answer
    assert "up to" not in away.sentence
    near = lamp("copies", check("identical_match"), check("dcr_share", "review", (0.04, 0.1))).answer
    assert "Rows are closer to real records" in near and "keep away" not in near
    open_ = lamp("copies", judged("dcr_share", (-0.1, 0.1), 0.04))
    assert open_.status == "not ruled out" and "were not found, but cannot be ruled out" in open_.answer
    far = lamp("copies", check("dcr_share")).sentence
    assert far == "Rows are no closer to real records than the policy allows."


@pytest.mark.parametrize(
    ("measured", "high", "place", "answer"),
    [
        (-0.01, 0.65, "far inside", "No leak was found"),
        (0.010, 0.65, "far inside", "No leak was found"),
        (0.027, 0.145, "just inside", "No leak was found"),
        (0.06, 0.145, "above", "More was measured than"),
        (0.404, 1.0, "far above", "Far more was measured than"),
    ],
)
def test_grey_lamps_say_how_far_from_the_limits_the_measured_number_lies(
    measured: float, high: float, place: str, answer: str
) -> None:
    judged_ = replace(judged("singling_out", (-0.1, high), 0.03, measured=measured), forbidden=0.2)
    one = lamp("singling out", judged_)
    assert (one.status, one.place) == ("not ruled out", place)
    assert one.placed == f"measured: {place} what is allowed (everybody)" and one.answer.startswith(answer)
    assert Lamp.from_json(one.to_json()).place == place


def test_numbers_lie_on_a_scale_of_what_is_allowed_and_what_forbids() -> None:
    def on_scale(measured: float, high: float, **limits: Any) -> tuple[Any, ...]:
        found = judged("singling_out", (-0.1, high), 0.03, measured=measured)
        return lamp("singling out", replace(found, **limits)).findings[0].on_scale

    assert on_scale(0.015, 0.115, forbidden=0.2) == pytest.approx((0.5, 1.5))
    assert on_scale(0.2, 0.37, forbidden=0.2) == pytest.approx((2.0, 3.0))
    # A rule that forbids nothing ends at ten times its limit, and nothing lies far above.
    assert on_scale(0.03, 0.165) == pytest.approx((1.0, 1.5)) and on_scale(0.5, 0.9) == (2.0, 2.0)
    assert on_scale(0.01, 0.5, limit=0.0) == (None, None)


def test_the_farthest_number_decides_and_a_distance_counts_too() -> None:
    single = judged("singling_out", (-0.1, 0.9), 0.03, measured=0.01)
    other = replace(judged("singling_out_univariate", (-0.1, 0.5), 0.03, measured=0.3), forbidden=0.2)
    found = lamp("singling out", single, other)
    assert numbers(found.findings[0]) == [300, 500, 30] and found.place == "far above"
    assert lamp("singling out", replace(single, limit=0.0)).place is None
    near = judged("dcr_share", (0.05, 0.1), 0.04, "review", 0.08)
    copies = lamp("copies", judged("identical_match", (-0.1, 0.001), 0.02), near)
    assert (copies.status, copies.place) == ("review", "above")
    assert (found.farthest, copies.farthest) == ("everybody", near.rule)


def test_a_pass_says_whether_an_attack_measured_more_than_is_allowed() -> None:
    inside, chance = (judged("singling_out", (-0.02, high), 0.01) for high in (0.03, 0.06))
    assert (inside.standing, chance.standing) == ("not ruled out", "not ruled out")
    said = [answer(Verdict.of("p", checks)) for checks in ((inside,), (inside, chance))]
    met = "Every rule of the policy is met."
    assert said[0] == f"{met} No leak larger than the policy allows was found."
    assert said[1] == (f"{met} No leak was proven. 1 test measured more than the policy allows, which may be chance.")


def test_the_verdict_says_by_how_many_rules_a_leak_is_more_than_chance() -> None:
    sure = judged("singling_out", (0.05, 0.4), 0.03, "review")
    open_ = judged("membership_trained_random", (0.01, 0.07), 0.06, "review")
    use = check("lost_link", "review", None)

    def said(*checks: Check) -> str:
        return answer(Verdict.of("p", checks))

    end = "a larger leak than the policy allows, beyond chance."
    assert said(open_, use).startswith("People may be at risk: 1 rule about them is not met. The table is not good")
    assert said(sure, open_).startswith(f"People are at risk: 1 rule about them shows {end}")
    assert said(sure, judged("linkability", (0.01, 0.2), 0.002, "block")).endswith(
        f"People are at risk: 2 rules about them show {end}"
    )
    assert "at risk" not in said(use) and "leak" not in said(use)


def test_near_copies_are_counted_and_explained() -> None:
    counted = judged("identical_match", (-0.001, 0.001), 0.02)
    found = lamp("copies", counted, judged("hitting_rate", (0.017, 0.106), 0.001, "review", 0.064))
    assert [one.about for one in found.findings] == ["exact copies", "near copies"]
    assert numbers(found.findings[1]) == [64, 106, 1] and found.place == "above"
    assert "thirtieth" in found.unit and "equal to a real record" in found.unit
    assert "near" not in lamp("copies", counted).unit.lower()


def test_rows_measured_closer_than_allowed_are_not_called_not_found() -> None:
    one = lamp("copies", replace(judged("dcr_share", (-0.1, 0.5), 0.04, measured=0.2), forbidden=0.15))
    assert one.answer.startswith("Rows were far closer to real records than the policy allows.")
    assert "were not found" not in one.answer and "cannot be ruled out" in one.answer


def test_the_page_asks_for_an_owner_and_says_what_the_table_is_not_for() -> None:
    lost = check("lost_link", "review", None, subject="plz and ward")
    unknown = check("lost_column", "not judged", None, subject="plz")
    for status, checks in (("review", (lost, unknown)), ("block", (lost, check("linkability", "block")))):
        facts = replace(FACTS, owner="nobody yet - copy this file", config={"roles": None})
        found = first_page(Verdict.of("default 9", checks), Evaluation(()), facts)
        assert found.decided[0] == "The limits are those of the policy default 9, which has no owner."
        assert bool(found.unsettled) == bool(found.not_for) == (status == "review")
    found = first_page(Verdict.of("default 9", (lost, unknown)), Evaluation(()), facts)
    assert found.unsettled[0].startswith("Nobody answers for the limits yet: the policy default 9 has no owner.")
    assert "Nobody has put a name" in found.unsettled[1]
    assert found.not_for == (
        "Do not study how columns depend on each other, least of all plz and ward: more of that is lost than the "
        "policy allows.",
        "Do not rely on what could not be judged: lost_column.",
    )
    assert first_page(Verdict.of("own 3", (lost,)), Evaluation(()), FACTS).unsettled == ()


def test_every_judged_privacy_metric_has_a_lamp() -> None:
    assert {criterion_of(name) for name in PRIVACY} == set(QUESTIONS)
    for name in PRIVACY:
        metric = REGISTRY[name]
        assert criterion_of(name) == (metric.risk if metric.pillar == "attack" else "copies"), name
    assert {criterion_of(name) for name in OF_THE_MOST_EXPOSED} == {"membership", "inference"}
    assert criterion_of("tstr") is None and criterion_of(None) is None and criterion_of("unknown") is None
    for path in packaged_policies().values():
        for rule in load_policy(path).rules:
            assert (criterion_of(rule.metric) is None) == (REGISTRY[rule.metric].family != "privacy")


@pytest.mark.parametrize("metric", [None, *PRIVACY])
def test_what_nobody_tried(metric: str | None) -> None:
    outcome = Measure(0.1)
    made = () if metric is None else (MetricResult(metric, "privacy", "synthetic", "lower", outcome),)
    found = " ".join(not_attacked(Evaluation(made)))
    assert ("No attack on this table" in found) == (metric is None)
    trains = metric is not None and {"retraining", "trainings"} & set(REGISTRY[metric].needs)
    assert ("Not tried: an attacker who can repeat the whole process." in found) == (metric is not None and not trains)
    failed = [replace(one, outcome=NotComputable("late", "timed_out")) for one in made]
    assert "No attack on this table" in " ".join(not_attacked(Evaluation(tuple(failed))))


def test_an_attack_that_takes_too_long_is_said_with_its_price() -> None:
    late = NotComputable("96 trainings of ctgan would take 9 h of one core or more", lacks="trainings")
    made = [MetricResult("membership", "privacy", "synthetic", "lower", Measure(0.1))]
    made += [MetricResult("membership_trained", "privacy", "synthetic", "lower", late)]
    found = " ".join(not_attacked(Evaluation(tuple(made))))
    assert "Not tried: an attacker who can repeat the whole process: 96 trainings of ctgan would take 9 h" in found


def test_attacks_on_a_sample_are_said() -> None:
    details = [{}, {"sampled": {"table": {"records": 3, "of": 9}}}]
    details += [{"sampled": {"train": {"records": asked, "of": 524_476}}} for asked in (20_000, 10_000)]
    made = [MetricResult(name, "privacy", "synthetic", "lower", Measure(0.1)) for name in list(PRIVACY)[:4]]
    results = [replace(one, outcome=Measure(0.1, details=more)) for one, more in zip(made, details, strict=True)]
    assert "the fewest on 10,000 of about 524,500" in " ".join(not_attacked(Evaluation(tuple(results))))
    assert "drawn at random" not in " ".join(not_attacked(Evaluation(tuple(results[:2]))))


@pytest.mark.parametrize("method", list(TRANSITIONS))
@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_draw_of_values_is_said_as_the_strategy_declares_it(method: str, order: str) -> None:
    transition = {"method": method, "order": order}
    text = said({"transition": transition, "synthesize": {"generator": "cart"}}, anonymized=an_anonymization())
    assert ("does not look at the real values" in text) == (not reads_originals(transition))
    taken = "The real values then" if (method, order) == ("original", "pre") else "Exact values"
    assert (text.index(taken) < text.index("A program learned")) == (order == "pre")


@pytest.mark.parametrize(
    ("sample", "share", "minimum"),
    [
        ({"method": "none", "beta": 0.1}, None, None),
        ({"method": "beta", "beta": 1.0}, None, None),
        ({"method": "beta", "beta": 0.1}, 10, None),
        ({"method": "simple", "beta": 0.5}, 50, None),
        ({"method": "stratified", "beta": 0.5}, 50, None),
        ({"method": "stratified", "beta": 0.5, "by": ["sex"], "minimum": 3}, 50, 3),
        ({"method": "stratified", "beta": 0.5, "minimum": 3}, 50, 3),
    ],
)
def test_the_sample_is_said(sample: dict[str, Any], share: int | None, minimum: int | None) -> None:
    text = said({"sample": sample})
    assert re.findall(r"(\d+) %", text) == ([] if share is None else [str(share)])
    assert re.findall(r"at least (\d+) of each", text) == ([] if minimum is None else [str(minimum)])
    assert ("All records that remained" in text) == (share is None)
    assert ("chance of" in text) == (sample["method"] == "beta" and share is not None)
    assert ("group of" in text) == (sample["method"] == "stratified")
    assert ("equal sex" in text) == ("by" in sample)


def test_each_step_is_said_where_it_was_made_and_only_there() -> None:
    bare = said({})
    assert "No column was made coarser" in bare and "Exact values" not in bare and "Nothing is proven" in bare
    made = an_anonymization(min_class_size=7, suppressed=0)
    text = said({}, anonymized=made)
    assert (
        "at least 7 records look alike in them: age and sex." in text
        and "Fewer than 10 records had to be left out" in text
    )
    assert "were left out" in said({}, anonymized=replace(made, suppressed=30, records=1000))
    assert "About 3 % of the records" in said({}, anonymized=replace(made, suppressed=30, records=1000))
    assert ("rule about" in text) == any("attribute" in model for model in made.models)
    assert "rule about" not in said({}, anonymized=replace(made, models=()))
    assert "No program wrote new rows" in said({"synthesize": {"generator": "none"}})
    assert "Differential privacy is claimed" in said({}, private=True) and "Differential" not in text


@pytest.mark.parametrize("identifiers", ["surrogate", "drop"])
def test_identifiers_are_said_as_they_are_written(identifiers: str) -> None:
    text = said({"output": {"identifiers": identifiers}})
    assert ("made-up values: number" in text) == (identifiers == "surrogate")
    assert ("were left out: number" in text) == (identifiers == "drop")
    assert "No column is marked" in said({}, table=replace(TABLE, identifiers=()))


def test_columns_left_as_they_are_without_those_whose_values_are_protected() -> None:
    assert "real values can come out: ward and cost." in said({})
    columns = [{"column": "cost", "method": "draw"}, {"column": "ward", "method": "keep"}]
    text = said({}, protected={"min_count": 5, "columns": columns})
    assert (
        "fewer than 5 people have were replaced, where there were any, in cost." in text and "come out: ward." in text
    )
    assert "No column was left without one of these steps" in said({}, table=replace(TABLE, as_they_are=()))


@pytest.mark.parametrize("anonymized", [True, False])
def test_columns_whose_values_no_step_changed_are_those_left_as_they_are(anonymized: bool) -> None:
    """Values of the source that only one person has come out of these columns alone."""
    roles = {"pid": Role.IDENTIFIER, "age": Role.QUASI_IDENTIFIER, "ward": Role.SENSITIVE, "cost": Role.INSENSITIVE}
    schema = Schema(tuple(Column(name, role, Kind.INTEGER) for name, role in roles.items()))
    source = Table(pd.DataFrame({name: np.r_[np.zeros(40), 9].astype(int) for name in roles}).astype("Int64"), schema)
    decided = ProtectOptions(columns={"cost": "keep"})
    done = protect(source.without_identifiers(), decided, np.random.default_rng(1))
    kept = [name for name in done.table.schema.names if 9 in set(done.table.frame[name])]
    facts = TableFacts.of(source, None, source, anonymized=anonymized)
    (text,) = (one for one in protection(facts, {}, None, False, done.result.to_json()) if "Left" in one)
    assert kept == ["cost"] and text.endswith("come out: cost.")
    assert facts.identifiers == ("pid",) and set(facts.generalized) == ({"age"} if anonymized else set())


def page(config: dict[str, Any], table: TableFacts = TABLE) -> Any:
    facts = RunFacts("visits", "2026-11-22", "the owner", config, table)
    return first_page(Verdict.of("own 3", ()), Evaluation(()), facts)


def test_table_and_decisions_are_said() -> None:
    found = page({})
    assert re.findall(NUMBER, found.table[0])[:2] == ["3,500", "4"]
    assert "2026-11-22" in found.table[0] and "visits" in found.table[0]
    assert [re.findall(NUMBER, text) for text in found.table[1:]] == [["5,000"], ["1,500"]]
    assert [re.findall(NUMBER, text) for text in page({}, replace(TABLE, control=0)).table[1:]] == [["5,000"], []]
    assert re.findall(NUMBER, page({}, replace(TABLE, rows=12344)).table[0])[0] == "12,340"
    assert [("own 3" in text, "the owner" in text) for text in found.decided] == [(True, True)]
    unsigned, signed = page({"roles": None}), page({"roles": {"decided_by": "A. Person", "date": "2026-11-20"}})
    assert (len(unsigned.decided), len(signed.decided)) == (1, 2)
    assert "A. Person" in signed.decided[1] and "2026-11-20" in signed.decided[1]
    assert len(unsigned.unsettled) == 1 and not signed.unsettled
    assert not re.search(r"\d", unsigned.unsettled[0])


def test_passes_are_counted() -> None:
    checks = (check("a"), check("b"), Check("c", "not judged", "m", applies=False), check("d", "review"))
    assert folded(Verdict.of("p", checks)) == "2 checks pass, 1 does not apply"
    assert folded(Verdict.of("p", checks[:1])) == "1 check passes"


VERDICTS = [
    Verdict.of("p", checks)
    for checks in (
        (),
        (check("dcr_share"),),
        (check("dcr_share", "block"),),
        (check("dcr_share", "review"), check("nndr", "review"), check("inference", "not judged", None)),
    )
]


def test_the_answer_counts_what_is_open() -> None:
    assert re.findall(r"\d+", answer(VERDICTS[3])) == ["2", "2", "1"]  # About people; of all, not met and not judged.
    assert [not re.search(r"\d", answer(verdict)) for verdict in VERDICTS[:2]] == [True, True]
    assert len({answer(verdict) for verdict in VERDICTS}) == len(VERDICTS)
    assert "must not leave" in answer(VERDICTS[2])


def every_sentence() -> list[str]:
    """The fixed sentences in their variants, with short column names."""
    sentences = [*map(answer, VERDICTS), *QUESTIONS.values(), *not_attacked(Evaluation(()))]
    one = MetricResult("linkability", "privacy", "synthetic", "lower", Measure(0.1))
    large = replace(one, outcome=Measure(0.1, details={"sampled": {"train": {"records": 9, "of": 10_000}}}))
    sentences += [*not_attacked(Evaluation((one,))), *not_attacked(Evaluation((large,)))]
    for metric, status, excess in itertools.product(
        PRIVACY, ("pass", "review", "not judged"), ((0.01, 0.1), (-0.2, -0.1), None)
    ):
        sentences += [one.sentence for one in lamps(Verdict.of("p", (check(metric, status, excess),)))]
    samples: list[dict[str, Any]] = [
        {"method": "stratified", "beta": 0.5, "minimum": 3},
        {"method": "beta", "beta": 0.1},
    ]
    for method, sample, private, made in itertools.product(TRANSITIONS, samples, (True, False), (True, False)):
        config = {"transition": {"method": method}, "sample": sample}
        sentences += protection(TABLE, config, an_anonymization() if made else None, private)
    for config in ({"roles": None}, {"roles": {"decided_by": "Ann", "date": "2026-11-20"}}):
        sentences += [*page(config).table, *page(config).decided]
    return list(dict.fromkeys(sentences))


def test_the_reading_grade_of_a_plain_and_of_a_hard_text() -> None:
    assert reading_grade("The cat sat on the mat.") == pytest.approx(0.39 * 6 + 11.8 - 15.59)
    assert reading_grade("Probabilistic disclosure limitation necessitates methodological sophistication.") > 20


def test_first_pages_are_easy_to_read() -> None:
    sentences = every_sentence()
    assert len(sentences) > 50
    assert reading_grade(" ".join(sentences)) < 8
    hard = {text: grade for text in sentences if (grade := reading_grade(text)) > 12}
    assert not hard


def test_no_code_and_no_long_number_in_the_first_page_of_every_policy() -> None:
    excess = (0.012345678, -0.0023456789, 0.0456789012)
    for path in packaged_policies().values():
        policy = load_policy(path)
        metrics = [
            MetricResult(rule.metric, REGISTRY[rule.metric].family, rule.stage, rule.direction, outcome)
            for rule in policy.rules
            for outcome in [Measure(0.123456789, 0.1111111, 0.22222222, 0.3333333, excess=excess)]
        ]
        verdict = judge(policy, Evaluation(tuple(metrics)), an_anonymization())
        words = [one.sentence for one in lamps(verdict)] + [one.message for one in verdict.checks]
        for text in words:
            assert not re.search(r"[{}\[\]]|None|True|False|nan|\w_\w|e[-+]\d", text), text
            for number in re.findall(r"\d[\d,.]*\d|\d", text):
                assert len(number.replace(",", "").replace(".", "").strip("0")) <= 4, text


def test_rows_that_broke_rules_between_columns_are_said() -> None:
    transition = {"method": "uniform", "order": "pre"}
    text = said({"constraints": [{"le": ["a", "b"]}, {"range": {"a": [0, 1]}}], "transition": transition})
    assert "Rows that broke one of 2 rules between columns were drawn again." in text
    assert "does not look at the real values" in text
    text = said({"constraints": [{"combinations": ["a", "b"]}], "transition": transition})
    assert "Rows that broke a rule between columns were drawn again." in text
    assert "only to see which of them occur together" in text


def test_people_who_are_alone_are_not_said_to_look_alike() -> None:
    alone = said({}, anonymized=an_anonymization(min_class_size=1))
    assert "Single records stay alone in these columns, coarse as they are: age and sex." in alone
    assert "look alike in them" not in alone and "alone" not in said({}, anonymized=an_anonymization(min_class_size=2))


def test_a_release_that_repeats_more_people_than_the_judged_tables_is_about_people() -> None:
    checks = [Check(f"{LIKE_FOLDS}: exact copies of people", "review", "found"), check("tstr", "review", None)]
    text = answer(Verdict.of("p", tuple(checks)))
    assert text.startswith(
        "People may be at risk: 1 rule about them is not met. The table is not good for everything: 1 "
    )
    assert "chance" not in text and concern(Verdict.of("p", tuple(checks))) == "unknown"


@pytest.mark.parametrize(
    ("metrics", "people", "use", "making"),
    [
        (["singling_out", "membership"], 2, 0, 0),
        (["tstr", "lost_column"], 0, 2, 0),
        (["tstr", "lost_column", "membership"], 1, 2, 0),
        ([None, "tstr"], 0, 1, 1),
        ([None, "membership"], 1, 0, 1),
        ([None], 0, 0, 1),
    ],
)
@pytest.mark.parametrize("status", ["review", "block"])
def test_what_is_not_met_is_about_people_or_about_use(
    metrics: list[str | None], people: int, use: int, making: int, status: Any
) -> None:
    verdict = Verdict.of("p", tuple(Check(str(name), status, "found", metric=name) for name in metrics))
    assert verdict.status == status
    said = answer(verdict)
    assert ("People may be at risk" in said) is (people > 0) and (f"{people} rule" in said or not people)
    assert ("not good for everything" in said) is (use > 0) and (f"{use} rule" in said or not use)
    assert ("how the table was made" in said) is (making > 0 and status == "review")
    assert concern(verdict) == ("unknown" if people else "use" if use else "making")


def test_a_question_about_people_that_was_not_answered_comes_before_all() -> None:
    checks = check("lost_column", "review", None), check("inference", "not judged", None)
    verdict = Verdict.of("p", checks)
    said = answer(verdict)
    assert said.startswith("Whether people are at risk is not known: 1 rule about them could not be judged.")
    assert said.endswith("You decide: release it, and to whom, or refuse. " + open_rules(verdict))
    assert concern(verdict) == "unknown" and concern(Verdict.of("p", (check("discriminator"),))) is None
    for rule in (f"{POWER}: near", f"{ALL_ROWS}: attacks"):
        assert concern(Verdict.of("p", (Check(rule, "not judged", "found"),))) == "unknown"
    unjudged = answer(Verdict.of("p", (check("lost_column", "not judged", None), check("singling_out"))))
    assert "What the table is good for is not known: 1 rule" in unjudged and "not good for everything" not in unjudged
    first = first_page(verdict, Evaluation(())).not_for[0]
    assert first.startswith("Do not put the table on the internet")
