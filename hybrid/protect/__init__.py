"""Protection of values that few people hold.

No such value enters anything that learns.
"""

from hybrid.protect.options import ColumnChoice, ProtectOptions
from hybrid.protect.protect_table import Protected, protect
from hybrid.protect.result import ColumnProtection, Protection
from hybrid.protect.texts import refuse_texts, text_problems

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
