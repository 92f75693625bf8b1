"""Filter of drawn rows that lie near a training record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hybrid.base.arrays import Mask
from hybrid.base.errors import GeneratorError
from hybrid.base.rng import rng_for
from hybrid.evaluation.attacks.row_scores import row_scores
from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EvaluateOptions
from hybrid.pipeline.generation import Filtered, Generated
from hybrid.synthesize.options import FilterOptions
from hybrid.table import Table
from hybrid.table.persons import person_groups
from hybrid.table.schema import concat_rows

LEAST_DRAWN = 100
"""Rows of a further round at least."""
Again = Callable[[int, int], Table]
"""``again(n, round)`` draws n further rows; each round has random numbers of its own."""


def filtered(
    generated: Generated, train: Table, control: Table, options: FilterOptions, seed: int, again: Again
) -> Generated:
    """Leave out rows with a low score, and draw new ones.

    ``train`` are the original training records, which the rows must not lie near; ``control`` gives the scale of
    distances, and no metric sees it later.
    """

    def good(table: Table) -> Mask:
        context = Context(train, control, table, EvaluateOptions(max_records=None), seed)
        return np.asarray(row_scores(context, options.score) >= options.limit)

    kept = good(generated.table)
    table, wanted = generated.table.take(np.flatnonzero(kept)), len(kept)
    drawn, removed = [wanted], [wanted - int(kept.sum())]
    for number in range(1, options.rounds + 1 if options.action == "regenerate" else 1):
        lacking = wanted - len(table)
        if not lacking:
            break
        share = max(1 - sum(removed) / sum(drawn), 1 / wanted)
        more = again(min(max(math.ceil(1.2 * lacking / share), LEAST_DRAWN), max(wanted, LEAST_DRAWN)), number)
        fine = np.flatnonzero(good(more))
        drawn, removed = [*drawn, len(more)], [*removed, len(more) - len(fine)]
        table = Table(concat_rows(table.frame, more.take(fine[:lacking]).frame), table.schema)
    if options.action == "regenerate" and len(table) < wanted:
        raise GeneratorError(
            f"synthesize.filter: after {options.rounds} further rounds {wanted - len(table):,} of {wanted:,} rows are "
            f"lacking; {sum(removed) / sum(drawn):.0%} of all drawn rows lie too near to a training record",
            hint="a filter does not repair a generator that copies: use larger leaves (min_leaf) or fewer epochs",
        )
    order = rng_for(seed, "filter").permutation(len(table))
    counts = Filtered(tuple(drawn), tuple(removed))
    return replace(generated, table=replace(table, named_persons=None).take(order), filtered=counts)


def control_halves(control: Table, seed: int) -> tuple[Table, Table]:
    """Control records for the filter, and for the evaluation.

    Each person is in one half. A filter judged on the control records that it used looks better than it is.
    """
    people = person_groups(control.persons)
    n_people = int(people.max(initial=-1)) + 1
    first = np.isin(people, rng_for(seed, "control of the filter").permutation(n_people)[: n_people // 2])
    mine, others = (control.take(np.flatnonzero(rows)) for rows in (first, ~first))
    return mine, others
