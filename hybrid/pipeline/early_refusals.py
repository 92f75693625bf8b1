"""Checks of the later stages of a table before the first one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.anonymize.search.problem import k_problem
from hybrid.base.errors import ConfigError, InfeasibleError, Problem
from hybrid.constraints.checks import refuse_misfits
from hybrid.evaluation.run_metrics import check_options
from hybrid.pipeline.conditions import refuse_misfit
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.identifying_texts import refuse_identifying
from hybrid.pipeline.private_mode import refuse_undeclared
from hybrid.pipeline.refusals import TABLES, refusal
from hybrid.synthesize.registry import require
from hybrid.table import Table
from hybrid.table.holders import n_with_key
from hybrid.table.surrogates import TABLE_NUMBER

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun


def refuse_early(run: TableRun) -> None:
    """Refuse what a later stage could not do."""
    config, schema = run.config, run.table.schema
    _ = run.policy
    if not config.synthesize.is_off:
        require(config.synthesize.engine)
    check_options(config.evaluate, schema.without_identifiers())
    _ = run.inputs.beside.register
    if config.synthesize.tables > 1 and TABLE_NUMBER in schema:
        raise ConfigError([refusal(TABLES, f"column {TABLE_NUMBER}")])
    if config.privacy is None:
        refuse_identifying(config, run.table)
    refuse_misfits(config.constraints, schema)
    refuse_misfit(config, schema)
    refuse_undeclared(config, schema)
    problem = None if config.rows_stay else too_great_k(config, run.train)
    if problem is not None:
        raise InfeasibleError(problem)
    _ = run.selection


def too_great_k(config: RunConfig, train: Table) -> Problem | None:
    """Problem of a k that is greater than the number of training people, before anything is searched."""
    options = config.anonymize
    if options is None or not (options.generalizes or config.promised_k):
        return None
    return k_problem(options.k, n_with_key(train.persons), rows_are_persons=train.rows_are_persons)
