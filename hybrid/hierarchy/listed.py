"""Public domains: values of columns as their hierarchy files list them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from hybrid.base.arrays import Array
from hybrid.hierarchy.load import read_hierarchy
from hybrid.hierarchy.read import YAML_SUFFIXES, read_spec
from hybrid.hierarchy.spec import rule_of
from hybrid.table import DTYPES, Schema


def listed_values(schema: Schema, paths: Mapping[str, Path]) -> dict[str, Array]:
    """The values that files list, by column.

    Parameters
    ----------
    schema : Schema
        The table's columns.
    paths : mapping of str to Path
        Hierarchy file of each column.

    Returns
    -------
    dict of str to numpy.ndarray
        In the file's order, in the dtype of ``Hierarchy.leaves``, without the missing value. Only columns whose file
        names every value: CSV, and YAML of the types ``tree`` and ``groups`` (without ``others``).

    Raises
    ------
    HierarchyError
        A file cannot be read.
    """
    found: dict[str, Array] = {}
    for column in schema:
        path = paths.get(column.name)
        if path is not None and _lists_all(path):
            found[column.name] = read_hierarchy(path, column, pd.Series([], dtype=DTYPES[column.kind])).leaves
    return found


def _lists_all(path: Path) -> bool:
    if path.suffix.lower() not in YAML_SUFFIXES:
        return True
    return rule_of(read_spec(path)) is None
