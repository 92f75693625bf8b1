"""Protection of values that few people hold.

No such value enters anything that learns.
"""

from hybrid.protect.categories import refuse_texts, text_problems
from hybrid.protect.options import ColumnChoice, ProtectOptions
from hybrid.protect.protect_table import ColumnProtection, Protected, Protection, protect

__all__ = [
    "ColumnChoice",
    "ColumnProtection",
    "ProtectOptions",
    "Protected",
    "Protection",
    "protect",
    "refuse_texts",
    "text_problems",
]
