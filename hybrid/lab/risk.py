"""Risk models: series of tables whose leak is known or ordered, and the shares that leak.

A new one is its class and its name in :data:`REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from hybrid.base.options import Options
from hybrid.evaluation.options import EvaluateOptions, RetrainOptions
from hybrid.evaluation.planted_leaks import FORMS, LeakName
from hybrid.evaluation.planted_leaks import LEAKS as PLANTED_LEAKS
from hybrid.pipeline.risk import Scale as NoiseScale

Scale = Literal["share", "order", "none"]


@dataclass(frozen=True)
class Level:
    """One position of a dial."""

    value: float
    """As the dial shows it."""
    settings: Mapping[str, Any]
    """Dotted keys of the run configuration that make the table."""


@dataclass(frozen=True)
class Series:
    """Levels of one dial, from the least leak to the largest."""

    name: str
    """Distinguishes the series of a risk model, such as the generator; empty where there is one."""
    dial: str
    """Name of the dial."""
    scale: Scale
    """share: values of the dial are shares of leaked records; order: only the order of the levels is known; none: no
    level is known to leak more than another, and there is no verdict."""
    levels: tuple[Level, ...]
    """In order; the first one is without a leak, but for ``none``."""


class RiskModel:
    """Source of tables with a known leak.

    ``name`` is its key in a plan, ``title`` its heading, ``sentence`` its explanation, ``Options`` its section of a
    plan, and ``series`` turns that section into trials.
    """

    name: str
    title: str
    sentence: str
    Options: type[Options]

    def series(self, options: Any) -> tuple[Series, ...]:
        """Series of trials of a section of the plan."""
        raise NotImplementedError


def leak(share: float, **keys: Any) -> dict[str, Any]:
    """Settings of a table with this share of training records."""
    return {"synthesize.generator": "none", "risk": {"model": "leaky", "leak": share, **keys}}


def trained(generator: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a table drawn from a trained generator."""
    return {"risk": None, "synthesize.generator": generator, "synthesize.options": dict(options)}


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


NO_LEAK = Level(0.0, leak(0.0))
"""Fresh records alone: the first level of every dial."""


LEAKS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Fine near 0, where sensitivity is decided."""


def _from_none(shares: tuple[float, ...]) -> tuple[float, ...]:
    if shares[0] != 0 or any(a >= b for a, b in pairwise(shares)):
        raise ValueError("shares begin with 0 and rise")
    return shares


Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=2), AfterValidator(_from_none)]


class LeakyOptions(Options):
    """Section ``risk.leaky`` of a plan."""

    levels: Shares = LEAKS
    """Shares of the table's records that are training records, from 0."""


class Leaky(RiskModel):
    """Training records as they are among fresh ones (thesis, section 3.3.5)."""

    name = "leaky"
    title = "Copied records"
    sentence = "A known share of the table are training records as they are; the rest are people never used."
    Options = LeakyOptions

    def series(self, options: LeakyOptions) -> tuple[Series, ...]:
        """One series over the shares."""
        return (Series("", "share of records leaked", "share", tuple(Level(f, leak(f)) for f in options.levels)),)


KINDS = {"sigma": "amounts", "lambda": "counts", "p": "categories"}
"""Noise and what it moves."""
NO_NOISE = "no noise"


class NoisyCopiesOptions(Options):
    """Section ``risk.noisy`` of a plan."""

    levels: Shares = (0.0, 0.05, 0.2, 0.5, 1.0)
    """Shares of the table's records that are training records with noise, from 0."""
    noise: Literal["all", "each"] = "all"
    """all: every combination of the three noises, eight settings; each: none, one at a time, and all three."""
    size: Annotated[float, Field(gt=0, le=1)] = 0.05
    """Of each noise: standard deviation, mean number of steps, probability."""
    scale: NoiseScale = "relative"
    """As ``risk.scale`` of a run configuration."""


