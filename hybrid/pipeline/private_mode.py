"""Differentially private mode: its defaults and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import Problem, refuse
from hybrid.base.sentence import sentence, sentences
from hybrid.hierarchy.load import listed_values
from hybrid.pipeline.privacy_statements import Explanation, conditions_of, not_met, unmet
from hybrid.pipeline.refusals import reads_without_noise
from hybrid.privacy.accounting import Budget
from hybrid.privacy.plan import column_problems
from hybrid.publication import private_words
from hybrid.table import Schema

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

DECLARED = "it was declared that each row is another person"
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


def refuse_undeclared(config: RunConfig, schema: Schema) -> None:
    """Check that every column has a domain that no record decides."""
    if config.privacy is None:
        return
    learned = schema.without_identifiers()
    problems = [
        Problem(f"data.columns: {name!r} is not listed, and its kind would be inferred from the records", "list it")
        for name in learned.names
        if name not in config.data.columns
    ]
    problems += column_problems(learned, config.privacy, listed_values(learned, config.hierarchy_sources))
    refuse(problems)


def explain_private(config: RunConfig, *, secret_seed: bool, spent: Budget | None = None) -> Explanation:
    """State the guarantee of a configuration with ``privacy.mode: dp``.

    ``spent`` is the account of a run that is done.
    """
    options = config.privacy
    assert options is not None
    most = 1 if config.data.max_rows is None else config.data.max_rows
    rows = sentence("explained.rows", n=most) if config.data.person_columns else DECLARED
    checks = {
        rows: True,
        "each person's side of the split is drawn independently of others": config.split.independent,
        "kinds, bounds and listed values of columns were declared; other domains are found by noisy counts": True,
        "no stage but private domains and the generator reads records": not reads_without_noise(config),
        "the noise is drawn in whole numbers from random bits of the operating system": True,
        "the seed of everything else was drawn and is secret": secret_seed,
    }
    conditions = conditions_of(checks)
    missing = unmet(conditions)
    if missing:
        return Explanation(False, conditions, (), sentences(sentence("guarantee.claim.none"), not_met(missing)))
    account = "" if spent is None else private_words.account(spent.to_json())
    return Explanation(
        True, conditions, (), sentences(*private_words.guarantee(config.model_dump(mode="json")), account)
    )
