"""Generalization hierarchies: reading, building, checking; values to nodes and back."""

from hybrid.hierarchy.labels import LabelTable
from hybrid.hierarchy.levels import flat_hierarchy, from_levels
from hybrid.hierarchy.tree import MISSING, Hierarchy

__all__ = ["MISSING", "Hierarchy", "LabelTable", "flat_hierarchy", "from_levels"]