class NoisyCopies(RiskModel):
    """Training records with noise among fresh ones (thesis, section 3.3.5)."""

    name = "noisy"
    title = "Copied records with noise"
    sentence = "A known share of the table are training records whose values were moved a little."
    Options = NoisyCopiesOptions

    def series(self, options: NoisyCopiesOptions) -> tuple[Series, ...]:
        """One series over the shares per combination of noises."""
        chosen = [on for on in product((False, True), repeat=3) if options.noise == "all" or sum(on) != 2]
        return tuple(self._of(options, on) for on in chosen)

    def _of(self, options: NoisyCopiesOptions, on: tuple[bool, ...]) -> Series:
        noise = {key: options.size for key, is_on in zip(KINDS, on, strict=True) if is_on}
        if noise:
            keys = {"model": "noisy", "scale": options.scale, **noise}
            settings = {f: leak(f) | {"risk": {"leak": f, **keys}} if f else leak(f) for f in options.levels}
        else:
            settings = {f: leak(f) for f in options.levels}
        moved = [KINDS[key] for key in noise]
        name = f"noise on {', '.join(moved)}" if moved else NO_NOISE
        levels = tuple(Level(f, each) for f, each in settings.items())
        return Series(name, "share of records leaked", "share", levels)


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
                (
                    NO_LEAK,
                    *(
                        Level(value, trained(name, options.fixed.get(name, {}) | {"epsilon": value}))
                        for value in options.levels
                    ),
                ),
            )
            for name in options.generators
        )


By = Literal["lof", "encoder", "vulnerability", "random"]
Measured = Literal["all", "kept"]
WAYS: dict[By, str] = {
    "lof": "local outlier factor",
    "encoder": "local outlier factor of an encoder's points",
    "vulnerability": "vulnerability",
    "random": "chance",
}
WHOM: dict[Measured, str] = {"all": "all people", "kept": "the people left"}
CONTROL: By = "random"

REMEMBERING = {"cart": {"min_leaf": 5, "smoothing": 0}}


class OutliersOptions(Options):
    """Section ``risk.outliers`` of a plan."""

    generators: dict[str, dict[str, Any]] = Field(default=REMEMBERING, min_length=1, validate_default=True)
    """Generators by name, and their options; one that remembers shows most."""
    remove: Annotated[tuple[Annotated[float, Field(ge=0, le=0.5)], ...], AfterValidator(_from_none)] = Field(
        default=(0.0, 0.01, 0.05, 0.1), min_length=2
    )
    """Shares of the people that are removed before training, from 0."""
    by: tuple[By, ...] = Field(default=("lof", "vulnerability", CONTROL), min_length=1)
    """What makes them unusual; chance is the control."""
    measured: tuple[Measured, ...] = Field(default=("all", "kept"), min_length=1)
    """Whom the metrics take for the people at risk: all of them, or those that were learned."""


class Outliers(RiskModel):
    """Generators that never see the most unusual people (thesis, section 4.4.2)."""

    name = "outliers"
    title = "Training without outliers"
    sentence = "A generator learns without the most unusual people: what that changes beyond a removal by chance."
    Options = OutliersOptions

    def series(self, options: OutliersOptions) -> tuple[Series, ...]:
        """One series over the shares per generator, way, and people at risk."""
        return tuple(
            Series(
                series_name(generator, by, whom),
                "share of the people removed before training",
                "none",
                tuple(Level(share, _settings(generator, own, share, by, whom)) for share in options.remove),
            )
            for generator, own in options.generators.items()
            for by in options.by
            for whom in options.measured
        )


def series_name(generator: str, by: By, whom: Measured) -> str:
    """Name of a series."""
    return f"{generator}, by {WAYS[by]}, {WHOM[whom]}"


def _settings(generator: str, own: dict[str, Any], share: float, by: By, whom: Measured) -> dict[str, Any]:
    settings = trained(generator, own)
    if share:
        settings["risk"] = {"model": "outliers", "remove": share, "by": by, "measured": whom}
    return settings


OUTLIERS = Outliers()


Attack = Literal["bagging_membership", "counting_queries", "target_attention"]


