"""Composition of releases of the same people: joint equivalence classes.

k-anonymity holds for one table. Who sees the intermediate tables of two nights and knows on which nights a person
was in the source can intersect that person's two classes (composition: Ganta, Kasiviswanathan and Smith, KDD 2008),
or subtract one night from the other (differencing). Either way the person hides among those records that were in
the same class, or in none, **in every release**: the joint class. Its size is what is left of k.

This is an upper bound: released are synthetic tables, sampled and generated from the intermediate ones.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.table import Table
from hybrid.table.record_hash import each_once, hash_pairs, record_hashes


@dataclass(frozen=True)
class Membership:
    """Class of every record in one intermediate table. Private."""

    records: Array
    """Keyed hashes of the kept records, ascending, each once; shape (n,), uint64."""
    classes: Array
    """Number of each record's equivalence class; shape (n,), uint64."""
    persons: Array
    """Keyed hash of each record's person: the record itself, where each is another person; shape (n,), uint64."""


@dataclass(frozen=True)
class Exposure:
    """Records (where each is another person) whose joint class over all releases has fewer than k persons."""

    k: int
    releases: int
    """Number of releases, the new one included."""
    records: int
    """Records in any of the releases."""
    exposed: int
    """Those whose joint class has fewer than k persons."""
    departed: int
    """Those of the exposed that are no longer in the new release."""
    smallest: int
    """Persons in the smallest joint class."""

    @property
    def exposed_share(self) -> float:
        """Exposed share of the records: 0 if all joint classes have k records, 1 if none has."""
        return self.exposed / self.records if self.records else 0.0


@dataclass(frozen=True)
class JointClasses:
    """Joint class of every record of any release. Private."""

    releases: int
    """How many releases are joined."""
    records: Array
    """Keyed hashes, ascending; shape (n,), uint64."""
    signatures: Array
    """Hash of each record's class (or absence) in every release: equal for records of one joint class; shape (n,),
    uint64."""
    never_in: np.uint64
    """The signature of a record that was in none of them."""
    persons: Array
    """Keyed hash of each record's person: the record itself, where each is another person; shape (n,), uint64."""

    @classmethod
    def empty(cls) -> JointClasses:
        """Empty history, before the first release."""
        nobody = np.empty(0, dtype=np.uint64)
        return cls(0, nobody, nobody, np.uint64(0), nobody)

    def joined(self, new: Membership) -> JointClasses:
        """Join one more release, in O(n log n) whatever the number of releases."""
        records: Array = np.union1d(self.records, new.records)
        signatures = np.full(len(records), self.never_in)
        signatures[np.searchsorted(records, self.records)] = self.signatures
        classes = np.zeros(len(records), dtype=np.uint64)
        classes[np.searchsorted(records, new.records)] = new.classes + np.uint64(1)
        never_in = np.uint64(hash_pairs(np.asarray(self.never_in), np.uint64(0)))
        persons = np.empty(len(records), dtype=np.uint64)
        for part in (self, new):
            persons[np.searchsorted(records, part.records)] = part.persons
        return JointClasses(self.releases + 1, records, hash_pairs(signatures, classes), never_in, persons)

    def exposure(self, new: Membership, k: int) -> Exposure:
        """Exposure of the joined releases; ``new`` is the last of them."""
        _, groups, sizes = np.unique(self.signatures, return_inverse=True, return_counts=True)
        if named_persons(self.records, self.persons):
            members = np.unique(np.stack([groups.reshape(-1), np.unique(self.persons, return_inverse=True)[1]]), axis=1)
            sizes = np.bincount(members[0], minlength=len(sizes))
        exposed = sizes[groups] < k
        departed = exposed & ~np.isin(self.records, new.records, assume_unique=True)
        return Exposure(
            k=k,
            releases=self.releases,
            records=len(self.records),
            exposed=int(exposed.sum()),
            departed=int(departed.sum()),
            smallest=int(sizes.min()) if len(sizes) else 0,
        )

    def to_bytes(self) -> bytes:
        """Serialize as compressed NumPy arrays."""
        content = io.BytesIO()
        np.savez_compressed(
            content,
            releases=self.releases,
            records=self.records,
            signatures=self.signatures,
            never_in=self.never_in,
            **named_persons(self.records, self.persons),
        )
        return content.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> JointClasses:
        """Deserialize the result of :meth:`to_bytes`.

        Raises
        ------
        ValueError, KeyError, OSError
            It is something else.
        """
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            persons = found.get("persons", found["records"])
            return cls(int(found["releases"]), found["records"], found["signatures"], found["never_in"][()], persons)


def named_persons(records: Array, persons: Array) -> dict[str, Array]:
    """Array of a file with the persons of records; none where each record is another person."""
    return {} if np.array_equal(persons, records) else {"persons": persons}


def membership(
    train: Table, learned: Table, anonymized: AnonymizedTable, secret: bytes, key: Sequence[str]
) -> Membership:
    """Class of every training record in the intermediate table.

    Parameters
    ----------
    train : Table, n records
        The training records with their identifiers.
    learned : Table, n records
        The same records as they were anonymized: protected, and without identifiers.
    anonymized : AnonymizedTable
        Made from them. A suppressed record is in no class.

    Returns
    -------
    Membership
        Indistinguishable records are numbered in order of appearance.
    """
    content = record_hashes(learned, secret)
    kept = record_hashes(anonymized.originals, secret)
    distinct, first = np.unique(kept, return_index=True)
    at = np.searchsorted(distinct, content)
    at[at == len(distinct)] = 0
    inside = distinct[at] == content if len(distinct) else np.zeros(len(content), dtype=bool)
    whose = record_hashes(train, secret, key)
    # Rows of one person are told apart by what they hold.
    alone = train.rows_are_persons
    content_of = whose if alone else hash_pairs(whose, record_hashes(train, secret, train.schema.names))
    records = each_once(content_of[inside])
    classes = anonymized.class_ids[first[at[inside]]].astype(np.uint64)
    order = np.argsort(records)
    persons = records if alone else whose[inside]
    return Membership(records[order], classes[order], persons[order])
