"""Risk models: series of tables whose leak is known or ordered, and the shares that leak.

A new one is the options of its section, the function that turns them into series, and an entry of :data:`REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from hybrid.base.options import Options
from hybrid.base.sentence import sentence
from hybrid.evaluation.options import EvaluateOptions, RetrainOptions
from hybrid.evaluation.planted_leaks import FORMS, Leak, LeakName
from hybrid.evaluation.planted_leaks import LEAKS as PLANTED_LEAKS
from hybrid.pipeline.risk import Scale as NoiseScale

Scale = Literal["share", "order", "none"]


@dataclass(frozen=True)
class Level:
    """One position of a dial."""

    value: float
    settings: Mapping[str, Any]
    """Dotted keys of the run configuration that make the table."""


@dataclass(frozen=True)
class Series:
    """Levels of one dial, from the least leak to the largest."""

    name: str
    """Distinguishes the series of a risk model, such as the generator; empty where there is one."""
    dial: str
    scale: Scale
    """share: values of the dial are shares of leaked records; order: only the order of the levels is known; none: no
    level is known to leak more than another, and there is no verdict."""
    levels: tuple[Level, ...]
    """In order; the first one is without a leak, but for ``none``."""
    control: str = ""
    """Series of as many people removed by chance, where others are; empty: there is none."""


@dataclass(frozen=True)
class RiskModel:
    """Source of tables with a known leak."""

    name: str
    title: str
    sentence: str
    """Its heading and explanation."""
    Options: type[Options] = Options
    series: Callable[[Any], Sequence[Series]] = lambda _: ()


def leak(share: float, **keys: Any) -> dict[str, Any]:
    return {"synthesize.generator": "none", "risk": {"model": "leaky", "leak": share, **keys}}


def trained(generator: str, options: Mapping[str, Any]) -> dict[str, Any]:
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


def _leaky(options: LeakyOptions) -> list[Series]:
    return [Series("", "share of records leaked", "share", tuple(Level(f, leak(f)) for f in options.levels))]


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


def _noisy(options: NoisyCopiesOptions) -> list[Series]:
    chosen = [on for on in product((False, True), repeat=3) if options.noise == "all" or sum(on) != 2]
    return [_with_noise(options, on) for on in chosen]


def _with_noise(options: NoisyCopiesOptions, on: tuple[bool, ...]) -> Series:
    noise = {key: options.size for key, is_on in zip(KINDS, on, strict=True) if is_on}
    keys = {"model": "noisy", "scale": options.scale, **noise} if noise else {}
    levels = tuple(Level(f, leak(f, **keys) if f else leak(f)) for f in options.levels)
    name = f"noise on {', '.join(KINDS[key] for key in noise)}" if noise else NO_NOISE
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
        """Options at every level; the dial overfit keeps the weights of all levels from one training."""
        return self.fixed | ({"snapshots": list(self.levels)} if self.dial == "overfit" else {})


CART: dict[str, Any] = {"dial": "min_leaf", "levels": [50, 20, 10, 5, 2, 1], "fixed": {"smoothing": 0}}
"""Trees with ever smaller leaves, without smoothing: at 1 they repeat the training records."""


class OverfitOptions(Options):
    """Section ``risk.overfit`` of a plan."""

    generators: dict[str, Dial] = Field(default={"cart": CART}, min_length=1, validate_default=True)
    """Generators by name, and the dial of each."""


def _overfit(options: OverfitOptions) -> list[Series]:
    return [_turned(name, dial.dial, dial.shared, dial.levels) for name, dial in options.generators.items()]


def _turned(generator: str, dial: str, fixed: Mapping[str, Any], values: Sequence[float]) -> Series:
    made = (Level(value, trained(generator, {**fixed, dial: _plain(value)})) for value in values)
    return Series(generator, f"{dial} of {generator}", "order", (NO_LEAK, *made))


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


def _dp(options: DpOptions) -> list[Series]:
    return [_turned(name, "epsilon", options.fixed.get(name, {}), options.levels) for name in options.generators]


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


def _outliers(options: OutliersOptions) -> list[Series]:
    return [
        Series(
            series_name(generator, by, whom),
            "share of the people removed before training",
            "none",
            tuple(Level(share, _settings(generator, own, share, by, whom)) for share in options.remove),
            "" if by == CONTROL else series_name(generator, CONTROL, whom),
        )
        for generator, own in options.generators.items()
        for by in options.by
        for whom in options.measured
    ]


def series_name(generator: str, by: By, whom: Measured) -> str:
    return f"{generator}, by {WAYS[by]}, {WHOM[whom]}"


def _settings(generator: str, own: dict[str, Any], share: float, by: By, whom: Measured) -> dict[str, Any]:
    settings = trained(generator, own)
    if share:
        settings["risk"] = {"model": "outliers", "remove": share, "by": by, "measured": whom}
    return settings


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


def _retraining(options: RetrainingOptions) -> list[Series]:
    effort, found = options.retrain.model_dump(mode="json"), []
    for generator, own in options.generators.items():
        settings = trained(generator, own) | {"evaluate.metrics": list(options.attacks)}
        levels = (Level(n, settings | {"evaluate.retrain": effort | {"drawn": n}}) for n in options.drawn)
        dial = "rows drawn from each training, as a multiple of its records"
        found.append(Series(generator, dial, "none", tuple(levels)))
    return found


class SizeOptions(Options):
    """Section ``risk.size`` of a plan."""

    leak: tuple[Share, ...] = Field(default=(0.0, 0.2), min_length=1)
    """Shares of leaked records."""
    factors: tuple[Annotated[float, Field(gt=0, le=10)], ...] = Field(default=(0.25, 0.5, 1.0), min_length=2)
    """Records of the table, as multiples of the training records. Beyond 1, the split needs more fresh records than
    training records."""


def _size(options: SizeOptions) -> list[Series]:
    dial = "records, as a multiple of the training records"
    return [
        Series(f"leak of {100 * f:g} %", dial, "none", tuple(Level(n, leak(f, size=n)) for n in options.factors))
        for f in options.leak
    ]


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


def _hyperparameters(options: HyperparameterOptions) -> list[Series]:
    return [
        Series(
            f"{key}, leak of {100 * share:g} %",
            f"evaluate.{key}",
            "none",
            tuple(Level(value, leak(share) | {f"evaluate.{key}": _plain(value)}) for value in values),
        )
        for key, values in options.vary.items()
        for share in options.leak
    ]


OF_PEOPLE: dict[LeakName, str] = {
    "exposed": "percent of the most exposed people",
    "group": "percent of the group",
    "histories": "percent of the people with several rows",
}
"""Dials of the leaks whose size is no share of the table's rows."""
PARTS_OF_PEOPLE = (0.25, 0.5, 1.0)
"""Sizes of those leaks."""