class RetrainingOptions(Options):
    """Section ``risk.retraining`` of a plan."""

    generators: dict[str, dict[str, Any]] = Field(default=REMEMBERING, min_length=1, validate_default=True)
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


class SizeOptions(Options):
    """Section ``risk.size`` of a plan."""

    leak: tuple[Share, ...] = Field(default=(0.0, 0.2), min_length=1)
    """Shares of leaked records."""
    factors: tuple[Annotated[float, Field(gt=0, le=10)], ...] = Field(default=(0.25, 0.5, 1.0), min_length=2)
    """Records of the table, as multiples of the training records. Beyond 1, the split needs more fresh records than
    training records."""


class Size(RiskModel):
    """The same leak in smaller and larger tables (thesis, fig. 4.8)."""

    name = "size"
    title = "Smaller and larger tables"
    sentence = "The share of copied records is the same; only the number of records differs, which should not matter."
    Options = SizeOptions

    def series(self, options: SizeOptions) -> tuple[Series, ...]:
        """One series over the sizes per share of leaked records."""
        return tuple(
            Series(
                f"leak of {100 * share:g} %",
                "records, as a multiple of the training records",
                "none",
                tuple(Level(factor, leak(share, size=factor)) for factor in options.factors),
            )
            for share in options.leak
        )


VARIED: dict[str, tuple[float, ...]] = {
    "radius": (0.01, 0.05, 0.1, 0.2, 0.5),
    "dcr_percentile": (1.0, 2.0, 5.0),
    "linkability_neighbours": (1, 2, 5, 10),
    "tolerance": (0.01, 0.05, 0.1),
}


class HyperparameterOptions(Options):
    """Section ``risk.hyperparameters`` of a plan."""

    leak: tuple[Share, ...] = Field(default=(0.0, 0.2), min_length=1)
    """Shares of leaked records."""
    vary: dict[str, tuple[float, ...]] = Field(default=VARIED, min_length=1)
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


# Leaks that are planted into a table from elsewhere are no sections of a plan: no configuration makes the table.

OF_PEOPLE: dict[LeakName, str] = {
    "exposed": "percent of the most exposed people",
    "group": "percent of the group",
    "histories": "percent of the people with several rows",
}
"""Dials of the leaks whose size is no share of the table's rows."""
PARTS_OF_PEOPLE = (0.25, 0.5, 1.0)
"""Sizes of those leaks."""


class PlantedLeak(RiskModel):
    """One kind of planted leak, as :data:`hybrid.evaluation.planted_leaks.LEAKS` plants it."""

    Options = Options

    def __init__(self, name: LeakName) -> None:
        self.name = name
        self.title = FORMS[name][0].upper() + FORMS[name][1:]
        self.sentence = (
            f"Planted into the table in rising sizes, such as {PLANTED_LEAKS[name].words.format(size='20 %')}."
        )

    def sizes(self, of_rows: Sequence[float]) -> tuple[float, ...]:
        """Sizes that are planted, where leaks of rows have those given."""
        return PARTS_OF_PEOPLE if self.name in OF_PEOPLE else tuple(of_rows)

    def planted(self, way: str, of_rows: Sequence[float]) -> Series:
        """The dial of one way to choose its people, from no leak on."""
        sizes = self.sizes(of_rows)
        if self.name in OF_PEOPLE:
            return Series(way, OF_PEOPLE[self.name], "order", tuple(Level(100 * f, {}) for f in (0.0, *sizes)))
        return Series(way, "share of rows leaked", "share", tuple(Level(f, {}) for f in (0.0, *sizes)))


PLANTED: dict[str, PlantedLeak] = {name: PlantedLeak(name) for name in PLANTED_LEAKS}


REGISTRY: dict[str, RiskModel] = {
    model.name: model
    for model in (Leaky(), NoisyCopies(), Overfit(), Dp(), OUTLIERS, Retraining(), Size(), Hyperparameters())
}
"""Risk models that a plan may name."""
KNOWN: dict[str, RiskModel] = {**REGISTRY, **PLANTED}
"""All risk models, those of planted leaks with them."""
