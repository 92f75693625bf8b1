"""Risk model "hyperparameters": other options of the metrics."""

from __future__ import annotations

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.evaluation.options import EvaluateOptions
from hybrid.lab.risk.model import Level, RiskModel, Series, Share, leak

DEFAULT: dict[str, tuple[float, ...]] = {
    "radius": (0.01, 0.05, 0.1, 0.2, 0.5),
    "dcr_percentile": (1.0, 2.0, 5.0),
    "linkability_neighbours": (1, 2, 5, 10),
    "tolerance": (0.01, 0.05, 0.1),
}


class HyperparameterOptions(Options):
    """Section ``risk.hyperparameters`` of a plan."""

    leak: tuple[Share, ...] = Field(default=(0.0, 0.2), min_length=1)
    """Shares of leaked records."""
    vary: dict[str, tuple[float, ...]] = Field(default=DEFAULT, min_length=1)
    """Options of the section ``evaluate``, and their values."""

    @model_validator(mode="after")
    def _known(self) -> HyperparameterOptions:
        unknown = [key for key in self.vary if key not in EvaluateOptions.model_fields]
        if unknown:
            raise ValueError(f"no such option of evaluate: {', '.join(unknown)}")
        return self


class Hyperparameters(RiskModel):
    """The same tables, measured with other options."""

    name = "hyperparameters"
    title = "Other options of the metrics"
    sentence = "The same tables are measured with other options: how far the choice of an option decides the number."
    Options = HyperparameterOptions

    def series(self, options: HyperparameterOptions) -> tuple[Series, ...]:
        """One series per option and share of leaked records."""
        return tuple(
            Series(
                f"{key}, leak of {100 * share:g} %",
                f"evaluate.{key}",
                "none",
                tuple(Level(value, leak(share) | {f"evaluate.{key}": _plain(value)}) for value in values),
            )
            for key, values in options.vary.items()
            for share in options.leak
        )


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


HYPERPARAMETERS = Hyperparameters()
