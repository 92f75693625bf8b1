"""Reuse of kept models, and resumption of interrupted training."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hybrid.base.arrays import Array
from hybrid.base.hashing import fingerprint
from hybrid.base.progress import Progress, silent
from hybrid.store import Store
from hybrid.synthesize.fitted import FittedGenerator, fit, fit_all_levels, model_version
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
) -> FittedGenerator:
    """Fit a generator, or reuse a stored model or checkpoint.

    As :func:`hybrid.synthesize.fit`, with a store that keeps trained models and the checkpoints of unfinished ones.

    The key of a model covers the table's content, the generator's options, the seed, the code behind the generator
    and the versions of the libraries it is trained with; the number of drawn rows, the limits of its process and the
    level among the snapshots of one training do not count. Generators without extra packages take seconds and are not
    kept.
    """
    generator, own = options.engine, options.resolve()
    shared = training_options(own)
    if not generator.requires:
        return fit(table, options, seed, progress, domains=domains)
    require(generator)
    key = fingerprint(STAGE, shared, table, domains, seed, model_version(generator))
    trained = False

    def train() -> FittedGenerator:
        nonlocal trained
        trained = True
        return fit_all_levels(table, options, seed, progress, store.unfinished(STAGE, key), domains)

    fitted = store.get_or_compute(STAGE, key, train)
    if not trained:
        logger.info("%s: trained before on the same table with the same options: the kept model is used", fitted.name)
    return fitted.at(drawn_level(own)).limited(options.limits)
