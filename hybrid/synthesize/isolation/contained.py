"""Containment of libraries: printing, warnings, global random states."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what a library prints and warns about from the terminal."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the global random generators of Python, numpy and (if imported) torch; restore their states afterwards."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch else None
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if torch:
            torch.set_rng_state(torch_state)
