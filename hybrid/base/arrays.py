"""Names for array types.

What the numbers mean; shapes are given in the docstrings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Anything."""

Codes = npt.NDArray[np.signedinteger[Any]]
"""Numbers 0..n-1 of categories, groups, classes or rows' codes; where documented, -1 for none."""

Rows = npt.NDArray[np.signedinteger[Any]]
"""Positions of rows."""

Leaves = npt.NDArray[np.signedinteger[Any]]
"""Leaf ids of a hierarchy, 0..n_leaves-1."""

Nodes = npt.NDArray[np.signedinteger[Any]]
"""Node ids of a hierarchy, 0..n_nodes-1."""

Levels = npt.NDArray[np.signedinteger[Any]]
"""Levels of a hierarchy, 0 (values as they are) and up."""

Counts = npt.NDArray[np.signedinteger[Any]]
"""Numbers of records, people or entries."""

Mask = npt.NDArray[np.bool_]
"""True for what is meant."""

Numbers = npt.NDArray[np.float64]
"""Measurements: shares, losses, distances, weights; also counts that are kept as floats."""
