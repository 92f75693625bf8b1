"""Type aliases for arrays; shapes and dtypes are given in docstrings."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
