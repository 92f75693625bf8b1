"""The ledger remembers what is out, whatever kills the process, and counts every name once."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.errors import OutputError
from hybrid.publication.certificate import Acceptance
from hybrid.publication.composition import Exposure, JointClasses, Membership
from hybrid.publication.gate import DrawNumber
from hybrid.publication.ledger import Approval, Ledger, LedgerEntry

ENTRY = LedgerEntry(
    release="2026-01-01-aaaa",
    data_set="patients",
    created="2026-01-01T02:00:00+00:00",
    data_tag="d",
    release_tag="r",
    status="review",
    policy="default 1",
    acceptances=(Acceptance("Ada", "looked at it"),),
    metrics=({"name": "tstr", "value": 0.8},),
    exposure=Exposure(5, 1, 100, 2, 1, 3),
)
LATER = replace(ENTRY, release="2026-01-02-bbbb", created="2026-01-02T02:00:00+00:00")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "work")


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    (tmp_path / "releases").mkdir()
    return tmp_path / "releases"


def joint(n: int) -> JointClasses:
    records = np.arange(n, dtype=np.uint64)
    return JointClasses.empty().joined(Membership(records, records // np.uint64(5), records))


def appears(releases: Path, entry: LedgerEntry) -> None:
    (releases / entry.release).mkdir()


def test_an_entry_counts_once_its_folder_is_there(ledger: Ledger, releases: Path) -> None:
    ledger.enter(ENTRY, releases, joint(10))
    assert ledger.entries() == []
    appears(releases, ENTRY)
    ledger.settle(releases)
    assert ledger.entries("patients") == [ENTRY]
    assert ledger.entries("others") == []
    found = ledger.joint_classes("patients")
    assert found is not None
    assert found.records.tolist() == list(range(10))


def test_an_entry_whose_folder_never_came_is_forgotten(ledger: Ledger, releases: Path) -> None:
    ledger.enter(ENTRY, releases, joint(10))
    appears(releases, ENTRY)
    ledger.settle(releases)
    ledger.enter(LATER, releases, joint(20))
    ledger.settle(releases)
    appears(releases, LATER)
    ledger.settle(releases)
    assert ledger.entries() == [ENTRY]
    found = ledger.joint_classes("patients")
    assert found is not None
    assert len(found.records) == 10


def test_another_folder_of_releases_is_left_alone(ledger: Ledger, releases: Path, tmp_path: Path) -> None:
    ledger.enter(ENTRY, releases, joint(10))
    ledger.settle(tmp_path / "elsewhere")
    appears(releases, ENTRY)
    ledger.settle(releases)
    assert ledger.entries() == [ENTRY]


def test_only_the_newest_joint_classes_are_kept(ledger: Ledger, releases: Path) -> None:
    for entry, size in ((ENTRY, 10), (LATER, 20)):
        ledger.enter(entry, releases, joint(size))
        appears(releases, entry)
        ledger.settle(releases)
    found = ledger.joint_classes("patients")
    assert found is not None
    assert len(found.records) == 20
    with sqlite3.connect(ledger.path) as database:
        kept = database.execute("SELECT release FROM releases WHERE joint_classes IS NOT NULL").fetchall()
    assert kept == [(LATER.release,)]


def test_a_clock_that_was_set_back_changes_nothing(ledger: Ledger, releases: Path) -> None:
    for entry, size in ((LATER, 10), (ENTRY, 20)):
        ledger.enter(entry, releases, joint(size))
        appears(releases, entry)
        ledger.settle(releases)
    assert ledger.entries() == [LATER, ENTRY]
    found = ledger.joint_classes("patients")
    assert found is not None
    assert len(found.records) == 20


def test_a_release_not_known_by_its_records_makes_the_rest_unknown(ledger: Ledger, releases: Path) -> None:
    assert ledger.joint_classes("patients") is not None
    ledger.enter(replace(ENTRY, exposure=None), releases, None)
    appears(releases, ENTRY)
    ledger.settle(releases)
    assert ledger.joint_classes("patients") is None


def test_approvals_are_kept_by_run_and_name(ledger: Ledger) -> None:
    for run, by, at in (("run", "Ada", "2"), ("run", "Bob", "1"), ("run", "Ada", "3"), ("another run", "Bob", "1")):
        ledger.approve(run, Approval(by, "looked at", at, "ada@ward", ""))
    assert [(given.by, given.at) for given in ledger.approvals("run")] == [("Bob", "1"), ("Ada", "3")]
    assert len(ledger.approvals("another run")) == 1


def test_events_come_back_in_order(ledger: Ledger) -> None:
    for number in range(5):
        ledger.note("patients", "released", f"r{number}")
    ledger.note("others", "refused", "blocked by copies")
    assert [event.message for event in ledger.events("patients", last=2)] == ["r3", "r4"]
    assert len(ledger.events()) == 6


def test_the_file_is_for_its_owner_alone(ledger: Ledger) -> None:
    ledger.note("patients", "released", "r")
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700


def test_many_at_once_wait_for_each_other(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ledger.note("patients", "released", str(number)), range(40)))
    assert {event.message for event in ledger.events(last=99)} == {str(number) for number in range(40)}


def test_what_is_no_ledger_is_refused(ledger: Ledger) -> None:
    ledger.path.parent.mkdir()
    ledger.path.write_bytes(b"this is a text, not a database" * 100)
    with pytest.raises(OutputError, match=r"ledger\.sqlite: the ledger cannot be read"):
        ledger.entries()
    assert ledger.path.read_bytes().startswith(b"this is a text")


def test_a_newer_ledger_is_left_alone(ledger: Ledger) -> None:
    ledger.note("patients", "released", "r")
    with sqlite3.connect(ledger.path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(OutputError, match="a newer version"):
        ledger.entries()


def test_draws_are_numbered_for_each_data_and_policy(ledger: Ledger) -> None:
    assert [ledger.count_draw("s", "d", "p", draw) for draw in "abab"] == [
        DrawNumber(1, 1),
        DrawNumber(2, 2),
        DrawNumber(1, 2),
        DrawNumber(2, 2),
    ]
    assert ledger.count_draw("s", "d", "other policy", "a") == DrawNumber(1, 1)
    assert ledger.count_draw("s", "other data", "p", "a") == DrawNumber(1, 1)


def test_another_data_set_over_the_same_data_is_counted_by_itself(ledger: Ledger) -> None:
    """Its first draw is no repeated one; what the others drew is said, and how often."""
    assert [ledger.count_draw("wards", "d", "p", draw).number for draw in "abc"] == [1, 2, 3]
    first = ledger.count_draw("costs", "d", "p", "e")
    assert first == DrawNumber(1, 1, 3)
    assert first.words == (
        "first draw of this data under this policy for this data set; 3 draws of the same data under other names"
    )
    assert ledger.count_draw("costs", "d", "p", "a") == DrawNumber(2, 2, 3)  # the same table, released by another name
    assert ledger.count_draw("wards", "d", "p", "d") == DrawNumber(4, 4, 2)
    assert ledger.has_draw("wards", "d", "p", "b") and not ledger.has_draw("costs", "d", "p", "b")


def test_draws_of_a_ledger_without_data_sets_count_for_every_one(ledger: Ledger) -> None:
    """Nobody knows whose they were: a new name does not make them first draws."""
    ledger.note("patients", "released", "r")
    with sqlite3.connect(ledger.path) as database:
        database.execute("DROP TABLE draws")
        database.execute("DROP TABLE certificates")
        database.execute(
            "CREATE TABLE draws (data_tag TEXT NOT NULL, policy TEXT NOT NULL, draw TEXT NOT NULL,"
            " number INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (data_tag, policy, draw))"
        )
        database.execute("INSERT INTO draws VALUES ('d', 'p', 'a', 1, ''), ('d', 'p', 'b', 2, '')")
        database.execute("PRAGMA user_version = 5")
    assert ledger.has_draw("wards", "d", "p", "a") and ledger.has_draw("costs", "d", "p", "b")
    assert ledger.count_draw("wards", "d", "p", "b") == DrawNumber(2, 2)
    assert ledger.count_draw("costs", "d", "p", "e").number == 3


def test_a_stated_number_raises_the_count_and_never_lowers_it(ledger: Ledger) -> None:
    assert ledger.count_draw("s", "d", "p", "a", at_least=7) == DrawNumber(7, 7)
    assert ledger.count_draw("s", "d", "p", "b", at_least=2) == DrawNumber(8, 8)
    assert ledger.count_draw("s", "d", "p", "a", at_least=1) == DrawNumber(7, 8)
    assert ledger.count_draw("s", "d", "p", "b", at_least=10) == DrawNumber(10, 10)


def test_draws_counted_at_once_get_different_numbers(ledger: Ledger) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda draw: ledger.count_draw("s", "d", "p", str(draw)).number, range(12)))
    assert sorted(found) == list(range(1, 13))


def test_a_ledger_of_the_first_format_keeps_its_rows(ledger: Ledger, releases: Path) -> None:
    ledger.enter(ENTRY, releases, joint(10))
    appears(releases, ENTRY)
    ledger.settle(releases)
    with sqlite3.connect(ledger.path) as database:
        later = (
            "draws",
            "outs",
            "withdrawals",
            "deliveries",
            "approvals",
            "payments",
            "payers",
            "sent_back",
            "certificates",
        )
        for table in later:
            database.execute(f"DROP TABLE {table}")
        database.execute("CREATE TABLE approvals (run TEXT, by TEXT, reason TEXT, at TEXT, PRIMARY KEY (run, by))")
        database.execute("PRAGMA user_version = 1")
    assert ledger.entries() == [ENTRY]
    assert ledger.count_draw("s", "d", "p", "a") == DrawNumber(1, 1)
    ledger.approve("run", Approval("Ada", "looked at", "1", "ada@ward", ""))
    with sqlite3.connect(ledger.path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (7,)


@pytest.mark.parametrize(
    ("number", "word"), [(1, "first"), (3, "third"), (11, "11th"), (21, "21st"), (112, "112th"), (123, "123rd")]
)
def test_a_draw_in_words(number: int, word: str) -> None:
    assert DrawNumber(number, number).words == f"{word} draw of this data under this policy"
    assert DrawNumber(number, 200).words == f"{word} draw of this data under this policy; 200 were made so far"
