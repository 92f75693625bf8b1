"""Public domains: values of columns as their hierarchy files list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from hybrid.base.arrays import Array
from hybrid.hierarchy.load import HierarchySource, read_hierarchy
from hybrid.hierarchy.read import YAML_SUFFIXES, read_spec
from hybrid.hierarchy.spec import rule_of
from hybrid.table import DTYPES, Schema


def listed_values(schema: Schema, sources: Mapping[str, HierarchySource]) -> dict[str, Array]:
    """The values that files list, by column.

    Parameters
    ----------
    schema : Schema
        The table's columns.
    sources : mapping of str to Path or HierarchySpec
        Hierarchy file of each column, or its description.

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
        source = sources.get(column.name)
        if source is not None and _lists_all(source):
            found[column.name] = read_hierarchy(source, column, pd.Series([], dtype=DTYPES[column.kind])).leaves
    return found


def _lists_all(source: HierarchySource) -> bool:
    if isinstance(source, Sequence) or (isinstance(source, Path) and source.suffix.lower() not in YAML_SUFFIXES):
        return True
    return rule_of(read_spec(source) if isinstance(source, Path) else source) is None
