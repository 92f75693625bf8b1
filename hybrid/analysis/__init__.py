"""What the results of a comparison say: effects with intervals, the paradox, the best, and what to take."""

from hybrid.analysis.answer import Answers, answer
from hybrid.analysis.results import Results, results

__all__ = ["Answers", "Results", "answer", "results"]
