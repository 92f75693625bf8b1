"""Audited walk of a configuration, with what is stated of it."""

from __future__ import annotations

from hybrid.hierarchy.listed import listed_values
from hybrid.jobs.audit_dp.canaries import declared_letters
from hybrid.jobs.audit_dp.stated import Stated
from hybrid.jobs.audit_dp.walk import Walk
from hybrid.pipeline.pipeline import Pipeline
from hybrid.privacy.accounting import rho_for
from hybrid.privacy.plan import KEYS_SHARE
from hybrid.table import Kind


def walk_of(pipeline: Pipeline) -> Walk:
    """The walk of a private configuration without anonymization."""
    config, schema = pipeline.config, pipeline.table.schema
    options = config.privacy
    assert options is not None
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
