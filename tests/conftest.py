"""Fixtures and rules that every room's tests share."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

import hybrid.base.rng
from hybrid.pipeline import evaluation_price
from hybrid.pipeline.evaluation_price import MOST_SECONDS
from tests.helpers.reference_data import LEAKY, unpack

# Machines under load are slow, not wrong: no deadline.
# Every machine draws the same examples; `make fuzz` looks for new ones, from a seed that it prints.
settings.register_profile("project", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, derandomize=False, print_blob=True, max_examples=500)
settings.load_profile("project")

MISSING_EXTRA = "needs the extra [{}]"
"""The one reason that a test may be skipped for in CI, if `--may-lack` names the extra."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--may-lack",
        default="",
        metavar="EXTRAS",
        help="extras, separated by commas, without which tests may be skipped even where CI is set",
    )


FRESH_SEEDS = random.Random()
"""Fresh seeds of tests: the same in each run of a fixture or test, so that what fails can be repeated."""


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    FRESH_SEEDS.seed(f"{request.node.nodeid} {fixturedef.argname}")


def pytest_runtest_call(item: pytest.Item) -> None:
    FRESH_SEEDS.seed(item.nodeid)


def pytest_configure() -> None:
    """Draw fresh seeds from `FRESH_SEEDS`; let programs that tests start be interrupted, also where SIGINT is ignored.

    It is ignored under nohup and in the background. A program inherits an ignored signal, but not a handler. The tests
    themselves still ignore it.
    """
    hybrid.base.rng.secrets = SimpleNamespace(randbits=FRESH_SEEDS.getrandbits)  # type: ignore[assignment, attr-defined]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow or many tests first, so that no worker begins one when the others have finished."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -count[item.path]))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while thousands of tests are made, never again at what stays, and then less often.

    With 700 new objects between two looks, as Python has it, tests take a tenth longer.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    """Turn a skip into a failure in CI, where nothing may go unmeasured unnoticed."""
    if not os.environ.get("CI") or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    lacking = filter(None, config.getoption("--may-lack").split(","))
    if not any(MISSING_EXTRA.format(extra) in reason for extra in lacking):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be skipped: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, collector.config)
    return report


@pytest.fixture(scope="session", autouse=True)
def untried() -> Generator[None]:
    """No attacker repeats the whole process of the many small runs of tests; `repeated` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation_price, "MOST_SECONDS", 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Generator[None]:
    """No test waits for the disk: what outlives a power cut cannot be seen here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def own_log() -> Generator[None]:
    """A test that asks for JSON lines leaves the log as it was: their stream is closed when it ends."""
    logger = logging.getLogger("hybrid")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker repeats the whole process, as in every run outside of tests."""
    monkeypatch.setattr(evaluation_price, "MOST_SECONDS", MOST_SECONDS)


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Adult census as a CSV file: 32,561 records x 15 columns."""
    return unpack("adult_census/adult.csv", tmp_path_factory.mktemp("adult_census"))


@pytest.fixture(scope="session")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Adult thirds and of synthetic tables that leak a known share of the training rows."""
    folder = tmp_path_factory.mktemp("leaky")
    for name in LEAKY:
        unpack(f"adult_census/leaky/{name}.csv", folder)
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240501)
