"""Registry of metrics.

A new metric is a file with ``METRICS`` and one line here.
"""

from __future__ import annotations

from types import ModuleType

from hybrid.evaluation.attacks import (
    anonymity,
    attribution,
    bagging,
    canary,
    close_values,
    closeness,
    contrastive,
    copied_digits,
    copies,
    counting_queries,
    distribution,
    exposed,
    inference,
    inference_model,
    inference_neighbours,
    inference_queries,
    key_attribution,
    linkability,
    membership,
    membership_flow,
    membership_model,
    membership_trained,
    membership_whitebox,
    near_histories,
    origin,
    persons,
    rare_values,
    row_scores,
    shared_cells,
    singling_out,
    spherelets,
    target_attention,
    twins,
)
from hybrid.evaluation.fidelity import (
    columns,
    constraints,
    content,
    dates,
    exclusion,
    histories,
    joint,
    pairs,
    references,
    weighted,
)
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.utility import by_group, c2st, discriminator, each_column, prediction, queries

MODULES: tuple[ModuleType, ...] = (
    anonymity,
    copies,
    rare_values,
    closeness,
    singling_out,
    shared_cells,
    copied_digits,
    linkability,
    inference,
    inference_model,
    inference_neighbours,
    attribution,
    key_attribution,
    twins,
    close_values,
    distribution,
    origin,
    membership,
    membership_flow,
    membership_model,
    persons,
    near_histories,
    exposed,
    contrastive,
    row_scores,
    spherelets,
    canary,
    counting_queries,
    target_attention,
    bagging,
    membership_trained,
    membership_whitebox,
    inference_queries,
    prediction,
    each_column,
    discriminator,
    queries,
    c2st,
    by_group,
    columns,
    pairs,
    histories,
    dates,
    constraints,
    content,
    references,
    weighted,
    joint,
    exclusion,
)

RENAMED = {"membership_pool": "membership_trained", "membership_pool_random": "membership_trained_random"}
"""Earlier names of metrics, which configurations and policies may still have."""
REGISTRY: dict[str, Metric] = {metric.name: metric for module in MODULES for metric in module.METRICS}
