"""What the thesis varied, read from a configuration whatever the plan's factors are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid.base.hashing import fingerprint
from hybrid.comparison.expand import Configuration, shown
from hybrid.pipeline.config import RunConfig

KNOBS = ("method", "order", "generator", "rows", "isolate", "time_limit", "memory_limit")
"""Options that are facets of their own, or change no number."""


def facets(configurations: Sequence[Configuration]) -> dict[str, dict[str, str]]:
    """Per configuration: k, sampling, beta, transition, order, generator, and ``rest``, equal where all else is equal.

    Where one transition or generator occurs with several options, its facet names them. Configurations that are not
    valid are left out.
    """
    configs = {each.name: each.config for each in configurations if each.config is not None}
    named = {
        "transition": _named({name: _section(config.transition, "method") for name, config in configs.items()}),
        "generator": _named({name: _section(config.synthesize, "generator") for name, config in configs.items()}),
    }
    return {
        name: {
            "k": "none" if config.anonymize is None else str(config.anonymize.k),
            "sampling": config.sample.method,
            "beta": "1" if config.sample.method == "none" else f"{config.sample.beta:g}",
            "transition": named["transition"][name],
            "order": "none" if config.transition is None else config.transition.order,
            "generator": named["generator"][name],
            "rest": _rest(config),
        }
        for name, config in configs.items()
    }


def _section(options: Any, key: str) -> tuple[str, str]:
    """The choice a section makes, and its own options in one line."""
    if options is None:
        return "none", ""
    given = options.model_dump(mode="json", exclude_defaults=True)
    return getattr(options, key), str(shown({name: value for name, value in given.items() if name not in KNOBS}))


def _named(sections: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The choice alone, with its options where it occurs with several."""
    variants = defaultdict(set)
    for choice, options in sections.values():
        variants[choice].add(options)
    return {
        name: choice if len(variants[choice]) == 1 else f"{choice} {options}".strip()
        for name, (choice, options) in sections.items()
    }


def _rest(config: RunConfig) -> str:
    """A fingerprint of what no other facet says."""
    anonymize = config.anonymize and config.anonymize.model_copy(update={"k": None})
    sample = config.sample.model_copy(update={"method": "none", "beta": 1.0})
    changes = {"anonymize": anonymize, "sample": sample, "transition": None, "synthesize": config.synthesize.rows}
    return fingerprint(config.model_copy(update=changes))
