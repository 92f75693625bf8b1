"""A trained model in the hands of an attacker, who asks it about single records."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.synthesize.fitted import FittedGenerator, blamed_on
from hybrid.synthesize.isolation.job import IsolatedModel
from hybrid.synthesize.protocol import Encoded, Generator, InspectableGenerator
from hybrid.synthesize.snapshots import Snapshots
from hybrid.table import Table


def log_odds(fitted: FittedGenerator, generator: Generator, people: Table, reference: Table, seed: int) -> Array:
    """Evidence of a model about records, for an attacker who holds it.

    Parameters
    ----------
    fitted : FittedGenerator
        One that draws single rows.
    generator : Generator
        Who trained it; an :class:`~hybrid.synthesize.protocol.InspectableGenerator`.
    people : Table, n rows
        Records in the columns learned from.
    reference : Table, 1 row or more
        Records of other people of the population.
    seed : int
        The same seed gives the same numbers.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The larger, the more a record looks like one learned from. All 0 where no column varies.

    Raises
    ------
    GeneratorError
        The model could not be asked.
    """
    assert isinstance(generator, InspectableGenerator)
    model = fitted.model
    if model is None:
        return np.zeros(len(people))
    with blamed_on(fitted.name, "inspect"):
        mine, others = (
            _learned_states(fitted.codec.encode(table, rng_for(seed, "inspect"))) for table in (people, reference)
        )
        if isinstance(model, IsolatedModel):
            return model.log_odds(mine, others, seed)
        held = list(model.models.values())[-1] if isinstance(model, Snapshots) else model
        return generator.log_odds(held, mine, others, seed)


def _learned_states(data: Encoded) -> Encoded:
    """The same with -1 for missing values in columns that were learned without."""
    columns = [
        np.where(column < feature.n_levels, column, -1).astype(np.int32) if feature.is_discrete else column
        for feature, column in zip(data.features, data.columns, strict=True)
    ]
    return Encoded(data.features, columns, data.persons)
