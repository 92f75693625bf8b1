"""The statement about a sample's labels: each condition, and the sentences that go with them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from hybrid.base.language import catalogue
from hybrid.pipeline.amplification import delta_of_large_class, delta_of_sampling_last
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.config_file import overridden
from hybrid.pipeline.privacy_statements import StatementBasis
from hybrid.pipeline.promises import promises
from hybrid.pipeline.sampled_labels import explain
from hybrid.sample import SampleOptions
from hybrid.table import Column, Kind, Role, Schema
from hybrid.transition import REGISTRY
from tests.transition.choices import CHOICES

SCHEMA = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.INTEGER) for name in "ab"))
CONTENT = {
    "version": 1,
    "data": {"path": "people.csv", "columns": {"who": {"role": "identifier"}, "home": {"role": "identifier"}}},
    "protect": "off",
    "anonymize": {"k": 20, "levels": {"a": 1, "b": 2}, "suppression_limit": 1.0, "beforehand": "code book of 2019"},
    "sample": {"method": "beta", "beta": 0.1, "order": "pre"},
    "transition": {"method": "uniform"},
    "synthesize": {"generator": "none"},
}
K = 20
GERMAN = catalogue("de")


def basis(values=(), **about) -> StatementBasis:
    """Steps that meet every condition, with other values for some keys, and other facts."""
    return replace(StatementBasis(RunConfig.model_validate(overridden(CONTENT, dict(values))), SCHEMA), **about)


LAST = {"sample.order": "post"}
SEARCHED = {"anonymize": {"k": 20}}
GENERATED = {"synthesize.generator": "cart", "synthesize.rows": 100}
BROKEN = {
    "one column without level": ({"anonymize.levels": {"a": 1}}, {}),
    "limited suppression": ({"anonymize.suppression_limit": 0.5}, {}),
    "nobody states where levels come from": ({"anonymize.beforehand": None}, {}),
    "exact size": ({"sample.method": "simple"}, {}),
    "minimum": ({"sample.method": "stratified", "sample.by": ["a"], "sample.minimum": 2}, {}),
    "sampled last": (LAST, {}),
    "another column": ({}, {"schema": Schema((*SCHEMA, Column("c", Role.SENSITIVE, Kind.INTEGER)))}),
    "reads originals": ({"transition.method": "learned"}, {}),
    "seeded": ({}, {"seeded": True}),
    "rows of records": (GENERATED | {"synthesize.rows": "same"}, {}),
    "protected": ({"protect": {}}, {}),
    "several rows": ({"data.person": "who"}, {}),
    "nameless": ({}, {"nameless": True}),
    "households": ({"data.household": "home"}, {}),
    "counted": (GENERATED | {"synthesize.where": "a > 1"}, {}),
    "filtered": (GENERATED | {"synthesize.filter": {"below": 0.1}}, {}),
    "fitted": ({"constraints": [{"le": ["a", "b"]}]}, {}),
    "domain from records": ({}, {"from_records": ["a"]}),
}


def test_explains_what_holds():
    said = explain(basis())
    assert said.holds and all(condition.met for condition in said.conditions)
    assert [one.delta <= delta for one, delta in zip(said.guarantees, (1e-6, 1e-9), strict=True)] == [True, True]
    assert f"{said.guarantees[0].epsilon:.4g}" in said.text and "code book of 2019" in said.text
    assert "code book of 2019" in GERMAN.say(said.text)
    unreachable = explain(basis({"anonymize.k": 5}))
    assert unreachable.guarantees == () and "no epsilon" in unreachable.text


@pytest.mark.parametrize(("values", "about"), BROKEN.values(), ids=BROKEN)
def test_each_condition_alone_voids_the_statement(values, about):
    said = explain(basis(values, **about))
    assert not said.holds and said.guarantees == ()
    (missing,) = (condition.text for condition in said.conditions if not condition.met)
    assert missing in said.text and "No differential privacy" in said.text
    assert GERMAN.say(missing) in GERMAN.say(said.text)


def test_without_sampling_nothing_is_stated():
    said = explain(basis({"sample.beta": 1.0}))
    assert not said.holds and "epsilon" not in said.text


def test_the_opposite_order_has_its_delta():
    said = explain(basis(LAST))
    assert f"{delta_of_sampling_last(20, 0.1):.3g}, and never without one of them" in said.text
    assert "epsilon" not in explain(basis(LAST | SEARCHED)).text


def test_members_of_large_classes_have_their_numbers():
    text = explain(basis(LAST)).text
    assert "für Klassen ab" in GERMAN.say(text)
    stated = [
        (float(e), int(size)) for e, size in re.findall(r"epsilon = ([\d.]+) for classes of at least (\d+)", text)
    ]
    assert [epsilon for epsilon, _ in stated] == [0.5, 1.0, 2.0]
    for epsilon, size in stated:
        assert size > K and delta_of_large_class(size, 0.1, epsilon) <= 1e-6
        assert size == K + 1 or delta_of_large_class(size - 1, 0.1, epsilon) > 1e-6


@pytest.mark.parametrize(("values", "about"), [one for name, one in BROKEN.items() if name != "sampled last"], ids=str)
def test_members_of_large_classes_have_none_where_anything_else_is_unmet(values, about):
    assert "large classes" in explain(basis(LAST)).text
    assert "large classes" not in explain(basis(values | LAST, **about)).text


def test_chosen_levels_are_said_to_turn_the_labels_of_others():
    assert "aller anderen verändern" in GERMAN.say(explain(basis(LAST | SEARCHED)).text)
    assert "turn the labels of all others" in explain(basis(LAST | SEARCHED)).text
    assert "turn the labels of all others" not in explain(basis(LAST)).text


@pytest.mark.parametrize(
    ("values", "about", "deniable"),
    [
        ({}, {}, True),
        (LAST, {}, True),
        (SEARCHED, {}, True),
        (*BROKEN["another column"], False),
        (GENERATED | LAST, {}, False),
        (*BROKEN["reads originals"], False),
        (*BROKEN["minimum"], False),
    ],
    ids=str,
)
def test_plausible_deniability_is_stated_only_of_rows_made_from_labels_alone(values, about, deniable):
    text = explain(basis(values, **{"seeded": True} | about)).text
    assert ("plausible deniability among 20 records" in text) == deniable
    assert ("among 20 records before sampling" in text) == (values == LAST)
    assert ("only records that agree in these, too" in text) == ("schema" in about)


def test_what_a_search_discloses_is_stated_unless_levels_are_fixed():
    unsampled = {"sample.method": "none", "sample.order": "post"}
    ways = SEARCHED, SEARCHED | {"anonymize.recoding": "local"}, {}
    said = [explain(basis(unsampled | values)).text for values in ways]
    assert ["downcoding" in text for text in said] == [True, True, False]


EVERY_SAMPLE = [
    SampleOptions(method=method, beta=beta, allocation=allocation, minimum=minimum, by=["a"], order=order)
    for method, allocation, order in product(
        *(get_args(SampleOptions.model_fields[name].annotation) for name in ("method", "allocation", "order"))
    )
    for minimum in (0, 5)
    for beta in (0.1, 0.5, 0.9, 1.0)
]


@pytest.mark.parametrize("sample", EVERY_SAMPLE, ids=lambda one: "-".join(map(str, one.model_dump().values())))
def test_the_words_of_what_is_left_are_true_of_every_sampling(sample):
    searched = basis(SEARCHED | {"anonymize.k": 5, "transition.method": "learned"}, from_records=["a"])
    text = explain(replace(searched, config=searched.config.model_copy(update={"sample": sample}))).text
    everybody_used = sample.method == "none" or sample.beta == 1
    small_strata_kept_whole = sample.method == "stratified" and sample.minimum > 0
    # 5 of 5 records of a class of five are kept: presence is no secret, whatever beta says.
    unsure = not everybody_used and not small_strata_kept_whole and sample.beta <= 0.5
    assert ("it cannot be determined whether a given person is among the records" in text) == unsure
    assert (f"with a probability of about {sample.beta:g}" in text) == unsure
    assert "most likely not" not in text
    first = sample.order == "pre" and not everybody_used
    # k counts the records before sampling, so that it holds afterwards only if nothing is left out after it.
    assert ("down to a single one" in text) == (not everybody_used and not first)
    table = "anonymized sample" if first else "anonymized table"
    assert f"in the {table} every combination of labels is shared by at least 5 records" in text


def test_values_taken_from_the_records_are_named():
    said = explain(basis(from_records=["zip", "age"]))
    assert "listed beforehand in a hierarchy file (not so: 'zip', 'age')" in said.text


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize(("name", "options"), CHOICES)
def test_the_condition_on_original_values_is_met_exactly_where_the_strategy_says_so(name, options, order):
    config = RunConfig.model_validate(
        {
            "version": 1,
            "data": {"path": "people.csv"},
            "anonymize": {"k": 5},
            "transition": {"method": name, "order": order, **options},
            "synthesize": {"generator": "none"},
        }
    )
    said, *_ = promises(StatementBasis(config, SCHEMA), ())
    met = {condition.text: condition.met for condition in said.conditions}
    strategy = REGISTRY[name]
    reads = strategy.reads_originals(strategy.Options(**options))
    assert met["the transition reads no original value beyond the domain of its column"] != reads
