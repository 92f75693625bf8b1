"""Protection of values that few people hold.

No such value enters anything that learns.
"""

from hybrid.protect.categories import text_problems
from hybrid.protect.options import ProtectOptions
from hybrid.protect.protect_table import Protected, Protection, protect

__all__ = [
    "ProtectOptions",
    "Protected",
    "Protection",
    "protect",
    "text_problems",
]
