"""Risk model "retraining": attackers who train the generator again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from hybrid.base.options import Options
from hybrid.evaluation.options import RetrainOptions
from hybrid.lab.risk.model import Level, RiskModel, Series
from hybrid.lab.risk.overfit import trained

Attack = Literal["bagging_membership", "counting_queries", "target_attention"]


class RetrainingOptions(Options):
    """Section ``risk.retraining`` of a plan."""

    generators: dict[str, dict[str, Any]] = Field(
        default={"cart": {"min_leaf": 5, "smoothing": 0}}, min_length=1, validate_default=True
    )
    """Generators by name, and their options."""
    attacks: tuple[Attack, ...] = Field(default=("bagging_membership",), min_length=1)
    """Attacks that are made; the only metrics of these tables."""
    drawn: tuple[Annotated[float, Field(gt=0, le=100)], ...] = Field(default=(0.25, 1.0, 4.0), min_length=1)
    """Rows that the attacker draws from each training, as multiples of its records."""
    retrain: RetrainOptions = RetrainOptions(records=5, shadows=50, tests=50, bagging=25, rows=200)
    """Effort, as ``evaluate.retrain`` of a run configuration; the trainings are most of the cost."""


class Retraining(RiskModel):
    """Attackers with the generator, over the rows that they draw."""

    name = "retraining"
    title = "An attacker who trains the generator again"
    sentence = (
        "An attacker trains the generator with and without a person, and compares the tables: how much that tells, by "
        "the rows drawn each time."
    )
    Options = RetrainingOptions

    def series(self, options: RetrainingOptions) -> tuple[Series, ...]:
        """One series over the drawn rows per generator."""
        effort = options.retrain.model_dump(mode="json")
        return tuple(
            Series(
                generator,
                "rows drawn from each training, as a multiple of its records",
                "none",
                tuple(
                    Level(
                        value,
                        trained(generator, own)
                        | {"evaluate.retrain": effort | {"drawn": value}, "evaluate.metrics": list(options.attacks)},
                    )
                    for value in options.drawn
                ),
            )
            for generator, own in options.generators.items()
        )


RETRAINING = Retraining()
