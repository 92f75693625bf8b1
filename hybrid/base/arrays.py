"""Names for array types; shapes and dtypes stand in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
