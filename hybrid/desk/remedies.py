"""Actions on an unmet check: one changed setting, and a new run.

Only settings that protect more are offered so. What protects less, such as a smaller k, a person changes by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hybrid.pipeline.config import RunConfig
from hybrid.publication.verdict import Check

Value = str | int | float | bool
_LEAVES = 100
"""People of a leaf of cart where none were configured: twice the most that it chooses itself."""


@dataclass(frozen=True)
class Remedy:
    """A setting by its dotted key, and the value it gets."""

    key: str
    value: Value


def _larger_k(config: RunConfig) -> Value | None:
    return None if config.anonymize is None else 2 * config.anonymize.k


def _smaller_limit(config: RunConfig) -> Value | None:
    limit = 0.0 if config.anonymize is None else config.anonymize.suppression_limit
    return round(limit / 2, 4) or None


def _larger_leaves(config: RunConfig) -> Value | None:
    if config.synthesize.generator != "cart":
        return None
    least = getattr(config.synthesize.resolve(), "min_leaf", None)
    return 2 * least if least else _LEAVES


def _uniform(config: RunConfig) -> Value | None:
    return None if config.transition is None or config.transition.method in ("tree", "uniform") else "uniform"


def _half(config: RunConfig) -> Value | None:
    return 0.5 if config.anonymize is not None and config.sample.effective.beta == 1 else None


def _local(config: RunConfig) -> Value | None:
    return None if config.anonymize is None or config.anonymize.recoding == "local" else "local"


def _stable(config: RunConfig) -> Value | None:
    return None if config.split.stable else True


_WORDS: tuple[tuple[str, str, Callable[[RunConfig], Value | None]], ...] = (
    ("raise anonymize.k", "anonymize.k", _larger_k),
    ("lower anonymize.suppression_limit", "anonymize.suppression_limit", _smaller_limit),
    ("larger min_leaf", "synthesize.options.min_leaf", _larger_leaves),
    ("larger leaves", "synthesize.options.min_leaf", _larger_leaves),
    ("transition.method tree or uniform", "transition.method", _uniform),
    ("sample.beta below 1", "sample.beta", _half),
    ("recoding local", "anonymize.recoding", _local),
    ("set split.stable", "split.stable", _stable),
)
"""Words of a hint, the setting they are about, and its new value; None where it is made already, or not possible."""


def remedies_of(check: Check, config: RunConfig) -> Iterator[Remedy]:
    """Changes that the hint of a check asks for, without those that are made already."""
    for said, key, value_for in _WORDS:
        value = value_for(config) if said in check.hint else None
        if value is not None:
            yield Remedy(key, value)
