"""Settings chosen by use and by attack, on the training people alone."""

from hybrid.tuning.search import Tuned, tune

__all__ = ["Tuned", "tune"]
