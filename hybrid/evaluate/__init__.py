"""Evaluation: privacy, utility and fidelity of a table, measured against the people it was made from."""

from hybrid.evaluate.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.evaluate.options import EvaluateOptions
from hybrid.evaluate.registry import REGISTRY
from hybrid.evaluate.run import evaluate

__all__ = ["REGISTRY", "EvaluateOptions", "Evaluation", "Measure", "MetricResult", "NotComputable", "evaluate"]
