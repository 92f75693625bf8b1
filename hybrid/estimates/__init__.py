"""Estimates of means, shares and regression models, and rules that combine those of several synthetic tables."""

from hybrid.estimates.combine import Estimates, Rule, combine
from hybrid.estimates.estimate import estimate
from hybrid.estimates.formula import Design, ModelFormula
from hybrid.estimates.models import Fit, fit, propensities
from hybrid.estimates.survey import NotEstimable, Survey

__all__ = [
    "Design",
    "Estimates",
    "Fit",
    "ModelFormula",
    "NotEstimable",
    "Rule",
    "Survey",
    "combine",
    "estimate",
    "fit",
    "propensities",
]
