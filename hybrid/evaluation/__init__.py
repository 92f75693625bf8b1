"""Evaluation of privacy, utility and fidelity against the original records."""

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.evaluation.run_metrics import evaluate

__all__ = ["REGISTRY", "EvaluateOptions", "Evaluation", "Measure", "MetricResult", "NotComputable", "evaluate"]
