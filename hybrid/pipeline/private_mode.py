"""Differentially private mode: its defaults, what contradicts it, and what it promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError, Problem
from hybrid.hierarchy.listed import listed_values
from hybrid.pipeline.explanation import Condition, Explanation
from hybrid.privacy.accounting import Budget
from hybrid.privacy.plan import column_problems
from hybrid.publication import private_words
from hybrid.synthesize.registry import REGISTRY
from hybrid.table import Role, Schema
from hybrid.table.options import EACH_ROW

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

_OF_THE_MODE = ("epsilon", "delta", "rho", "rows_per_person", "bins")
"""Options of a generator that the section ``privacy`` decides."""
_DEFAULTS: dict[str, dict[str, Any]] = {
    "split": {"independent": True},
    "output": {"identifiers": "drop"},
    "synthesize": {"generator": "aim"},
}


def with_private_defaults(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a configuration with the defaults of its privacy mode.

    What it states itself stays, and is refused where it contradicts the mode.
    """
    if not content.get("privacy"):
        return content
    sections = {
        name: defaults | dict(content[name])
        for name, defaults in _DEFAULTS.items()
        if isinstance(content.get(name), Mapping)
    }
    missing = {name: dict(defaults) for name, defaults in _DEFAULTS.items() if content.get(name) is None}
    return {"protect": "off", **content, **sections, **missing}


def accountable() -> list[str]:
    """Names of the generators that keep an account of their budget."""
    return [name for name, generator in REGISTRY.items() if "rho" in generator.Options.model_fields]


def private_problems(config: RunConfig) -> Iterator[Problem]:
    """Everything that a configuration may not do beside ``privacy.mode: dp``."""
    if config.privacy is None:
        return
    yield from _unit(config)
    yield from _readers(config)
    yield from _generator(config)
    if config.seed is not None:
        yield Problem("seed is set: who knows it can repeat the draws of a private table", "leave seed out")
    if config.output.identifiers != "drop":
        yield Problem("output.identifiers: surrogates are values that no record has, which reveals some", "set drop")
    for name, column in config.data.columns.items():
        if column.role is Role.WEIGHT:
            yield Problem(f"data.columns.{name}: weights are calibrated to margins of the records", "leave it out")
        elif column.role.is_learned and column.kind is None:
            yield Problem(f"data.columns.{name}: the kind would be inferred from the records", "set kind")


def _unit(config: RunConfig) -> Iterator[Problem]:
    """Contradictions about the person who is protected."""
    data, split = config.data, config.split
    if data.person is None:
        yield Problem(
            "data.person: privacy.mode dp protects persons, and whose a row is was not said",
            f"name the identifier column, or set {EACH_ROW} where each row is another person",
        )
    if data.person_columns and data.max_rows is None:
        yield Problem(
            "data.max_rows: the rows of a person need a limit, which the noise grows with",
            "set data.max_rows, such as 1",
        )
    if data.household_columns:
        yield Problem("data.household: members of a household would share a side of the split", "leave it out")
    if not split.independent or split.rows is not None or split.key is not None or split.release:
        yield Problem(
            "split: one person more or less must not move others between training and control",
            "set split.control alone; rows, key, release and independent: false are not for privacy.mode dp",
        )


def _readers(config: RunConfig) -> Iterator[Problem]:
    """Stages that read records without noise."""
    stages = {
        "protect": (config.protection is not None, "set protect: off; private domains take its place"),
        "anonymize": (config.anonymize is not None, "leave it out; levels and suppression depend on the records"),
        "sample": (config.sample.method != "none", "leave it out"),
        "constraints": (
            bool(config.constraints),
            "leave them out; what holds is counted in the records",
        ),
        "risk": (config.risk is not None, "leave it out"),
        "synthesize.where": (config.synthesize.where is not None, "leave it out; who meets it is counted"),
        "synthesize.filter": (config.synthesize.filter is not None, "leave it out; it reads the records again"),
    }
    for key, (is_set, hint) in stages.items():
        if is_set:
            yield Problem(f"{key} is set beside privacy.mode dp, where nothing reads records without noise", hint)


def _generator(config: RunConfig) -> Iterator[Problem]:
    chosen = config.synthesize
    if chosen.generator not in accountable():
        yield Problem(
            f"synthesize.generator {chosen.generator} keeps no account of a privacy budget",
            f"use {' or '.join(accountable())}",
        )
    for key in _OF_THE_MODE:
        if key in chosen.options:
            yield Problem(f"synthesize.options.{key}: the section privacy decides it", "leave it out")


def refuse_undeclared(config: RunConfig, schema: Schema) -> None:
    """Check that every column has a domain that no record decides.

    Parameters
    ----------
    config : RunConfig
        Of any mode; only ``dp`` is checked.
    schema : Schema
        The table's columns.

    Raises
    ------
    ConfigError
        Names every column without kind or bounds.
    """
    if config.privacy is None:
        return
    learned = schema.without_identifiers()
    problems = [
        Problem(f"data.columns: {name!r} is not listed, and its kind would be inferred from the records", "list it")
        for name in learned.names
        if name not in config.data.columns
    ]
    problems += column_problems(learned, config.privacy, listed_values(learned, config.hierarchy_sources))
    if problems:
        raise ConfigError(problems)


def explain_private(config: RunConfig, *, secret_seed: bool, spent: Budget | None = None) -> Explanation:
    """State the guarantee of a configuration with ``privacy.mode: dp``.

    Parameters
    ----------
    config : RunConfig
        Consistent (:func:`private_problems`).
    secret_seed : bool
        Whether the seed was drawn, not given.
    spent : Budget, optional
        Account of a run that is done.
    """
    options = config.privacy
    assert options is not None
    most = 1 if config.data.max_rows is None else config.data.max_rows
    unit = (
        "each row is another person" if not config.data.person_columns else f"at most {most} rows of a person are used"
    )
    checks = {
        f"whose a row is was declared: {unit}": True,
        "each person's side of the split is drawn independently of others": config.split.independent,
        "kinds, bounds and listed values of columns were declared; other domains are found by noisy counts": True,
        "no stage but private domains and the generator reads records": not list(_readers(config)),
        "the noise is drawn in whole numbers from random bits of the operating system": True,
        "the seed of everything else was drawn and is secret": secret_seed,
    }
    conditions = tuple(Condition(text, met) for text, met in checks.items())
    unmet = [condition.text for condition in conditions if not condition.met]
    if unmet:
        return Explanation(
            False, conditions, (), f"No differential privacy is claimed: that needs that {'; that '.join(unmet)}."
        )
    text = " ".join(private_words.guarantee(config.model_dump(mode="json")))
    return Explanation(
        True, conditions, (), text if spent is None else f"{text} {private_words.account(spent.to_json())}"
    )
