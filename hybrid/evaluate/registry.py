"""Every metric there is. A new one is a file with ``METRICS`` and one line here."""

from __future__ import annotations

from types import ModuleType

from hybrid.evaluate.fidelity import columns, joint, pairs
from hybrid.evaluate.metric import Metric
from hybrid.evaluate.privacy import (
    anonymity,
    attribution,
    canary,
    closeness,
    copies,
    counting_queries,
    exposed,
    inference,
    inference_model,
    linkability,
    membership,
    singling_out,
    twins,
)
from hybrid.evaluate.utility import discriminator, prediction, queries

MODULES: tuple[ModuleType, ...] = (
    anonymity,
    copies,
    closeness,
    singling_out,
    linkability,
    inference,
    inference_model,
    attribution,
    twins,
    membership,
    exposed,
    canary,
    counting_queries,
    prediction,
    discriminator,
    queries,
    columns,
    pairs,
    joint,
)

REGISTRY: dict[str, Metric] = {metric.name: metric for module in MODULES for metric in module.METRICS}
