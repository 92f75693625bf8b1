"""Audited walk of a configuration, with what is stated of it."""

from __future__ import annotations

from hybrid.hierarchy.load import listed_values
from hybrid.lab.audit_dp.canaries import declared_letters, listed_letters
from hybrid.lab.audit_dp.stated import Stated
from hybrid.lab.audit_dp.walk import Walk
from hybrid.pipeline.guarantees import stated_budget
from hybrid.pipeline.pipeline import Pipeline
from hybrid.privacy.accounting import rho_for
from hybrid.privacy.domain import PrivacyOptions
from hybrid.privacy.plan import KEYS_SHARE
from hybrid.table import Kind

_PUBLIC_DRAWS = 400
"""Rows that a game draws where the number of records counts as public."""


def walk_of(pipeline: Pipeline) -> Walk:
    """The walk of a configuration that states differential privacy, without anonymization."""
    options = pipeline.config.privacy
    return _of_generator(pipeline) if options is None else _of_mode(pipeline, options)


def _of_mode(pipeline: Pipeline, options: PrivacyOptions) -> Walk:
    config, schema = pipeline.config, pipeline.table.schema
    learned = schema.without_identifiers()
    listed = listed_values(learned, config.hierarchy_sources)
    searched = any(
        column.kind is Kind.CATEGORICAL
        and column.name not in listed
        and (column.name not in options.columns or options.columns[column.name].values is None)
        for column in learned
    )
    delta = KEYS_SHARE * options.delta if searched else 0.0
    stated = Stated(
        options.epsilon,
        options.delta,
        rho_for(options.epsilon, options.delta - delta),
        delta,
        config.data.max_rows or 1,
    )
    return Walk(config, schema, declared_letters(learned, options, listed), stated)


def _of_generator(pipeline: Pipeline) -> Walk:
    """The walk of a generator with a budget of its own.

    The number of records counts as public there, and so does which columns have missing values.
    """
    config, schema = pipeline.config, pipeline.table.schema
    learned = schema.without_identifiers()
    budget = stated_budget(config)
    assert budget is not None
    epsilon, delta = budget
    stated = Stated(epsilon, delta, rho_for(epsilon, delta), draws=_PUBLIC_DRAWS, protects_missing=False)
    return Walk(config, schema, listed_letters(learned, listed_values(learned, config.hierarchy_sources)), stated)