def planted_sizes(name: str, of_rows: Sequence[float]) -> tuple[float, ...]:
    """Sizes that are planted, where leaks of rows have those given."""
    return PARTS_OF_PEOPLE if name in OF_PEOPLE else tuple(of_rows)


def planted_series(leak: Leak, of_rows: Sequence[float]) -> Series:
    """The dial of one way to choose the leaked people, from no leak on."""
    sizes = (0.0, *planted_sizes(leak.name, of_rows))
    if leak.name in OF_PEOPLE:
        return Series(leak.way, OF_PEOPLE[leak.name], "order", tuple(Level(100 * f, {}) for f in sizes))
    return Series(leak.way, "share of rows leaked", "share", tuple(Level(f, {}) for f in sizes))


PLANTED: dict[str, RiskModel] = {
    name: RiskModel(
        name,
        FORMS[name][0].upper() + FORMS[name][1:],
        sentence("lab.planted", leak=leak.in_words(0.2)),
    )
    for name, leak in PLANTED_LEAKS.items()
}
"""Leaks that are planted into a table from elsewhere: no sections of a plan, since no configuration makes the table."""
OUTLIERS = RiskModel(
    "outliers",
    "Training without outliers",
    "A generator learns without the most unusual people: what that changes beyond a removal by chance.",
    OutliersOptions,
    _outliers,
)
REGISTRY: dict[str, RiskModel] = {
    model.name: model
    for model in (
        RiskModel(
            "leaky",
            "Copied records",
            "A known share of the table are training records as they are; the rest are people never used.",
            LeakyOptions,
            _leaky,
        ),
        RiskModel(
            "noisy",
            "Copied records with noise",
            "A known share of the table are training records whose values were moved a little.",
            NoisyCopiesOptions,
            _noisy,
        ),
        RiskModel(
            "overfit",
            "A generator that remembers",
            "A generator is turned step by step from learning patterns to repeating records.",
            OverfitOptions,
            _overfit,
        ),
        RiskModel(
            "dp",
            "A generator with a privacy budget",
            "A generator that adds noise for a budget epsilon gets an ever larger one, so that it may leak more.",
            DpOptions,
            _dp,
        ),
        OUTLIERS,
        RiskModel(
            "retraining",
            "An attacker who trains the generator again",
            "An attacker trains the generator with and without a person, and compares the tables: how much that tells, "
            "by the rows drawn each time.",
            RetrainingOptions,
            _retraining,
        ),
        RiskModel(
            "size",
            "Smaller and larger tables",
            "The share of copied records is the same; only the number of records differs, which should not matter.",
            SizeOptions,
            _size,
        ),
        RiskModel(
            "hyperparameters",
            "Other options of the metrics",
            "The same tables are measured with other options: how far the choice of an option decides the number.",
            HyperparameterOptions,
            _hyperparameters,
        ),
    )
}
"""Risk models that a plan may name (thesis, sections 3.3.5 and 4.4.2, figure 4.8)."""
KNOWN: dict[str, RiskModel] = {**REGISTRY, **PLANTED}
"""All risk models, those of planted leaks with them."""
