"""Generalization hierarchies: reading, building, checking; values to nodes and back."""

from hybrid.hierarchy.hierarchy import MISSING, ROOT, Hierarchy
from hybrid.hierarchy.labels import LabelTable
from hybrid.hierarchy.levels import from_levels

__all__ = ["MISSING", "ROOT", "Hierarchy", "LabelTable", "from_levels"]
