"""Registry of metrics.

A new metric is a file with ``METRICS`` and one line here. A package of its own has the file and an entry point of the
group ``hybrid.metrics``, which names the module; the laboratory's metrics come in so.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import MutableMapping
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from hybrid.base.errors import ConfigError
from hybrid.base.manifest import PACKAGE
from hybrid.evaluation.metric import Metric

MODULES: tuple[ModuleType, ...] = tuple(
    import_module(f"hybrid.evaluation.{name}")
    for name in (
        "attacks.anonymity",
        "attacks.copies",
        "attacks.rare_values",
        "attacks.closeness",
        "attacks.singling_out",
        "attacks.shared_cells",
        "attacks.copied_digits",
        "attacks.linkability",
        "attacks.inference",
        "attacks.attribution",
        "attacks.twins",
        "attacks.close_values",
        "attacks.distribution",
        "attacks.membership",
        "attacks.membership_battery",
        "attacks.membership_flow",
        "attacks.membership_model",
        "attacks.persons",
        "attacks.near_histories",
        "attacks.exposed",
        "attacks.row_scores",
        "attacks.membership_trained",
        "attacks.membership_whitebox",
        "utility.prediction",
        "utility.discriminator",
        "utility.analyses",
        "utility.c2st",
        "utility.by_group",
        "fidelity.columns",
        "fidelity.pairs",
        "fidelity.histories",
        "fidelity.constraints",
        "fidelity.content",
        "fidelity.references",
        "fidelity.weighted",
        "fidelity.joint",
        "fidelity.exclusion",
    )
)
"""Those of this package that policies judge, or that a run computes by itself; see :func:`modules` for all."""
GROUP = "hybrid.metrics"
"""Group of entry points. Each names a module with ``METRICS``, a tuple of entries; with ``BEFORE``, if it has a place
among others, the name of the metric that it is listed before (else it comes last); and with ``PRICES``, if a metric
costs more than a pass over the cells (:mod:`hybrid.evaluation.price`)."""
RENAMED = {"membership_pool": "membership_trained", "membership_pool_random": "membership_trained_random"}
"""Earlier names of metrics, which configurations and policies may still have."""


@cache
def modules() -> tuple[ModuleType, ...]:
    """All modules of metrics, in the order in which results are listed."""
    ordered, waiting = list(MODULES), [_loaded(entry) for entry in _entries()]
    while waiting:
        module = next((one for one in waiting if _place(ordered, one) is not None), waiting[0])
        place = _place(ordered, module)
        ordered.insert(len(ordered) if place is None else place, module)
        waiting.remove(module)
    names = [metric.name for module in ordered for metric in module.METRICS]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(
            f"two modules have a metric of this name: {', '.join(twice)}",
            hint=f"rename it, or uninstall one of the packages with an entry point {GROUP}",
        )
    return tuple(ordered)


@cache
def foreign_packages() -> tuple[str, ...]:
    """Distributions beside this one that bring metrics, sorted."""
    names = {entry.dist.name for entry in _entries() if entry.dist is not None}
    return tuple(sorted(names - {PACKAGE}))


def _entries() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def _loaded(entry: EntryPoint) -> ModuleType:
    try:
        found = entry.load()
    except Exception as error:  # what another package's module raises at import can be anything
        raise ConfigError(
            f"the entry point {entry.name} of {GROUP} cannot be loaded: {type(error).__name__}",
            hint=f"repair or uninstall the package that has {entry.value}",
        ) from error
    if not isinstance(found, ModuleType) or not hasattr(found, "METRICS"):
        raise ConfigError(f"the entry point {entry.name} of {GROUP} names no module with METRICS: {entry.value}")
    return found


def _place(ordered: list[ModuleType], module: ModuleType) -> int | None:
    """Place of a module in the list; None where the metric that it comes before is not there (yet)."""
    before = getattr(module, "BEFORE", None)
    found = (at for at, one in enumerate(ordered) if any(metric.name == before for metric in one.METRICS))
    return next(found, None)


class _Registry(UserDict[str, Metric]):
    """Metrics by name. Modules are loaded when it is first read: those of other packages import this one."""

    def __init__(self) -> None:
        """Leave :attr:`data` to its first reader."""

    @cached_property
    def data(self) -> dict[str, Metric]:  # type: ignore[override]
        return {metric.name: metric for module in modules() for metric in module.METRICS}


REGISTRY: MutableMapping[str, Metric] = _Registry()
"""All metrics by name, in the order of :func:`modules`."""
