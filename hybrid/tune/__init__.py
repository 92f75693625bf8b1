"""Settings chosen by use and by attack, on the training people alone."""

from hybrid.tune.apply import applied
from hybrid.tune.tune import Tuned, tune

__all__ = ["Tuned", "applied", "tune"]
