"""Domains that are listed beforehand, for generators that must not take them from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError
from hybrid.base.rng import rng_for
from hybrid.hierarchy.load import listed_values
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.config_file import overridden
from hybrid.pipeline.privacy_statements import Explanation, StatementBasis, combined_explanation, explain_generator
from hybrid.synthesize import Encoding
from hybrid.synthesize.codec import Codec
from hybrid.table import Column, Kind, Role, Schema
from tests.synthesize.synthesize_tables import people, table_of


def test_listed_values_are_the_states_whether_they_occur_or_not():
    table = people(50).only(["job", "children", "ill"])
    jobs = np.array(["astronaut", "clerk", "nurse", "retired", "smith", "überprüferin"], dtype=object)
    domains = {"job": jobs, "children": np.arange(20)}
    codec = Codec(table, Encoding(listed_domains=True), domains)
    job, ill, children = codec.features
    assert (job.n_levels, job.public, job.missing) == (6, True, False)
    assert (children.n_levels, children.public, children.ordered, children.missing) == (21, True, True, True)
    assert not ill.public
    encoded = codec.encode(table, rng_for(1, "encode"))
    back = codec.decode(encoded.columns, len(table))
    assert back.frame["job"].tolist() == table.frame["job"].tolist()
    pd.testing.assert_series_equal(back.frame["children"], table.frame["children"])
    drawn = codec.decode([np.zeros(1, dtype=np.int32), encoded.columns[1][:1], np.full(1, 19, dtype=np.int32)], 1)
    assert drawn.frame["job"][0] == "astronaut" and drawn.frame["children"][0] == 19
    assert not Codec(table, Encoding(), domains).features[0].public


def test_values_outside_their_domain_are_an_error_without_the_value():
    table = table_of({"job": (Kind.CATEGORICAL, pd.Series(["clerk", "alice"]))})
    with pytest.raises(DataError, match="'job': 1 values are not in its listed domain") as caught:
        Codec(table, Encoding(listed_domains=True), {"job": np.array(["clerk"], dtype=object)})
    assert "alice" not in str(caught.value)


def test_only_files_that_name_every_value_list_a_domain(tmp_path):
    table = people(30).only(["age", "job", "children"])
    (tmp_path / "age.yaml").write_text("type: intervals\nwidths: [10]\n")
    (tmp_path / "job.yaml").write_text("type: tree\ntree: {work: [clerk, nurse, smith, astronaut], rest: [retired]}\n")
    (tmp_path / "children.csv").write_text("".join(f"{n},*\n" for n in range(12)))
    paths = {"age": "age.yaml", "job": "job.yaml", "children": "children.csv"}
    found = listed_values(table.schema, {name: tmp_path / file for name, file in paths.items()})
    assert set(found) == {"job", "children"}
    assert "astronaut" in found["job"] and found["children"].tolist() == list(range(12))


CONTENT: dict[str, Any] = {
    "data": {"path": "people.csv", "columns": {"who": {"role": "identifier"}}},
    "protect": "off",
    "synthesize": {"generator": "mst", "options": {"epsilon": 1.0, "delta": 1e-6}},
}
SCHEMA = Schema((Column("cost", Role.INSENSITIVE, Kind.INTEGER),))


def claimed(values: Mapping[str, Any], listed: Sequence[str] = ("cost",), weighed: bool = False) -> Explanation:
    weight = [Column("weight", Role.WEIGHT, Kind.DECIMAL)] if weighed else []
    config = RunConfig.model_validate(overridden(CONTENT, values))
    found = explain_generator(StatementBasis(config, Schema((*SCHEMA, *weight))), (*listed, "weight"))
    assert found is not None
    return found


def test_a_claim_needs_listed_domains_and_an_untouched_table():
    claim = claimed({})
    assert claim.holds and "epsilon = 1 and delta = 1e-06" in claim.text and "for one training record" in claim.text
    void = claimed({"protect": {}}, listed=())
    assert not void.holds and "no differential privacy is claimed" in void.text and "'cost'" in void.text
    assert [condition.met for condition in void.conditions] == [True, True, False, False]
    assert "What is left" in void.text
    seeded = claimed({"synthesize": {"generator": "privbayes", "options": {"epsilon": 1.0}}})
    assert not seeded.holds and "What is left" not in seeded.text
    assert combined_explanation([void, claim]).holds and not combined_explanation([void]).holds


@pytest.mark.parametrize(
    ("values", "weighed"),
    [
        ({"data.person": "who"}, False),
        ({}, True),
        ({"synthesize.where": "cost > 1"}, False),
        ({"synthesize.filter": {"below": 0.1}}, False),
    ],
    ids=["several rows", "calibrated", "counted", "filtered"],
)
def test_each_reason_alone_voids_the_claim(values, weighed):
    void = claimed(values, weighed=weighed)
    assert not void.holds and [condition.met for condition in void.conditions] == [True] * 4 + [False]
