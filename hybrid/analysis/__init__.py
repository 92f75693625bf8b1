"""Statistics of a comparison: effects, the paradox, rankings, a recommendation."""

from hybrid.analysis.recommend import Answers, answer
from hybrid.analysis.results import Results, results

__all__ = ["Answers", "Results", "answer", "results"]
