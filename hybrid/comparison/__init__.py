"""Comparison of strategies: a plan of configurations, one run per configuration and seed, with shared stages."""

from hybrid.comparison.forecast import Forecast, forecast
from hybrid.comparison.plan import ComparePlan, load_plan
from hybrid.comparison.results import compare, metric_names
from hybrid.comparison.schedule import trials
from hybrid.comparison.trial import Trial, run_trial

__all__ = [
    "ComparePlan",
    "Forecast",
    "Trial",
    "compare",
    "forecast",
    "load_plan",
    "metric_names",
    "run_trial",
    "trials",
]
