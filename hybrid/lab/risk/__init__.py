"""Registry of risk models.

A new one is its file and a line here.
"""

from hybrid.lab.risk.dp import DP
from hybrid.lab.risk.hyperparameters import HYPERPARAMETERS
from hybrid.lab.risk.leaky import LEAKY
from hybrid.lab.risk.model import Level, RiskModel, Series
from hybrid.lab.risk.noisy import NOISY
from hybrid.lab.risk.outliers import OUTLIERS
from hybrid.lab.risk.overfit import OVERFIT
from hybrid.lab.risk.planted import PLANTED, PlantedLeak
from hybrid.lab.risk.retraining import RETRAINING
from hybrid.lab.risk.size import SIZE

REGISTRY: dict[str, RiskModel] = {
    model.name: model for model in (LEAKY, NOISY, OVERFIT, DP, OUTLIERS, RETRAINING, SIZE, HYPERPARAMETERS)
}
"""Risk models that a plan may name."""
KNOWN: dict[str, RiskModel] = {**REGISTRY, **PLANTED}
"""All risk models, those of planted leaks with them."""

__all__ = ["KNOWN", "PLANTED", "REGISTRY", "Level", "PlantedLeak", "RiskModel", "Series"]
