"""Every sentence of a certificate without a differentially private mode has a test that fails if it is false."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from hybrid.anonymize.result import K_ANONYMITY, NO_PROMISE, AnonymizationResult
from hybrid.anonymize.techniques import (
    coding,
    generalization,
    loss,
    microaggregation,
    noise,
    pram,
    rank_swapping,
    suppression,
)
from hybrid.evaluation.measure import AllRows, Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication import guarantee, protection_words
from hybrid.publication.guarantee import WHITE_BOX, guarantee_sentence
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import TableFacts
from tests.publication.certificate_sentences import FALSIFIERS
from tests.publication.conftest import an_anonymization, an_evaluation
from tests.publication.falsifiers import faults, sentences

Content = dict[str, Any]
MODULES = (
    guarantee,
    protection_words,
    coding,
    generalization,
    loss,
    microaggregation,
    noise,
    pram,
    rank_swapping,
    suppression,
)
OTHERS = ("loss_sentence",)
"""Functions whose texts are on no certificate."""
OF_TECHNIQUES = ("words", "changed_words")


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
        ("beta", {}), ("beta", {"order": "pre"}), ("simple", {}), ("stratified", {}), ("stratified", {"minimum": 3}),
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
    LINKED | {"synthesize": {"where": "age > 60", "filter": {"score": "alpha", "action": "drop"}}},
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


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """What certificates of every configuration that changes it say."""
    of_runs = product(RESULTS, CONFIGS, (True, False))
    said = [guarantee_sentence(result, config, Evaluation(()), private=claim) for result, config, claim in of_runs]
    said += [guarantee_sentence(None, {}, evaluation) for evaluation in EVALUATIONS]
    for result, config, table, protected in product(RESULTS, CONFIGS, TABLES, PROTECTED):
        said += protection(table, config, result, result is None, protected)
    return sorted(set(said))


@pytest.fixture(scope="module")
def said(texts: list[str]) -> set[str]:
    return {sentence for text in texts for sentence in sentences(text)}


def test_the_table_has_every_sentence_with_its_tests(said: set[str]) -> None:
    assert faults(said, FALSIFIERS) == []


def literals(module: ModuleType) -> set[str]:
    """Texts of two words and more that a module can put into a sentence: of a technique, those that describe it."""
    tree = ast.parse(inspect.getsource(module))
    if "techniques" in module.__name__:
        inside = (part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef))
        parts: list[ast.stmt] = [part for part in inside if part.name in OF_TECHNIQUES]
    else:
        parts = [part for part in tree.body if not isinstance(part, ast.FunctionDef) or part.name not in OTHERS]
    nodes = [one for part in parts for one in ast.walk(part)]
    notes = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
    found = (one.value for one in nodes if isinstance(one, ast.Constant) and id(one) not in notes)
    return {text.strip() for text in found if isinstance(text, str) and len(text.split()) > 1}


def test_the_configurations_bring_out_every_text_of_the_modules(texts: list[str]) -> None:
    together = "\n".join(texts)
    found = {text for module in MODULES for text in literals(module)}
    assert len(found) > 150
    assert sorted(text for text in found if text not in together) == []
