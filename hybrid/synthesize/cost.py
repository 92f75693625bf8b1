"""Cost of training: orders of magnitude of time and memory.

Every generator states what it would take on the machine these figures were measured on (one core of a two-core
virtual machine, Adult census, 2026); :func:`slowness` says how much slower the present one multiplies matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from hybrid.base.errors import GeneratorError

REFERENCE_SECONDS = 0.0085
"""CPU time of :func:`_probe` on the machine the coefficients were measured on."""
_SIZE, _ROUNDS = 256, 24


@dataclass(frozen=True)
class Cost:
    """Cost of training, and of drawing as many rows.

    Parameters
    ----------
    seconds : float
        On the reference machine, one core, no GPU; about.
    memory_bytes : int
        Peak of the process beyond the interpreter and its libraries; about.
    inputs : int
        States of all discrete columns and inputs of continuous ones, where a network has one for each; else 0.
    most_inputs : int
        The generator's limit for ``inputs``; 0: none.
    """

    seconds: float
    memory_bytes: int
    inputs: int = 0
    most_inputs: int = 0


def refuse_wide(generator: str, widths: Mapping[str, int], limit: int) -> None:
    """Stop before memory runs out.

    These networks have an input for every state of every discrete column.

    Parameters
    ----------
    generator : str
        As the message calls it.
    widths : mapping
        Inputs per column.
    limit : int
        Most inputs in all.

    Raises
    ------
    GeneratorError
        Names the columns with the most inputs.
    """
    needed = sum(widths.values())
    if needed <= limit:
        return
    widest = sorted(widths, key=lambda column: -widths[column])[:3]
    listed = ", ".join(f"{column!r} ({widths[column]} states)" for column in widest)
    raise GeneratorError(
        f"{generator} would need {needed} inputs (limit {limit}); the widest columns are {listed}",
        hint="generalize or drop those columns, raise max_inputs if memory allows, or use cart",
    )


@cache
def slowness() -> float:
    """Ratio of this machine's time to the reference machine's.

    Measured once, which takes a moment.
    """
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
