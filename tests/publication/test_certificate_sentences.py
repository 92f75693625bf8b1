"""Every sentence of a certificate without a differentially private mode has a test that fails if it is false."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from hybrid.anonymize.result import K_ANONYMITY, NO_PROMISE, AnonymizationResult
from hybrid.base.sentence import Sentence, templates
from hybrid.evaluation.measure import AllRows, Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.guarantee import WHITE_BOX, guarantee_sentence
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import TableFacts
from tests.publication.certificate_sentences import FALSIFIERS
from tests.publication.conftest import an_anonymization, an_evaluation
from tests.publication.falsifiers import key_of, no_tests

Content = dict[str, Any]
STATED = ("guarantee.", "protection.", "technique.", "named.", "crossed.measured")
"""Beginnings of the names of all that guarantee and protection state."""


def step(name: str, promise: str = NO_PROMISE, facts: Content | None = None, **options: Any) -> Content:
    return {"options": {"name": name, **options}, "columns": ["Age", "Pay"], "promise": promise, "facts": facts or {}}


STEPS: tuple[tuple[Content, ...], ...] = (
    (step("generalization", K_ANONYMITY),),
    (step("generalization", K_ANONYMITY), step("noise")),
    (step("suppression", K_ANONYMITY),),
    (step("microaggregation", K_ANONYMITY),),
    (step("microaggregation", K_ANONYMITY, {"parts": 4}, closeness="first"),),
    (step("coding"), step("coding", facts={"holders": 5, "emptied": ["Pay"]})),
    (step("rank_swapping", facts={"changed": {"Age": 0.9}}), step("rank_swapping")),
    (step("noise", kind="multiplicative", limits={"Age": [0, 90]}), step("noise", correlated=False)),
    (step("pram", facts={"epsilon": {"Age": 2.0}}, invariant=False), step("pram")),
    ({"options": {"name": "of another version"}, "promise": NO_PROMISE},),
)
PERSONS = {"rows_are_persons": False, "persons": 300, "min_class_persons": 5}
DRAWN = {"drawn": 400, "drawn_persons": 120}
CHANGES: tuple[Content, ...] = (
    {},
    {"suppressed": 0, "verified": {}, "levels": None},
    {"suppressed": 3, "models": ()},
    {"min_class_size": 1},
    {"rows_are_persons": False, "persons": 300, "min_class_persons": 1},
    {"suppressed": 0, "steps": (step("noise", K_ANONYMITY),)},
    {"coarsened": 30, "population_risk": {"risk_mean": 0.01, "risk_max": 0.1}},
    {"household": {"households": 400.0, "risk_mean": 0.3, "risk_max": 0.61}},
    {**PERSONS, "suppressed_persons": 3},
    {**PERSONS, "suppressed_persons": 60, "known_rows": 2},
    {**PERSONS, **DRAWN, "suppressed_persons": 60},
    DRAWN,
    *({"steps": steps} for steps in STEPS),
)
VISITS = an_anonymization(**PERSONS, suppressed_persons=60, with_above=True)
DRUGS = an_anonymization(**PERSONS, suppressed=3, known_rows=2, with_above=True)
CHANGES += ({"below": {"visits": VISITS}}, {"below": {"visits": VISITS, "drugs": DRUGS}})
RESULTS: tuple[AnonymizationResult | None, ...] = (None, *(an_anonymization(**changes) for changes in CHANGES))
PERSON: Content = {"data": {"person": "patient"}, "synthesize": {"generator": "cart"}}
LINKED: Content = {"person": "patients", "tables": {"patients": {"household": "home"}, "visits": {}}}
RULES = [{"le": ["a", "b"]}, {"range": {"a": [0, 1]}}]
CONFIGS: tuple[Content, ...] = (
    {},
    *({"transition": {"method": method, "order": order}}
      for method in ("original", "conditional", "uniform") for order in ("pre", "post")),
    *({"sample": {"method": method, "beta": 0.5, **more}} for method, more in (
        ("beta", {}), ("beta", {"order": "pre"}), ("simple", {}), ("simple", {"order": "pre"}),
        ("stratified", {}), ("stratified", {"minimum": 3}),
        ("stratified", {"by": ["Sex"], "allocation": "proportional"}),
        ("stratified", {"by": ["Sex", "Age"], "allocation": "proportional", "minimum": 3}),
    )),
    {"synthesize": {"generator": "none"}, "constraints": RULES},
    {"synthesize": {"generator": "cart"}, "constraints": [{"combinations": ["a", "b"]}],
     "transition": {"method": "uniform"}},
    {"synthesize": {"generator": "cart", "where": "age > 60", "balance": {"column": "Sex"}}},
    *({"synthesize": {"generator": "cart", "filter": {"score": "alpha", "action": action}}}
      for action in ("drop", "regenerate")),
    {"margins": {"totals": {"Sex": "sex.csv"}, "most": 0.01}},
    {"protect": {"min_count": 7}, "split": {"control": "cross"}},
    {"protect": {"columns": {"Ward": "keep"}}},
    PERSON,
    PERSON | {"output": {"identifiers": "drop"}, "protect": {}},
    PERSON | {"synthesize": {"generator": "none"}},
    PERSON | {"synthesize": {"generator": "none"}, "output": {"identifiers": "drop"}},
    PERSON | {"synthesize": {"generator": "cart", "where": "age > 60"}},
    LINKED | {"protect": {}},
    *(LINKED | {"synthesize": {"where": "age > 60", "filter": {"score": "alpha", "action": action}}}
      for action in ("drop", "regenerate")),
    {"data": {"household": "home"}},
    {"split": {"rows": 2000}},
    LINKED | {"split": {"rows": 2000}},
)  # fmt: skip
WAYS = (
    {"column": "Ward", "method": "keep"},
    {"column": "Cost", "method": "sample"},
    {"column": "Age", "method": "below labels"},
)
PROTECTED: tuple[Content | None, ...] = (None, {"min_count": 5, "columns": list(WAYS)})
TABLES = (
    TableFacts(5000, 1500, 3500, 4, ("Number",), ("Age", "Sex"), ("Ward", "Cost")),
    TableFacts(5000, 1500, 3500, 4, (), ("Age",), ()),
)


def white_box(outcome: Measure | NotComputable) -> Evaluation:
    return Evaluation((MetricResult(WHITE_BOX, "privacy", "synthetic", "lower", outcome),))


EVALUATIONS = (
    Evaluation(()),
    an_evaluation(),
    white_box(Measure(0.7, 0.6, 0.8)),
    white_box(NotComputable("no attack here asks a model of ctgan about people", lacks="model")),
    replace(an_evaluation(), all_rows=AllRows(10**8, 10**6, 10_000, 3, 5_000, 4)),
)


def stated(content: object) -> Iterator[Sentence]:
    """Statements in a text and in its facts."""
    if isinstance(content, tuple):
        for one in content:
            yield from stated(one)
    elif isinstance(content, Sentence):
        if content.template.startswith(STATED):
            yield content
        yield from stated(tuple(content.facts.values()))


Run = frozenset[str]
"""Templates of all statements about one run."""


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """What certificates state of runs that differ from another in one fact."""
    of_runs = product(RESULTS, CONFIGS, (True, False))
    said = [guarantee_sentence(result, config, Evaluation(()), private=claim) for result, config, claim in of_runs]
    said += [guarantee_sentence(None, {}, evaluation) for evaluation in EVALUATIONS]
    of_runs = product(RESULTS, CONFIGS, TABLES, PROTECTED)
    steps = [tuple(protection(table, config, one, one is None, rare)) for one, config, table, rare in of_runs]
    return [frozenset(one.template for one in stated(content)) for content in (*said, *steps)]


def test_every_statement_has_tests_that_fail_if_it_is_false(runs: list[Run]) -> None:
    said = frozenset.union(*runs)
    assert {key_of(name, FALSIFIERS) for name in said} == set(FALSIFIERS)
    assert not no_tests(FALSIFIERS)


def test_every_statement_of_the_languages_is_made_of_some_runs_and_not_of_others(runs: list[Run]) -> None:
    """One fact decides: of two runs that differ in it alone, it is said of one."""
    named = {name for name in templates("en") if name.startswith(STATED)}
    assert named == frozenset.union(*runs) and not frozenset.intersection(*runs)


def test_nothing_is_said_but_statements() -> None:
    for result, config in product(RESULTS, CONFIGS):
        texts = (guarantee_sentence(result, config, an_evaluation()), *protection(TABLES[0], config, result, False))
        assert all(isinstance(part, Sentence) for text in texts for part in parts_of(text)), texts


def parts_of(text: object) -> Iterator[object]:
    """Sentences that stand one after another in a text."""
    if isinstance(text, Sentence) and text.template == "then":
        for part in text.facts["parts"]:
            yield from parts_of(part)
    else:
        yield text


def test_what_is_claimed_is_not_rounded() -> None:
    local = (step("pram", facts={"epsilon": {"Age": 2.07953}}, invariant=False),)
    said = guarantee_sentence(an_anonymization(steps=local), {}, Evaluation(()))
    assert "epsilon = 2.07953 and" in said
    config = {
        "sample": {"method": "beta", "beta": 0.123456},
        "margins": {"totals": {"Sex": "sex.csv"}, "most": 0.0123456},
    }
    said = guarantee_sentence(an_anonymization(), config, Evaluation(()))
    assert "with probability 0.123456;" in said and "by more than 1.23456 %" in said


def test_counts_in_statements_are_rounded() -> None:
    """No exact number of people or records is stated, or among the facts that a certificate keeps."""
    found = an_anonymization(rows_are_persons=False, persons=1503, suppressed=61, suppressed_persons=63)
    for text in (guarantee_sentence(found, PERSON, Evaluation(())), *protection(TABLES[0], PERSON, found, False)):
        for one in stated(text):
            known = f"{one} {[fact for fact in one.facts.values() if not isinstance(fact, Sentence)]}"
            assert not {"1503", "61", "63"} & set(re.findall(r"\d+", known.replace(",", ""))), one
