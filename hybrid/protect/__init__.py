"""Protection of values that few people hold.

No such value enters anything that learns.
"""

from hybrid.protect.categories import text_problems
from hybrid.protect.options import ProtectOptions
from hybrid.protect.protect_table import Protected, Protection, protect
from hybrid.protect.related_dates import Start

__all__ = [
    "ProtectOptions",
    "Protected",
    "Protection",
    "Start",
    "protect",
    "text_problems",
]
