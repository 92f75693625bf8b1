"""A release that was withdrawn: still there, marked, no longer the latest, and not made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ConfigError, GateRefused
from hybrid.cli import main
from hybrid.operations.deliver import Deliveries, DeliverOptions
from hybrid.publication import withdraw as module
from hybrid.publication.folder import WITHDRAWN, named_latest, read_release
from hybrid.publication.ledger import Ledger
from hybrid.publication.publish import publish
from hybrid.publication.verify import verify
from hybrid.publication.withdraw import retain, withdraw
from hybrid.table.data_options import DataOptions

RunMaker = Callable[..., Path]
OTHER = "a" * 64


@pytest.fixture
def out(tmp_path: Path) -> Callable[..., Path]:
    return lambda run: publish(run, tmp_path / "releases", tmp_path / "work")


@pytest.fixture
def back(tmp_path: Path) -> Callable[..., Any]:
    def withdrawn(name: str, by: str = "Ada", reason: str = "wrong load") -> Any:
        return withdraw(name, tmp_path / "releases", tmp_path / "work", by, reason)

    return withdrawn


def latest(tmp_path: Path) -> str | None:
    named = named_latest(tmp_path / "releases")
    found = None if named is None else read_release(tmp_path / "releases" / named)
    return None if found is None else found.path.name


def code(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def test_a_withdrawn_release_is_marked_and_stays_verifiable(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    first = out(make_run("one"))
    second = out(make_run("two", data_fingerprint=OTHER))
    before = {path.name: path.read_bytes() for path in second.iterdir()}
    zones = ("--releases", tmp_path / "releases", "--work", tmp_path / "work")
    assert code("withdraw", second.name, "--by", "Ada Lovelace", "--reason", "wrong load", *zones) == 0
    assert f"the latest release is {first.name}" in capsys.readouterr().out
    assert latest(tmp_path) == first.name
    assert {path.name: path.read_bytes() for path in second.iterdir() if path.name != WITHDRAWN} == before
    mark = json.loads((second / WITHDRAWN).read_text())
    assert (mark["by"], mark["reason"], mark["release"]) == ("Ada Lovelace", "wrong load", second.name)
    assert "account" not in mark and (second / WITHDRAWN).stat().st_mode & 0o777 == 0o444
    assert verify(second) == []
    assert code("verify", second) == 1
    shown = capsys.readouterr()
    assert (
        "every file is as it was published" in shown.out and "withdrawn on" in shown.err and "wrong load" in shown.err
    )
    (second / "synthetic.csv").chmod(0o600)
    (second / "synthetic.csv").write_text("changed")
    assert "changed" in verify(second)[0].message


def test_the_ledger_remembers_who_withdrew_what(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path
) -> None:
    release = out(make_run())
    assert back(release.name).latest is None
    assert not (tmp_path / "releases" / "latest").is_symlink()
    ledger = Ledger(tmp_path / "work")
    [found] = ledger.withdrawals()
    assert (found.release, found.by, found.reason) == (release.name, "Ada", "wrong load")
    assert "@" in found.account
    again = back(release.name, "Bob", "another reason")
    assert (again.withdrawal.by, again.withdrawal.reason) == ("Ada", "wrong load")
    assert [event.outcome for event in ledger.events()] == ["released", "withdrawn"]
    assert [entry.release for entry in ledger.entries()] == [release.name]


@pytest.mark.parametrize("point", ["_mark", "_move_latest"])
def test_a_withdrawal_that_was_cut_off_is_completed(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, point: str, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    release = out(make_run())
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(module, point, lambda *_: 1 / 0)
        back(release.name)
    zones = ("--releases", tmp_path / "releases", "--work", tmp_path / "work")
    assert code("status", *zones) == 1
    assert f"hybrid withdraw {release.name}" in capsys.readouterr().out
    assert back(release.name).latest is None
    assert (release / WITHDRAWN).is_file()


def test_what_was_withdrawn_is_not_made_again(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path
) -> None:
    release = out(make_run("one"))
    back(release.name)
    for name in ("one", "drawn again"):
        run = tmp_path / "runs" / name
        with pytest.raises(GateRefused, match="was withdrawn by Ada: wrong load; nothing was published"):
            out(run if run.is_dir() else make_run(name, seed=7))
    other = out(make_run("other data", data_fingerprint=OTHER))
    assert latest(tmp_path) == other.name


def test_latest_moves_to_what_was_out_before_and_never_to_a_damaged_one(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path
) -> None:
    first, second, third = (out(make_run(f"r{at}", data_fingerprint=str(at) * 64)) for at in range(3))
    (second / "report.html").chmod(0o600)
    (second / "report.html").write_text("changed")
    assert back(third.name).latest == first.name
    assert back(second.name).latest == first.name  # it was not the latest


def test_delivered_copies_are_listed(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("WAREHOUSE", f"sqlite:///{tmp_path / 'warehouse.sqlite'}")
    options = DeliverOptions.model_validate({"folder": "copies", "sql": {"url_env": "WAREHOUSE", "table": "people"}})
    data = {"synthetic": DataOptions.model_validate({"path": "people.csv"})}
    first, second = (out(make_run(f"r{at}", data_fingerprint=str(at) * 64)) for at in range(2))
    Deliveries(options, data, tmp_path).deliver(first, tmp_path / "work")
    Deliveries(DeliverOptions(sql=options.sql), data, tmp_path).deliver(second, tmp_path / "work")
    found = {delivery.target: delivery.newest for delivery in back(first.name).deliveries}
    assert found == {"copies": first.name, "people in WAREHOUSE": second.name}
    code("withdraw", first.name, "--by", "Ada", "--reason", "wrong load", "--releases", tmp_path / "releases",
         "--work", tmp_path / "work")  # fmt: skip
    shown = capsys.readouterr().out
    assert "delivered to copies on" in shown and f"and {second.name} later" in shown


def test_what_cannot_be_withdrawn(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path
) -> None:
    release = out(make_run())
    for name, by, reason in (
        ("2026-01-01-00000000", "Ada", "x"),
        ("latest", "Ada", "x"),
        ("../runs", "Ada", "x"),
        (release.name, "", "x"),
        (release.name, "Ada", "  "),
        (release.name, "Ada\x1b[2J", "x"),
    ):
        with pytest.raises(ConfigError):
            back(name, by, reason)
    with pytest.raises(ConfigError, match="there is no release"):
        withdraw(release.name, tmp_path / "releases", tmp_path / "another work", "Ada", "wrong load")
    assert latest(tmp_path) == release.name and not (release / WITHDRAWN).exists()


def test_retention_keeps_a_release_that_is_not_withdrawn(
    make_run: RunMaker, out: Callable[..., Path], back: Callable[..., Any], tmp_path: Path
) -> None:
    first, second = (out(make_run(f"r{at}", data_fingerprint=str(at) * 64)) for at in range(2))
    back(second.name)
    (tmp_path / "releases" / "latest").unlink()
    assert retain(tmp_path / "releases", tmp_path / "work", 1).removed == ()
    assert first.is_dir() and second.is_dir()


def test_a_source_that_goes_back_has_its_release_as_the_latest_again(
    make_run: RunMaker, out: Callable[..., Path], tmp_path: Path
) -> None:
    first = out(make_run("a"))
    second = out(make_run("b", data_fingerprint=OTHER))
    assert latest(tmp_path) == second.name
    old = out(tmp_path / "runs" / "a")  # an old run published again
    assert (old, latest(tmp_path)) == (first, second.name)
    assert out(make_run("a again", seed=7)) == first
    assert latest(tmp_path) == first.name
    ledger = Ledger(tmp_path / "work")
    assert ledger.outs("adult") == [first.name, second.name, first.name]
    outcomes = [(event.outcome, event.message) for event in ledger.events()]
    assert outcomes[-1] == ("released", f"returned to {first.name}")
    assert outcomes[-2] == ("kept", first.name)
    assert out(make_run("b again", data_fingerprint=OTHER, seed=8)) == second
    assert latest(tmp_path) == second.name


def test_the_order_of_what_is_out_is_known_to_an_older_ledger(
    make_run: RunMaker, out: Callable[..., Path], tmp_path: Path
) -> None:
    import sqlite3

    releases = [out(make_run(f"r{at}", data_fingerprint=str(at) * 64)).name for at in range(2)]
    ledger = Ledger(tmp_path / "work")
    with sqlite3.connect(ledger.path) as database:
        for table in (
            "outs",
            "withdrawals",
            "deliveries",
            "approvals",
            "payments",
            "payers",
            "sent_back",
            "certificates",
        ):
            database.execute(f"DROP TABLE {table}")
        database.execute("CREATE TABLE approvals (run TEXT, by TEXT, reason TEXT, at TEXT, PRIMARY KEY (run, by))")
        database.execute("PRAGMA user_version = 2")
    assert ledger.outs("adult") == releases
