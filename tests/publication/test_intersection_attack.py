"""Intersection attack on two anonymized releases of overlapping people (Ganta et al. 2008), and what stops it.

The attacker sees both intermediate tables and knows the quasi-identifiers of people who are in both. The secret is one
of those that occur in the person's class of the first release and of the second.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import AnonymizedTable, AnonymizeOptions, anonymize
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.levels import from_levels
from hybrid.publication.composition import JointClasses, membership
from hybrid.table import Column, Kind, Role, Schema, Table

K = 4
SCHEMA = Schema(
    (
        Column("id", Role.IDENTIFIER, Kind.CATEGORICAL),
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("place", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)


def tree(name: str) -> Hierarchy:
    texts = [[f"{value // width}x{width}" for value in range(32)] for width in (4, 8, 16)]
    return from_levels(name, Kind.INTEGER, np.arange(32), [*texts, ["*"] * 32])


TREES = {"age": tree("age"), "place": tree("place")}
LEARNED = ["age", "place", "ill"]


def everybody() -> Table:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "id": pd.Categorical([f"p{at}" for at in range(400)]),
            "age": pd.array(rng.integers(0, 32, 400), dtype="Int64"),
            "place": pd.array(rng.integers(0, 32, 400), dtype="Int64"),
            "ill": pd.Categorical([f"d{at}" for at in rng.integers(0, 40, 400)]),
        }
    )
    return Table(frame, SCHEMA)


def secrets_of(release: AnonymizedTable, position: int) -> set[str]:
    """Secrets in the class of one record."""
    return set(release.originals.frame["ill"][release.class_ids == release.class_ids[position]])


def pinned(first: AnonymizedTable, second: AnonymizedTable, shared: int) -> Iterator[int]:
    """People in both releases (their first ``shared`` records) of whom one secret is left."""
    for at in range(shared):
        if len(secrets_of(first, at) & secrets_of(second, at)) == 1:
            yield at


def released(train: Table, options: dict[str, object]) -> AnonymizedTable:
    models = [{"model": "l_diversity", "l": 3, "attribute": "ill"}]
    chosen = AnonymizeOptions.model_validate({"k": K, "models": models, "suppression_limit": 0, **options})
    return anonymize(train.only(LEARNED), TREES, chosen)


def anew(tables: list[Table]) -> list[AnonymizedTable]:
    """Releases of two holders, one of whom cares for age and one for place."""
    weights = {"age": 1, "place": 0.1}, {"age": 0.1, "place": 1}
    return [
        released(table, {"recoding": "local", "loss": {"weights": cares}})
        for table, cares in zip(tables, weights, strict=True)
    ]


def exposed(tables: list[Table], releases: list[AnonymizedTable]) -> float:
    """Exposed share that the ledger finds."""
    joint = JointClasses.empty()
    for train, release in zip(tables, releases, strict=True):
        new = membership(train, train.only(LEARNED), release, b"twelve bytes", ["id"])
        joint = joint.joined(new)
    return joint.exposure(new, K).exposed_share


@pytest.fixture(scope="module")
def tables() -> list[Table]:
    """Two hospitals with 200 common patients, who come first, and 100 others each."""
    whole = everybody()
    return [whole.take(np.r_[0:300]), whole.take(np.r_[0:200, 300:400])]


def test_classes_formed_anew_give_secrets_away_and_the_ledger_counts_it(tables: list[Table]) -> None:
    releases = anew(tables)
    for release in releases:
        assert all(len(secrets_of(release, at)) >= 3 for at in range(200)), "alone, each release keeps l"
    found = list(pinned(*releases, 200))
    assert len(found) / 200 > 0.1
    for at in found:
        truth = tables[0].frame["ill"][at]
        assert secrets_of(releases[0], at) & secrets_of(releases[1], at) == {truth}
    assert exposed(tables, releases) > 0.5


def test_fixed_levels_and_the_same_people_leave_nothing_to_intersect(tables: list[Table]) -> None:
    levels = {"age": 2, "place": 3}
    again = [released(tables[0], {"levels": levels}), released(tables[0], {"levels": levels})]
    assert not list(pinned(*again, 200))
    assert exposed([tables[0]] * 2, again) == 0.0


def test_fixed_levels_stop_most_of_the_attack_on_overlapping_people(tables: list[Table]) -> None:
    fixed = [released(table, {"levels": {"age": 2, "place": 3}}) for table in tables]
    assert len(list(pinned(*fixed, 200))) < len(list(pinned(*anew(tables), 200))) / 10
    assert exposed(tables, fixed) < exposed(tables, anew(tables)) / 2
