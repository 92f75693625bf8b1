"""Risk model "overfit": generators that learn too closely."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hybrid.base.options import Options
from hybrid.lab.risk.model import NO_LEAK, Level, RiskModel, Series


class Dial(Options):
    """An option of a generator that makes it remember more."""

    dial: str = Field(min_length=1)
    """The generator's option."""
    levels: tuple[float, ...] = Field(min_length=2)
    """Its values, from the one that remembers least."""
    fixed: dict[str, Any] = Field(default_factory=dict)
    """Further options of the generator, the same at every level."""

    @property
    def shared(self) -> dict[str, Any]:
        """Options of the generator at every level.

        The dial overfit keeps the weights of all levels from one training.
        """
        return self.fixed | ({"snapshots": list(self.levels)} if self.dial == "overfit" else {})


CART: dict[str, Any] = {"dial": "min_leaf", "levels": [50, 20, 10, 5, 2, 1], "fixed": {"smoothing": 0}}
"""Trees with ever smaller leaves, without smoothing: at 1 they repeat the training records."""


class OverfitOptions(Options):
    """Section ``risk.overfit`` of a plan."""

    generators: dict[str, Dial] = Field(default={"cart": CART}, min_length=1, validate_default=True)
    """Generators by name, and the dial of each."""


class Overfit(RiskModel):
    """Generators that learn ever more closely (thesis, section 3.3.5)."""

    name = "overfit"
    title = "A generator that remembers"
    sentence = "A generator is turned step by step from learning patterns to repeating records."
    Options = OverfitOptions

    def series(self, options: OverfitOptions) -> tuple[Series, ...]:
        """One series over the dial per generator."""
        return tuple(self._of(generator, dial) for generator, dial in options.generators.items())

    def _of(self, generator: str, dial: Dial) -> Series:
        made = tuple(
            Level(value, trained(generator, dial.shared | {dial.dial: _plain(value)})) for value in dial.levels
        )
        return Series(generator, f"{dial.dial} of {generator}", "order", (NO_LEAK, *made))


def trained(generator: str, options: dict[str, Any]) -> dict[str, Any]:
    """Settings of a table drawn from a trained generator."""
    return {"risk": None, "synthesize.generator": generator, "synthesize.options": options}


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


OVERFIT = Overfit()
