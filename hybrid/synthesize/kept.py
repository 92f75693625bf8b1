"""Trained generators that a store keeps, for reuse and resumption."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.hashing import fingerprint
from hybrid.base.progress import Progress, silent
from hybrid.store import Store
from hybrid.synthesize.fitted import FittedGenerator, fit, model_version
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.registry import require
from hybrid.synthesize.snapshots import drawn_level, training_options
from hybrid.table import Table

logger = logging.getLogger(__name__)
STAGE = "model"


def fit_or_reuse(
    table: Table,
    options: SynthesizeOptions,
    seed: int,
    store: Store,
    progress: Progress = silent,
    domains: Mapping[str, Array] | None = None,
    *,
    static: Sequence[str] | None = None,
    parents: Table | None = None,
    only_kept: bool = False,
) -> FittedGenerator:
    """Fit a generator as :func:`hybrid.synthesize.fit`, or reuse a model that a store keeps, or a checkpoint.

    The key of a model covers the content of table and parents, the generator's options, the seed, the code of this
    package and the versions of the libraries it is trained with; the number of drawn rows, their condition, the limits
    of its process and the level among the snapshots of one training do not count. ``only_kept`` refuses to train:
    without a kept model nothing is drawn.
    """
    generator, own = options.engine, options.resolve()
    require(generator)
    above = None if parents is None else (parents, parents.named_persons)
    below = None if static is None and parents is None else (static and list(static), above, table.named_persons)
    known = (training_options(own), table, domains, seed, model_version(generator), below)
    key = "" if store.place is None else fingerprint(STAGE, *known)

    def train() -> FittedGenerator:
        left = store.unfinished(STAGE, key) if key and generator.requires else None
        return fit(table, options, seed, progress, left, domains, static=static, parents=parents, all_levels=True)

    fitted = _kept(store, key, train, generator.name, only_kept)
    return fitted.at(drawn_level(own)).limited(options.limits)


def _kept(store: Store, key: str, train: Callable[[], FittedGenerator], name: str, only_kept: bool) -> FittedGenerator:
    """The model of a key, trained if it is not kept; without a key nothing is kept."""
    trained = False

    def compute() -> FittedGenerator:
        nonlocal trained
        trained = True
        if only_kept:
            raise GeneratorError(
                f"{name}: the store keeps no model of this run any more, or another version of the program trained it",
                hint="repeat the run with its store, then draw; or draw in one run: hybrid run CONFIG "
                "--set synthesize.where=...",
            )
        return train()

    fitted = store.get_or_compute(STAGE, key, compute) if key else compute()
    if not trained:
        logger.info("%s: trained before on the same table with the same options: the kept model is used", name)
    return fitted
