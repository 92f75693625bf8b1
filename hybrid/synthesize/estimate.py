"""Estimated cost of every generator on a table, for ``hybrid check``.

Every generator states what it would take on the machine that the figures were measured on (one core of a two-core
virtual machine, Adult census, 2026); :func:`slowness` says how much slower the present one multiplies matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from hybrid.base.errors import Finding
from hybrid.base.resources import available_bytes
from hybrid.base.sentence import sentence
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import Cost, Feature
from hybrid.synthesize.registry import REGISTRY
from hybrid.table import Table

REFERENCE_SECONDS = 0.0085
"""CPU time of :func:`_probe` on the machine the coefficients were measured on."""
_SIZE, _ROUNDS = 256, 24


@cache
def slowness() -> float:
    """Ratio of this machine's time to the reference machine's, measured once, which takes a moment."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return min(_timed(_probe) for _ in range(5)) / REFERENCE_SECONDS


def _probe() -> None:
    matrix = np.full((_SIZE, _SIZE), 1 / _SIZE, dtype=np.float32)
    product = matrix
    for _ in range(_ROUNDS):
        product = product @ matrix


def _timed(work: Callable[[], None]) -> float:
    """CPU seconds, so that a loaded machine does not look slow."""
    start = time.process_time()
    work()
    return time.process_time() - start


SLOW_SECONDS = 3600.0
"""From here on a hint is given: smaller settings, or a GPU."""


def estimate(table: Table, options: SynthesizeOptions) -> tuple[Cost, list[tuple[str, int]]]:
    """Estimated cost of training on a table here, and its columns with their numbers of states, most first.

    The table has one row or more and no identifiers; what the generator learns from is about as large.
    """
    cost, features = reference_cost(table, options)
    widths = sorted(((feature.name, feature.n_levels) for feature in features), key=lambda one: -one[1])
    return replace(cost, seconds=cost.seconds * slowness()), widths


def reference_cost(table: Table, options: SynthesizeOptions) -> tuple[Cost, Sequence[Feature]]:
    """Estimated cost of training on the machine that generators state theirs for, and the columns as they learn them.

    Parameters as :func:`estimate`.
    """
    generator, own = options.engine, options.resolve()
    features = Codec(table, generator.encoding(own)).features
    return generator.cost(features, len(table), own), features


def foreseen(table: Table, options: SynthesizeOptions, among: Iterable[str] = REGISTRY) -> Iterator[Finding]:
    """Forecast of time and memory before the generator starts.

    Parameters as :func:`estimate`; ``among``: generators that could take its place.
    """
    cost, widths = estimate(table, options)
    others = (name for name in among if name != options.generator)
    elsewhere = ((name, estimate(table, SynthesizeOptions(generator=name))[0].seconds) for name in others)
    by_time = sorted(elsewhere, key=lambda one: one[1])
    about = {"generator": options.generator}
    yield Finding(
        "note",
        sentence(
            "check.training",
            **about,
            time=in_words(cost.seconds),
            gb=f"{cost.memory_bytes / 2**30:.1f}",
            others=tuple(sentence("check.training.other", generator=name, time=in_words(one)) for name, one in by_time),
        ),
        "choose a smaller preset, fewer epochs or steps, or a GPU" if cost.seconds > SLOW_SECONDS else "",
    )
    widest = tuple(
        sentence("check.training.states", column=repr(name), n=levels) for name, levels in widths[:2] if levels
    )
    if cost.most_inputs and cost.inputs > cost.most_inputs:
        yield Finding(
            "error",
            sentence("check.training.inputs", **about, n=cost.inputs, limit=cost.most_inputs, widest=widest),
            "group those columns' values or leave them out, or use cart",
        )
    limit = options.limits.memory_bytes
    allowed = available_bytes() if limit is None else limit
    if cost.memory_bytes > allowed:
        name = "check.training.memory" if limit is None else "check.training.memory.limit"
        yield Finding(
            "note",
            sentence(name, **about, gb=f"{allowed / 2**30:.1f}", widest=widest),
            "group those columns' values, learn from fewer records, or use cart",
        )
    if options.time_limit is not None and cost.seconds > options.time_limit:
        yield Finding(
            "note",
            sentence("check.training.time", **about, time=f"{options.time_limit:g}"),
            "raise the limit, or choose fewer epochs or steps",
        )


def in_words(seconds: float) -> str:
    """A time with one significant unit: "2 s", "10 min", "45 h"."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
