"""Risk model "dp": generators with a privacy budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

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
                (NO_LEAK, *(Level(value, trained(name, {"epsilon": value})) for value in options.levels)),
            )
            for name in options.generators
        )


DP = Dp()
