"""Evaluation: privacy, utility and fidelity of a table, measured against the people it was made from."""

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.evaluation.run_metrics import evaluate

__all__ = ["REGISTRY", "EvaluateOptions", "Evaluation", "Measure", "MetricResult", "NotComputable", "evaluate"]
