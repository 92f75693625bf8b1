"""Generation of a differentially private table, and its account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.generation import Generated
from hybrid.privacy.accounting import Budget, BudgetPart
from hybrid.privacy.domain import NumberDomain
from hybrid.privacy.plan import EncodedTable, encode_table
from hybrid.synthesize.fitted import blamed_on
from hybrid.synthesize.protocol import AccountedModel, Encoded, Feature
from hybrid.table import Schema, Table


@dataclass(frozen=True)
class PrivateTable(Generated):
    """Synthetic records, and the account of what they cost."""

    budget: Budget | None = None


def drawn_privately(
    config: RunConfig, train: Table, listed: Mapping[str, Array], seed: int, progress: Progress
) -> PrivateTable:
    """Draw a table that is differentially private.

    Parameters
    ----------
    config : RunConfig
        With the section ``privacy``.
    train : Table
        Training records without identifiers, of each person at most ``data.max_rows``. Rows without a person could be
        anybody's and are left out.
    listed : mapping of str to numpy.ndarray
        Values that hierarchy files list.
    seed : int
        Source of everything but the noise, which no seed repeats.
    progress : Progress
        Called while the generator learns.

    Raises
    ------
    GeneratorError
        The generator failed.
    ConfigError
        More was spent than the budget, which is an error of the program.
    """
    options = config.privacy
    assert options is not None
    people = train if train.persons is None else train.take(train.persons >= 0)
    most = config.data.max_rows or 1
    coded = encode_table(people, options, listed, most)
    model = _learned(config, coded, most, seed, progress)
    n_rows = coded.n_rows if config.synthesize.rows == "same" else config.synthesize.rows
    with blamed_on(config.synthesize.generator, "draw"):
        states = model.draw(n_rows, int(rng_for(seed, "private rows").integers(np.iinfo(np.int32).max)))
    spent = (*coded.parts, *(BudgetPart(name, rho) for name, rho in model.spent.items()))
    budget = Budget(options.epsilon, options.delta, most, spent)
    return PrivateTable(_table(coded, states, seed), budget=budget)


def _learned(config: RunConfig, coded: EncodedTable, most: int, seed: int, progress: Progress) -> AccountedModel:
    generator, own = config.synthesize.engine, config.synthesize.resolve()
    features = [
        Feature(
            domain.column.name,
            domain.size,
            ordered=isinstance(domain, NumberDomain),
            missing=True,
            target=domain.column.target,
            public=True,
        )
        for domain in coded.domains
    ]
    own = own.model_copy(update={"rho": coded.rho, "rows_per_person": most})
    with blamed_on(generator.name, "learn"):
        model = generator.learn(Encoded(features, coded.columns), own, seed, progress)
    assert isinstance(model, AccountedModel)
    return model


def _table(coded: EncodedTable, states: Sequence[Array], seed: int) -> Table:
    rng = rng_for(seed, "private values")
    drawn = zip(coded.domains, states, strict=True)
    frame = pd.DataFrame({domain.column.name: domain.decode(codes, rng) for domain, codes in drawn})
    return Table(frame, Schema(tuple(domain.column for domain in coded.domains)))
