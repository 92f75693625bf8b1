"""Joint classes: the same as by hand, however many nights, records and absences."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.hierarchy.levels import from_levels
from hybrid.publication.composition import Exposure, JointClasses, Membership, membership
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import with_persons

nights = st.lists(st.dictionaries(st.integers(0, 30), st.integers(0, 3), max_size=30), min_size=1, max_size=5)
SECRET = b"twelve bytes"
DECADES = [f"{age // 10}0s" for age in range(100)]
HIERARCHIES = {"age": from_levels("age", Kind.INTEGER, np.arange(100), [DECADES, ["*"] * 100])}


def a_membership(night: dict[int, int]) -> Membership:
    records = sorted(night)
    classes = [night[record] for record in records]
    numbers = np.array(records, dtype=np.uint64)
    return Membership(numbers, np.array(classes, dtype=np.uint64), numbers)


def by_hand(found: list[dict[int, int]], k: int) -> Exposure:
    everybody = sorted(set().union(*found))
    signature = {record: tuple(night.get(record) for night in found) for record in everybody}
    sizes = Counter(signature.values())
    exposed = [record for record in everybody if sizes[signature[record]] < k]
    departed = [record for record in exposed if record not in found[-1]]
    smallest = min(sizes.values(), default=0)
    return Exposure(k, len(found), len(everybody), len(exposed), len(departed), smallest)


@settings(max_examples=150)
@given(nights, st.integers(1, 6))
def test_as_by_hand(found: list[dict[int, int]], k: int) -> None:
    joint = JointClasses.empty()
    for night in found:
        joint = JointClasses.from_bytes(joint.joined(a_membership(night)).to_bytes())
    assert joint.exposure(a_membership(found[-1]), k) == by_hand(found, k)


def test_one_release_gives_away_nothing_beyond_its_k() -> None:
    only = a_membership(dict.fromkeys(range(5), 0) | dict.fromkeys(range(5, 12), 1))
    exposure = JointClasses.empty().joined(only).exposure(only, 5)
    assert (exposure.exposed_share, exposure.smallest) == (0.0, 5)


def test_who_came_between_two_nights_stands_alone() -> None:
    before = dict.fromkeys(range(10), 0)
    joint = JointClasses.empty().joined(a_membership(before))
    after = a_membership(before | {99: 0})
    assert joint.joined(after).exposure(after, 5) == Exposure(5, 2, 11, 1, 0, 1)


def test_who_left_stands_alone_for_ever() -> None:
    before = dict.fromkeys(range(10), 0)
    rest = a_membership(dict.fromkeys(range(1, 10), 0))
    joint = JointClasses.empty().joined(a_membership(before)).joined(rest).joined(rest)
    assert joint.exposure(rest, 5) == Exposure(5, 3, 10, 1, 1, 1)


def test_classes_that_are_cut_differently_intersect() -> None:
    rows, columns = np.divmod(np.arange(100), 10)
    joint = JointClasses.empty()
    for classes in (rows, columns):
        numbers = np.arange(100, dtype=np.uint64)
        last = Membership(numbers, classes.astype(np.uint64), numbers)
        joint = joint.joined(last)
    assert joint.exposure(last, 10).exposed_share == 1.0
    assert joint.exposure(last, 10).smallest == 1


def a_table(ages: list[int], ids: list[str] | None = None) -> Table:
    columns = [Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER), Column("ward", Role.INSENSITIVE, Kind.CATEGORICAL)]
    frame = pd.DataFrame({"age": pd.Series(ages, dtype="Int64"), "ward": ["a"] * len(ages)})
    frame["ward"] = frame["ward"].astype("category")
    if ids is not None:
        columns.insert(0, Column("id", Role.IDENTIFIER, Kind.CATEGORICAL))
        frame.insert(0, "id", pd.Categorical(ids))
    return Table(frame, Schema(tuple(columns)))


def of(table: Table, k: int) -> Membership:
    options = AnonymizeOptions(k=k, suppression_limit=0.3)
    people = table.without_identifiers()
    return membership(table, people, anonymize(people, HIERARCHIES, options), SECRET, ())


def test_members_are_the_kept_records_in_their_classes() -> None:
    ages = [31, 32, 33, 34, 34, 41, 42, 43, 44, 45, 90]
    found = of(a_table(ages, [f"p{at}" for at in range(11)]), 5)
    assert len(found.records) == len(set(found.records.tolist())) == 10
    assert sorted(Counter(found.classes.tolist()).values()) == [5, 5]
    assert (np.diff(found.records.astype(np.float64)) > 0).all()


def test_the_order_of_the_rows_and_a_changed_value_do_not_hide_a_person() -> None:
    ages, ids = [31, 32, 33, 34, 35, 41, 42, 43, 44, 45], [f"p{at}" for at in range(10)]
    first = of(a_table(ages, ids), 5)
    second = of(a_table([45, *reversed(ages[:-1])], ["p9", *reversed(ids[:-1])]), 5)
    older = of(a_table([age + 1 for age in ages], ids), 5)
    assert (first.records == second.records).all()
    assert (first.records == older.records).all()


def test_equal_records_without_an_identifier_are_counted_each() -> None:
    found = of(a_table([30] * 6 + [31] * 5), 5)
    assert len(set(found.records.tolist())) == 11


def test_without_the_secret_the_hashes_are_others() -> None:
    table = a_table([30] * 10)
    anonymized = anonymize(table, HIERARCHIES, AnonymizeOptions(k=5))
    one, two = (membership(table, table, anonymized, secret, ()) for secret in (SECRET, b"other secret"))
    assert not set(one.records.tolist()) & set(two.records.tolist())


def test_a_joint_class_of_one_patient_hides_nobody() -> None:
    """Two nights: in the second one patient's ten rows are a class of their own; worked by hand."""
    rows = np.arange(20, dtype=np.uint64)
    persons = np.append(np.zeros(10), np.arange(1, 11)).astype(np.uint64)
    joint = JointClasses.empty().joined(Membership(rows, np.zeros(20, dtype=np.uint64), persons))
    last = Membership(rows, (rows >= 10).astype(np.uint64), persons)
    joint = JointClasses.from_bytes(joint.joined(last).to_bytes())
    assert joint.exposure(last, 5) == Exposure(5, 2, 20, 10, 0, 1)
    alone = replace(last, persons=rows)
    assert JointClasses.empty().joined(alone).exposure(alone, 5).exposed == 0


def test_rows_of_a_patient_are_recognized_in_any_order() -> None:
    ages, ids = [31, 32, 33, 34, 35, 31, 32, 33, 34, 35], ["p0", "p1", "p2", "p3", "p4"] * 2
    first = with_persons(a_table(ages, ids), ["id"])
    second = with_persons(a_table([*ages[5:], *ages[:5]], [*ids[5:], *ids[:5]]), ["id"])
    options, found = AnonymizeOptions(k=5, suppression_limit=0.3), []
    for table in (first, second):
        people = table.without_identifiers()
        found.append(membership(table, people, anonymize(people, HIERARCHIES, options), SECRET, ["id"]))
    assert (found[0].records == found[1].records).all()
    assert len(set(found[0].persons.tolist())) == 5  # type: ignore[union-attr]
