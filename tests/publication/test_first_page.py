"""The first page: each sentence, over the configurations that change its truth."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import pytest

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.criteria import QUESTIONS, criterion_of
from hybrid.publication.first_page import ANSWERS, RunFacts, first_page, not_attacked
from hybrid.publication.gate import judge
from hybrid.publication.lamps import OF_THE_MOST_EXPOSED, Lamp, lamps
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Check, Verdict, folded
from hybrid.transition import REGISTRY as TRANSITIONS
from hybrid.transition import reads_originals
from tests.helpers.reading_grade import reading_grade
from tests.publication.conftest import an_anonymization

TABLE = TableFacts(5000, 1500, 3500, 4, ("number",), ("age", "sex"), ("ward", "cost"))
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


@pytest.mark.parametrize(
    ("metric", "high", "words"),
    [
        ("singling_out", 0.0085, "Of 1,000 tries to pick out one person, at most 9 more succeed"),
        ("singling_out", -0.0, "no more succeed"),
        ("linkability", 0.0123, "of at most 13 more records"),
        ("inference", 0.02, "the secrets of at most 20 more"),
        ("membership", 0.02, "at most 520 are right"),
        ("membership", 0.7, "at most 1,000 are right"),
        ("identical_match", 0.0011, "Of 1,000 rows, at most 2 more are equal"),
    ],
)
def test_upper_ends_are_rounded_up_to_frequencies(metric: str, high: float, words: str) -> None:
    assert words in lamp(str(criterion_of(metric)), check(metric, excess=(-0.1, high))).sentence


def test_the_widest_interval_counts_and_the_most_exposed_stand_apart() -> None:
    checks = [check("inference", excess=(-0.01, high)) for high in (0.01, 0.03)]
    exposed = check("inference_subgroups", excess=(-0.1, 0.2))
    sentence = lamp("inference", *checks, exposed).sentence
    assert "at most 30 more" in sentence and sentence.endswith(
        "For the people most at risk: at most 200 more of 1,000."
    )
    assert "most at risk" not in lamp("inference", *checks).sentence


@pytest.mark.parametrize(("excess", "certain"), [((0.001, 0.1), True), ((-0.001, 0.1), False)])
def test_more_than_chance_is_said_where_the_low_end_says_so(excess: tuple[float, float], certain: bool) -> None:
    assert (
        "more than chance explains." in lamp("linkability", check("linkability", excess=excess)).sentence
    ) == certain


def test_rows_that_keep_away_and_rows_too_close_are_said() -> None:
    away = lamp("membership", check("membership", "review", (-0.2, -0.1))).sentence
    assert "no more" not in away and "keep away" in away
    near = lamp("copies", check("identical_match"), check("dcr_share", "review", (0.04, 0.1))).sentence
    assert "Rows are closer to real records" in near and "keep away" not in near
    far = lamp("copies", check("dcr_share")).sentence
    assert far == "Rows are no closer to real records than the policy allows."


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
    trains = metric is not None and "retraining" in REGISTRY[metric].needs
    assert ("Nobody trained the program" in found) == (metric is not None and not trains)
    failed = [replace(one, outcome=NotComputable("late", "timed_out")) for one in made]
    assert "No attack on this table" in " ".join(not_attacked(Evaluation(tuple(failed))))


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
    ("sample", "words"),
    [
        ({"method": "none", "beta": 0.1}, "All records that remained were used"),
        ({"method": "beta", "beta": 1.0}, "All records that remained were used"),
        ({"method": "beta", "beta": 0.1}, "with a chance of 10 %"),
        ({"method": "simple", "beta": 0.5}, "50 % were drawn at random"),
        ({"method": "stratified", "beta": 0.5}, "In each group of look-alikes, 50 %"),
        ({"method": "stratified", "beta": 0.5, "by": ["sex"], "minimum": 3}, "group of equal sex, 50 % of the records"),
        ({"method": "stratified", "beta": 0.5, "minimum": 3}, "at least 3 of each group"),
    ],
)
def test_the_sample_is_said(sample: dict[str, Any], words: str) -> None:
    assert words in said({"sample": sample})


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
    assert "fewer than 5 people have were replaced in cost." in text and "come out: ward." in text
    assert "No column was left as it is" in said({}, table=replace(TABLE, as_they_are=()))


def page(config: dict[str, Any], table: TableFacts = TABLE) -> Any:
    facts = RunFacts("visits", "2026-11-22", "the owner", config, table)
    return first_page(Verdict.of("own 3", ()), Evaluation(()), facts)


def test_table_and_decisions_are_said() -> None:
    found = page({})
    assert "3,500 rows and 4 columns" in found.table[0] and "2026-11-22 under the name visits" in found.table[0]
    assert "about 5,000 records" in found.table[1] and "About 1,500 of these" in found.table[2]
    assert "None of these was kept apart" in " ".join(page({}, replace(TABLE, control=0)).table)
    assert "about 12,340 rows" in page({}, replace(TABLE, rows=12344)).table[0]
    assert found.decided == ("The limits are those of the policy own 3. Its owner: the owner.",)
    assert page({"roles": None}).decided[1] == "Nobody has put a name to what each column is."
    signed = page({"roles": {"decided_by": "A. Person", "date": "2026-11-20"}})
    assert signed.decided[1] == "A. Person decided what each column is, on 2026-11-20."


def test_passes_are_counted() -> None:
    checks = (check("a"), check("b"), Check("c", "not judged", "m", applies=False), check("d", "review"))
    assert folded(Verdict.of("p", checks)) == "2 checks pass, 1 does not apply"
    assert folded(Verdict.of("p", checks[:1])) == "1 check passes"


def every_sentence() -> list[str]:
    """The fixed sentences in their variants, with short column names."""
    sentences = [*ANSWERS.values(), *QUESTIONS.values(), *not_attacked(Evaluation(()))]
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
