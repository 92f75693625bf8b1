"""Constraints between columns: declared, checked, held while rows are drawn."""

from hybrid.constraints.constraint import Constraint
from hybrid.constraints.gaps import Gap
from hybrid.constraints.hold import DrawCondition, Redrawn, draw_held, first_draw, restore_held
from hybrid.constraints.hot_deck import Form, HotDeck, fixed_columns
from hybrid.constraints.kinds.computed import Computed
from hybrid.constraints.registry import KINDS, AnyConstraint
from hybrid.constraints.rules import Rules

__all__ = [
    "KINDS",
    "AnyConstraint",
    "Computed",
    "Constraint",
    "DrawCondition",
    "Form",
    "Gap",
    "HotDeck",
    "Redrawn",
    "Rules",
    "draw_held",
    "first_draw",
    "fixed_columns",
    "restore_held",
]
