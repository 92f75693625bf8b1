"""A withdrawn release leaves the warehouse, whatever becomes of the night."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from hybrid.base.errors import ConfigError, HybridError
from hybrid.cli import main
from hybrid.jobs.nightly import Night, deliver_latest
from hybrid.jobs.places import Places
from hybrid.jobs.start import configuration
from hybrid.operations.sql_versions import deliver_versions, plain_rows
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.ledger import Ledger, Withdrawal
from tests.jobs.small_job import write_small_job

GONE = "2026-01-01-000000aa"


@pytest.fixture
def withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration, and a warehouse that shows a release of it that was withdrawn."""
    config = write_small_job(tmp_path, nightly={"deliver": {"sql": {"url_env": "W_URL", "table": "t", "versions": 3}}})
    duckdb.connect(str(tmp_path / "w.duckdb")).close()
    monkeypatch.setenv("W_URL", f"duckdb:///{tmp_path}/w.duckdb")
    rows = pa.table({"age": [34]})
    opens = {"t": lambda: plain_rows(rows.schema, rows.to_batches())}
    deliver_versions(opens, "W_URL", configuration(config).name, GONE, None)
    Ledger(tmp_path / "work").withdraw(tmp_path / "releases", Withdrawal(GONE, "2026-01-02", "Ada", "a mistake", ""))
    return config


def tables(config: Path) -> list[tuple[str]]:
    with duckdb.connect(str(config.with_name("w.duckdb")), read_only=True) as connection:
        return connection.execute("show tables").fetchall()


def places(config: Path) -> Places:
    return Places(config.with_name("work"), config.with_name("runs"), config.with_name("releases"))


def test_a_night_that_fails_takes_it_out(withdrawn: Path) -> None:
    withdrawn.with_name("admissions.csv").unlink()
    assert len(tables(withdrawn)) == 2
    found = places(withdrawn)
    night = Night(Pipeline(configuration(withdrawn), ledger_dir=found.work), found)
    with pytest.raises(HybridError):
        night.run()
    assert tables(withdrawn) == []


def test_delivery_by_hand_takes_it_out(
    withdrawn: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(withdrawn.parent)
    with pytest.raises(SystemExit) as caught:
        main(["deliver", str(withdrawn)])
    assert caught.value.code == 0 and "no release that could be delivered" in capsys.readouterr().out
    assert tables(withdrawn) == []


def test_delivery_to_nowhere_is_refused(tmp_path: Path) -> None:
    config = write_small_job(tmp_path)
    with pytest.raises(ConfigError, match="names no place to deliver to"):
        deliver_latest(configuration(config), places(config))
