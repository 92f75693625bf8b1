"""Just-in-time compilation of loops with numba.

numba is slow to import: import this module only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba  # type: ignore[import-untyped, unused-ignore]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile without the interpreter lock, with machine code kept on disk where the folder allows it."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
