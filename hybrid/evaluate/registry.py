"""Every metric there is. A new one is a file with ``METRICS`` and one line here."""

from __future__ import annotations

from types import ModuleType

from hybrid.evaluate.fidelity import columns, pairs
from hybrid.evaluate.metric import Metric
from hybrid.evaluate.privacy import anonymity, attribution, closeness, copies, inference, linkability, singling_out
from hybrid.evaluate.utility import discriminator, prediction

MODULES: tuple[ModuleType, ...] = (
    anonymity,
    copies,
    closeness,
    singling_out,
    linkability,
    inference,
    attribution,
    prediction,
    discriminator,
    columns,
    pairs,
)

REGISTRY: dict[str, Metric] = {metric.name: metric for module in MODULES for metric in module.METRICS}
