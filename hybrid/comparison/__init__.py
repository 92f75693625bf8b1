"""Comparison of strategies: a plan of configurations, one run per configuration and seed, with shared stages."""

from hybrid.comparison.forecast import forecast
from hybrid.comparison.plan import ComparePlan, load_plan
from hybrid.comparison.results import compare

__all__ = ["ComparePlan", "compare", "forecast", "load_plan"]
