"""Generalization hierarchies: reading, building, checking; values to nodes and back."""

from hybrid.hierarchy.hierarchy import MISSING, ROOT, Hierarchy, from_levels
from hybrid.hierarchy.labels import LabelTable

__all__ = ["MISSING", "ROOT", "Hierarchy", "LabelTable", "from_levels"]
