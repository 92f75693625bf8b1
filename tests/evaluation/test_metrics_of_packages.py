"""Metrics that other packages bring: their place, their price, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation import price, registry
from hybrid.evaluation.context import Context
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.price import Price, Sizes

CACHES = registry.modules, registry.foreign_packages, price._prices
SIZES = Sizes(1000, 500, 1000, 10, {None: 1})


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    for cache in CACHES:
        cache.cache_clear()
    yield
    for cache in CACHES:
        cache.cache_clear()


def metric(name: str) -> Metric:
    def compute(context: Context) -> Measure:
        return Measure(float(len(context.table)))

    return fidelity(compute, "The number of rows.", name=name)


def installed(monkeypatch: pytest.MonkeyPatch, **modules: ModuleType) -> None:
    """Entry points of these modules, and no others."""
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"other.{name}", module)
    found = [EntryPoint(name, f"other.{name}", registry.GROUP) for name in modules]
    monkeypatch.setattr(registry, "_entries", lambda: found)


def module(name: str, before: str | None = None, **content: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update({"METRICS": (metric(name),)} | ({} if before is None else {"BEFORE": before}) | content)
    return made


def names() -> list[str]:
    return [metric.name for module in registry.modules() for metric in module.METRICS]


def test_a_metric_comes_before_the_one_it_names_or_last(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [metric.name for module in registry.MODULES for metric in module.METRICS]
    installed(monkeypatch, a=module("a", "b"), b=module("b", "tstr"), c=module("c"), d=module("d", "nowhere"))
    found = names()
    assert found[-2:] == ["c", "d"]
    at = found.index("tstr")
    assert found[at - 2 : at] == ["a", "b"]
    assert [name for name in found if name in own] == own


def test_a_metric_before_the_very_first_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, a=module("a", "k_reached"))
    assert names()[0] == "a"


def test_a_metric_says_its_own_price(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, a=module("a", PRICES={"a": Price(cells=100.0)}), b=module("b"))
    dear, cheap = (price.price(metric(name), SIZES, EvaluateOptions()) for name in "ab")
    assert dear > 10 * cheap


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (module("tstr"), "two modules have a metric of this name: tstr"),
        (ModuleType("empty"), "names no module with METRICS"),
    ],
)
def test_what_is_refused(other: ModuleType, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, other=other)
    with pytest.raises(ConfigError, match=message):
        registry.modules()


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", lambda: [EntryPoint("gone", "not_there.metrics", registry.GROUP)])
    with pytest.raises(ConfigError, match=r"gone of .* cannot be loaded: ModuleNotFoundError"):
        registry.modules()


def test_no_other_package_brings_metrics_here() -> None:
    assert registry.foreign_packages() == ()
