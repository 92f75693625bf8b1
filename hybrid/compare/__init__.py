"""Compare strategies: a plan of configurations, one run per configuration and seed, stages shared between runs."""

from hybrid.compare.forecast import Forecast, forecast
from hybrid.compare.plan import ComparePlan, load_plan
from hybrid.compare.run import compare
from hybrid.compare.schedule import trials
from hybrid.compare.table import metric_names
from hybrid.compare.trial import Trial, run_trial
from hybrid.compare.written import write_comparison

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
    "write_comparison",
]
