"""A generator's process may end in any way; the pipeline's does not."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base import scratch
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import silent
from hybrid.base.rng import rng_for
from hybrid.synthesize import REGISTRY, FittedGenerator
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.isolation.job import WorkerLimits, learn_isolated
from hybrid.synthesize.protocol import LoadingGenerator
from hybrid.synthesize.registry import ENGINES
from tests.synthesize.synthesize_tables import people

BROKEN = """
import os, signal, sys, time
import numpy as np
from hybrid.synthesize.generators import cart

def learn(self, data, options, seed, progress, unfinished=None):
    progress("fit broken", 1, 3, loss=0.5)
    {body}

cart.Cart.learn = learn
"""


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Where job folders are made, so that leftovers can be seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_held", {})
    return tmp_path


def left(jobs):
    """What lies in the folders of processes, but for their locks."""
    return [path for path in jobs.glob("hybrid-process-*/*") if path.suffix != ".lock"]


@pytest.fixture
def broken(tmp_path_factory, monkeypatch):
    """Makes the worker's generator do something else, through a module that Python imports at start."""

    def make(body: str) -> None:
        folder = tmp_path_factory.mktemp("site")
        (folder / "sitecustomize.py").write_text(BROKEN.format(body=body), encoding="utf-8")
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])

    return make


def learn(progress=silent, limits=WorkerLimits(), table=None):  # noqa: B008
    table = people(100) if table is None else table
    generator = REGISTRY["cart"]
    codec = Codec(table, generator.encoding(None))
    data = codec.encode(table, rng_for(1, "encode"))
    return FittedGenerator("cart", codec, learn_isolated(generator, data, generator.Options(), 1, progress, limits))


def test_an_isolated_generator_gives_the_same_rows_as_one_in_this_process(jobs):
    table = people(100)
    seen = []
    fitted = learn(lambda step, done, total=None, **values: seen.append((step, done, total)), table=table)
    codec = fitted.codec
    here = REGISTRY["cart"].learn(codec.encode(table, rng_for(1, "encode")), REGISTRY["cart"].Options(), 1, silent)
    pd.testing.assert_frame_equal(fitted.sample(50, 3).frame, FittedGenerator("cart", codec, here).sample(50, 3).frame)
    assert seen == [("fit cart", i + 1, 7) for i in range(7)]
    assert [path.name.split("-")[0] for path in left(jobs)] == ["model"]
    assert left(jobs)[0].stat().st_mode & 0o77 == 0
    assert fitted.model.folder.stat().st_mode & 0o77 == 0
    del fitted
    assert left(jobs) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", r"worker of cart \(learn\) was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("os._exit(3)", "ended with status 3"),
        ("raise ValueError('Alice')", r"cart failed to learn \(ValueError\)"),
        ("raise MemoryError", "needed more memory than the limit"),
    ],
)
def test_every_end_of_a_worker_is_one_error(jobs, broken, body, message):
    broken(body)
    seen = []
    with pytest.raises(GeneratorError, match=message) as caught:
        learn(lambda step, done, total=None, **values: seen.append((step, done, total, values)))
    assert "Alice" not in str(caught.value)
    assert seen == [("fit broken", 1, 3, {"loss": 0.5})]
    assert left(jobs) == []


def test_a_time_limit_ends_the_worker(jobs, broken):
    broken("time.sleep(60)")
    started = time.monotonic()
    with pytest.raises(GeneratorError, match="took longer than 3 s"):
        learn(limits=WorkerLimits(seconds=3))
    assert time.monotonic() - started < 20
    assert left(jobs) == []


def test_a_memory_limit_ends_the_worker(jobs, broken):
    broken("hog = [np.ones(10**7) for _ in range(20)]; time.sleep(30)")
    with pytest.raises(GeneratorError, match=r"more memory than the limit of 0.78 GiB"):
        learn(limits=WorkerLimits(seconds=60, memory_bytes=800 * 2**20))
    assert left(jobs) == []


def test_an_interrupt_ends_the_worker(jobs, broken, tmp_path_factory):
    note = tmp_path_factory.mktemp("note") / "pid"
    broken(f"open({str(note)!r}, 'w').write(str(os.getpid())); progress('go', 1); time.sleep(60)")

    def interrupt(step, done, total=None, **values):
        if step == "go":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)
    assert left(jobs) == []


def test_a_worker_ends_when_its_parent_is_killed(jobs, broken, tmp_path_factory):
    note = tmp_path_factory.mktemp("note") / "pid"
    broken(f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    script = f"import sys; sys.path[:0] = {sys.path!r}; from tests.synthesize import test_worker; test_worker.learn()"
    parent = subprocess.Popen([sys.executable, "-S", "-c", script], env={**os.environ, "TMPDIR": str(jobs)})
    _until(note.is_file)
    _until(lambda: note.read_text() != "")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    _until(lambda: not _alive(int(note.read_text())))
    assert left(jobs) == []


def test_a_corrupted_model_is_an_error(jobs):
    fitted = learn()
    next(fitted.model.folder.iterdir()).write_bytes(b"nonsense")
    with pytest.raises(GeneratorError, match="saved model cannot be read"):
        fitted.sample(5, 1)


def test_a_pickled_copy_outlives_the_model(jobs):
    fitted = learn()
    content, rows = pickle.dumps(fitted), fitted.sample(5, 1).frame
    del fitted
    pd.testing.assert_frame_equal(rows, pickle.loads(content).sample(5, 1).frame)


def test_generators_that_need_packages_write_their_models_themselves():
    for generator in (*REGISTRY.values(), *ENGINES.values()):
        assert isinstance(generator, LoadingGenerator) == bool(generator.requires), generator.name


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def _until(condition, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_encoded_columns_survive_their_file(tmp_path):
    from hybrid.synthesize.isolation.worker import read_columns, write_columns

    columns = [np.array([0.5, np.nan]), np.array([1, 0], dtype=np.int32)]
    write_columns(tmp_path / "x.parquet", columns)
    back = read_columns(tmp_path / "x.parquet")
    assert [values.dtype for values in back] == [np.float64, np.int32]
    np.testing.assert_array_equal(back[0], columns[0])
    np.testing.assert_array_equal(back[1], columns[1])
