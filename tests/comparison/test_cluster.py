"""A plan on a Dask cluster on loopback with its store on S3, one of whose three workers is killed in the middle."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.comparison import compare, forecast, load_plan
from hybrid.store import StorePlace
from hybrid.store.cipher import KEY_VARIABLE, new_key
from tests.comparison.comparison_jobs import n_rows, start, without_timings, write_job, write_plan
from tests.helpers.s3_server import bucket

pytest.importorskip("distributed", reason="needs the extra [dask]")
pytestmark = pytest.mark.slow
WORKERS = 3


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of a scheduler, and its worker processes, which reach a bucket named shared."""
    with bucket("shared"):
        yield from _processes(tmp_path, monkeypatch)


def _processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", address.rpartition(":")[2], *here]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", *here]
    started = [subprocess.Popen(scheduler, **quiet)]  # type: ignore[call-overload]
    started += [subprocess.Popen(worker, **quiet) for _ in range(WORKERS)]  # type: ignore[call-overload]
    try:
        _wait_for_workers(address, WORKERS)
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _wait_for_workers(address: str, n: int) -> None:
    from distributed import Client

    with Client(address, timeout=120, set_as_default=False) as client:
        client.wait_for_workers(n, timeout=120)


def test_the_same_results_although_a_worker_is_killed(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    folder = tmp_path / "job"
    folder.mkdir()
    write_job(folder)
    compare(load_plan(write_plan(folder)), folder, tmp_path / "here")
    path = write_plan(folder, store="s3://shared/comparison", runs="all")
    command = start(path, tmp_path / "there", "--engine", "dask", "--scheduler", address)
    deadline = time.monotonic() + 300
    while n_rows(tmp_path / "there") < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert n_rows(tmp_path / "there") < 16
    workers[0].send_signal(signal.SIGKILL)
    assert command.wait(timeout=300) == 0
    there, here = without_timings(tmp_path / "there"), without_timings(tmp_path / "here")
    pd.testing.assert_frame_equal(there, here)
    assert len(list((tmp_path / "there").glob("*-seed*/synthetic.csv"))) == 16
    kept = Counter(entry.stage for entry in StorePlace("s3://shared/comparison").open().entries())
    plan = load_plan(path)
    distinct = {stage.stage: stage.distinct for stage in forecast(plan, folder, tmp_path / "new").stages}
    assert {stage: kept[stage] for stage in distinct} == distinct


def test_no_scheduler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hybrid.comparison import cluster as module

    monkeypatch.setattr(module, "CONNECT_SECONDS", 1)
    write_job(tmp_path)
    with pytest.raises(ConfigError, match="no Dask scheduler"):
        compare(load_plan(write_plan(tmp_path)), tmp_path, tmp_path / "out", scheduler="tcp://127.0.0.1:9")
