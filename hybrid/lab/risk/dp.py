"""Risk model "dp": generators with a privacy budget."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.lab.risk.model import NO_LEAK, Level, RiskModel, Series
from hybrid.lab.risk.overfit import trained


class DpOptions(Options):
    """Section ``risk.dp`` of a plan."""

    generators: tuple[str, ...] = Field(default=("privbayes",), min_length=1)
    """Generators with an option ``epsilon``: aim, mst and privbayes; dpgan and pategan in their environment,
    whose budgets bound nothing."""
    levels: tuple[Annotated[float, Field(gt=0)], ...] = Field(default=(0.1, 1.0, 10.0, 100.0, 1000.0), min_length=2)
    """Budgets, ascending."""
    fixed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Further options of these generators, by name, the same at every budget."""

    @model_validator(mode="after")
    def _tried(self) -> Self:
        others = [name for name in self.fixed if name not in self.generators]
        if others:
            raise ValueError(f"fixed has options of {', '.join(others)}, which generators does not name")
        return self


class Dp(RiskModel):
    """Generators with ever larger privacy budgets."""

    name = "dp"
    title = "A generator with a privacy budget"
    sentence = "A generator that adds noise for a budget epsilon gets an ever larger one, so that it may leak more."
    Options = DpOptions

    def series(self, options: DpOptions) -> tuple[Series, ...]:
        """One series over the budgets per generator."""
        return tuple(
            Series(
                name,
                f"epsilon of {name}",
                "order",
                (NO_LEAK, *(Level(value, _settings(options, name, value)) for value in options.levels)),
            )
            for name in options.generators
        )


def _settings(options: DpOptions, generator: str, epsilon: float) -> dict[str, Any]:
    return trained(generator, options.fixed.get(generator, {}) | {"epsilon": epsilon})


DP = Dp()
