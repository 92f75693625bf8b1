"""Compare strategies: a factorial plan, one run per configuration and seed, stages shared between runs."""

from hybrid.compare.plan import ComparePlan, Trial, load_plan, trials
from hybrid.compare.run import compare
from hybrid.compare.table import metric_names, write_comparison
from hybrid.compare.trial import run_trial

__all__ = [
    "ComparePlan",
    "Trial",
    "compare",
    "load_plan",
    "metric_names",
    "run_trial",
    "trials",
    "write_comparison",
]
