"""The statement about a sample's labels: each condition, and the sentences that go with them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.pipeline.amplification import delta_of_large_class, delta_of_sampling_last
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.guarantees import promises
from hybrid.pipeline.sampled_labels import StatementBasis, explain
from hybrid.sample import SampleOptions
from hybrid.table import Column, Kind, Role, Schema
from hybrid.transition import REGISTRY
from tests.transition.choices import CHOICES

SCHEMA = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.INTEGER) for name in "ab"))
FIXED = AnonymizeOptions(k=20, levels={"a": 1, "b": 2}, suppression_limit=1.0, beforehand="code book of 2019")
FIRST = SampleOptions(method="beta", beta=0.1, order="pre")
MET = StatementBasis(FIXED, FIRST, SCHEMA, reads_originals=False)
BROKEN = {
    "one column without level": {"anonymize": FIXED.model_copy(update={"levels": {"a": 1}})},
    "limited suppression": {"anonymize": FIXED.model_copy(update={"suppression_limit": 0.5})},
    "nobody states where levels come from": {"anonymize": FIXED.model_copy(update={"beforehand": None})},
    "exact size": {"sample": FIRST.model_copy(update={"method": "simple"})},
    "minimum": {"sample": SampleOptions(method="stratified", by=["a"], beta=0.1, minimum=2, order="pre")},
    "sampled last": {"sample": FIRST.model_copy(update={"order": "post"})},
    "another column": {"schema": Schema((*SCHEMA, Column("c", Role.SENSITIVE, Kind.INTEGER)))},
    **{
        flag: {flag: True}
        for flag in (
            *("reads_originals", "seeded", "rows_of_records", "protected", "several_rows", "nameless", "households"),
            *("counted", "filtered", "fitted"),
        )
    },
    "domain from records": {"from_records": ["a"]},
}


def test_explains_what_holds():
    said = explain(MET)
    assert said.holds and all(condition.met for condition in said.conditions)
    assert [one.delta <= delta for one, delta in zip(said.guarantees, (1e-6, 1e-9), strict=True)] == [True, True]
    assert f"{said.guarantees[0].epsilon:.4g}" in said.text and "code book of 2019" in said.text
    unreachable = explain(replace(MET, anonymize=FIXED.model_copy(update={"k": 5})))
    assert unreachable.guarantees == () and "no epsilon" in unreachable.text


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_each_condition_alone_voids_the_statement(change):
    said = explain(replace(MET, **change))
    assert not said.holds and said.guarantees == ()
    (missing,) = (condition.text for condition in said.conditions if not condition.met)
    assert missing in said.text and "No differential privacy" in said.text


def test_without_sampling_nothing_is_stated():
    said = explain(replace(MET, sample=FIRST.model_copy(update={"beta": 1.0})))
    assert not said.holds and "epsilon" not in said.text


def test_the_opposite_order_has_its_delta():
    said = explain(replace(MET, sample=FIRST.model_copy(update={"order": "post"})))
    assert f"{delta_of_sampling_last(20, 0.1):.3g}, and never without one of them" in said.text
    searched = {"sample": FIRST.model_copy(update={"order": "post"}), "anonymize": AnonymizeOptions(k=20)}
    assert "epsilon" not in explain(replace(MET, **searched)).text


LAST = {"sample": FIRST.model_copy(update={"order": "post"})}


def test_members_of_large_classes_have_their_numbers():
    text = explain(replace(MET, **LAST)).text
    stated = [
        (float(e), int(size)) for e, size in re.findall(r"epsilon = ([\d.]+) for classes of at least (\d+)", text)
    ]
    assert [epsilon for epsilon, _ in stated] == [0.5, 1.0, 2.0]
    for epsilon, size in stated:
        assert size > MET.k and delta_of_large_class(size, 0.1, epsilon) <= 1e-6
        assert size == MET.k + 1 or delta_of_large_class(size - 1, 0.1, epsilon) > 1e-6


@pytest.mark.parametrize("change", [one for name, one in BROKEN.items() if name != "sampled last"], ids=str)
def test_members_of_large_classes_have_none_where_anything_else_is_unmet(change):
    assert "large classes" in explain(replace(MET, **LAST)).text
    order = {"sample": change["sample"].model_copy(update={"order": "post"})} if "sample" in change else LAST
    assert "large classes" not in explain(replace(MET, **change | order)).text


def test_chosen_levels_are_said_to_turn_the_labels_of_others():
    searched = AnonymizeOptions(k=20)
    assert "turn the labels of all others" in explain(replace(MET, anonymize=searched, **LAST)).text
    assert "turn the labels of all others" not in explain(replace(MET, **LAST)).text


@pytest.mark.parametrize(
    ("change", "deniable"),
    [
        ({}, True),
        (LAST, True),
        ({"anonymize": AnonymizeOptions(k=20)}, True),
        (BROKEN["another column"], False),
        ({"generated": True, **LAST}, False),
        (BROKEN["reads_originals"], False),
        (BROKEN["filtered"], False),
        (BROKEN["minimum"], False),
    ],
    ids=str,
)
def test_plausible_deniability_is_stated_only_of_rows_made_from_labels_alone(change, deniable):
    text = explain(replace(MET, **{"seeded": True} | change)).text
    assert ("plausible deniability among 20 records" in text) == deniable
    assert ("among 20 records before sampling" in text) == (change == LAST)
    assert ("only records that agree in these, too" in text) == (change == BROKEN["another column"])


def test_what_a_search_discloses_is_stated_unless_levels_are_fixed():
    searched = AnonymizeOptions(k=5), AnonymizeOptions(k=5, recoding="local")
    fixed = AnonymizeOptions(k=5, levels=dict.fromkeys(SCHEMA.quasi_identifiers, 1))
    said = [
        explain(StatementBasis(options, SampleOptions(method="none"), SCHEMA, reads_originals=True)).text
        for options in (*searched, fixed)
    ]
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
    text = explain(StatementBasis(AnonymizeOptions(k=5), sample, SCHEMA, reads_originals=True, from_records=["a"])).text
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
    said = explain(replace(MET, from_records=["zip", "age"]))
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
    said, *_ = promises(config, SCHEMA, (), (), nameless=False, seeded=False)
    met = {condition.text: condition.met for condition in said.conditions}
    strategy = REGISTRY[name]
    reads = strategy.reads_originals(strategy.Options(**options))
    assert met["the transition reads no original value beyond the domain of its column"] != reads
