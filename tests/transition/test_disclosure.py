"""What a transition gives away, counted by hand and against what Uniform really hits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.hierarchy.build import from_rows
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY
from hybrid.transition.disclosure import give_away
from tests.transition.choices import restore
from tests.transition.transition_tables import mixed_table, thesis_table


def test_counted_by_hand():
    anonymized = thesis_table()  # ages 21 21 23 28 22, jobs N N D N D
    frame = pd.DataFrame({"age": pd.array([21, 22, 23, 25, 22], "Int64"), "job": pd.Categorical(list("NNDND"))})
    frame["job"] = frame["job"].cat.rename_categories({"N": "Nurse", "D": "Doctor"})
    given = give_away(anonymized, Table(frame, anonymized.originals.schema), same_records=True)
    assert given.per_attribute["age"].share == pytest.approx(3 / 5)
    assert given.per_attribute["age"].chance == pytest.approx(1 / 10)
    assert given.per_attribute["job"].share == 1.0
    assert given.per_attribute["job"].chance == pytest.approx(1 / 2)
    assert (given.joint.share, given.joint.chance) == (pytest.approx(3 / 5), pytest.approx(1 / 20))
    assert (given.k, given.groups) == (1, 5)
    # Rows (21, N), (23, D) and (22, D) are original; (22, N) and (25, N) are not.
    assert (given.known_combinations, given.reappearing_rows, given.reappearing_records) == (3, 3, 3)


@pytest.mark.parametrize("local", [False, True])
def test_uniform_hits_what_chance_says(local):
    anonymized = mixed_table(6000, seed=4, local=local)
    given = give_away(anonymized, restore(anonymized, "uniform", {}).table, same_records=True)
    for hits in [*given.per_attribute.values(), given.joint]:
        spread = np.sqrt(max(hits.chance * (1 - hits.chance), 1 / 6000) / 6000)
        assert abs(hits.share - hits.chance) < 4 * spread


def test_nothing_restored_gives_everything_away():
    anonymized = mixed_table(200)
    given = give_away(anonymized, anonymized.originals, same_records=True)
    assert given.joint.share == 1.0
    assert given.reappearing_rows == given.records == given.known_combinations == 200
    distinct = anonymized.originals.frame.drop_duplicates()
    assert given.reappearing_records == len(distinct)


def test_single_keeps_k_and_conditional_does_not():
    anonymized = mixed_table(3000, missing=0.0, levels={"age": 2, "job": 2, "pay": 2, "born": 3, "smoker": 1})
    k = np.bincount(anonymized.class_ids).min()
    assert give_away(anonymized, restore(anonymized, "single", {}).table, same_records=True).k >= k > 1
    assert give_away(anonymized, restore(anonymized, "conditional", {}).table, same_records=True).k < k


def test_persons_that_can_have_made_a_row_are_counted_by_hand():
    """Ages 20-29 for all; a class of five with jobs as another column: N N D N D."""
    table = Table(
        pd.DataFrame({"age": pd.array([21, 21, 23, 28, 22], "Int64"), "job": pd.Categorical(list("NNDND"))}),
        Schema((Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER), Column("job", Role.SENSITIVE, Kind.CATEGORICAL))),
    )
    ages = from_rows([[str(age), "20-29"] for age in range(20, 30)], table.schema["age"], False, "ages")
    anonymized = anonymize(table, {"age": ages}, AnonymizeOptions(k=3))
    same_job = give_away(anonymized, table, same_records=True).seeds
    assert same_job is not None and (same_job.least, same_job.median, same_job.below_k) == (2, 3.0, 2)
    labels_alone = give_away(thesis_table(), thesis_table().originals, same_records=True).seeds
    assert labels_alone is not None and labels_alone.below_k == 0
    # Two rows of one person count once, and a row without a person counts nobody.
    persons = replace(anonymized.originals, named_persons=np.array([0, 0, 1, 2, -1]))
    by_person = give_away(replace(anonymized, originals=persons), table, same_records=True).seeds
    assert by_person is not None and (by_person.least, by_person.median) == (1, 2.0)


def test_joint_gives_whole_combinations_away():
    anonymized = mixed_table(2000)
    joint, histogram = (
        give_away(anonymized, restore(anonymized, "conditional", {"estimator": e}).table, same_records=True)
        for e in ("joint", "histogram")
    )
    assert joint.known_combinations == 2000
    assert histogram.known_combinations < 2000


def test_synthetic_rows_have_no_record_of_their_own():
    anonymized = mixed_table(300)
    rows = restore(anonymized, "conditional", {"estimator": "joint"}).table.take(np.arange(100))
    given = give_away(anonymized, rows, same_records=False)
    assert given.per_attribute is None and given.joint is None and given.seeds is None
    assert given.records == 100
    assert 0 < given.reappearing_rows <= 100
    with pytest.raises(ValueError, match="not the anonymized records"):
        give_away(anonymized, rows, same_records=True)
    empty = give_away(anonymized, rows.take(np.arange(0)), same_records=False)
    assert (empty.records, empty.k, empty.groups, empty.reappearing_rows) == (0, 0, 0, 0)


def test_holds_aggregates_only():
    given = give_away(mixed_table(60), mixed_table(60).originals, same_records=True).to_json()
    flat = [given["k"], given["groups"], *given["joint"].values(), *given["per_attribute"]["pay"].values()]
    assert all(isinstance(value, int | float) for value in flat)


def test_who_reads_originals():
    """Changing the original values behind the same labels changes nothing for those that say they do not read them."""
    anonymized = mixed_table(300, missing=0.0)
    turned = anonymized.leaves.copy()
    rng = np.random.default_rng(0)
    for at, name in enumerate(anonymized.quasi_identifiers):
        hierarchy = anonymized.hierarchies[name]
        for node in np.unique(anonymized.labels.nodes[:, at]):
            rows = anonymized.labels.nodes[:, at] == node
            turned[rows, at] = rng.choice(hierarchy.leaves_of(node), rows.sum())
    other = replace(anonymized, leaves=turned)
    for name, strategy in REGISTRY.items():
        options = strategy.Options()
        same = restore(anonymized, name, {}).table.frame.equals(restore(other, name, {}).table.frame)
        assert same != strategy.reads_originals(options), name
