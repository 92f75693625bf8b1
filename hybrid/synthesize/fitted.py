"""Fit any generator to a table, and draw tables from what it learned."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hybrid.errors import GeneratorError, HybridError
from hybrid.fingerprint import fingerprint, library_versions
from hybrid.progress import Progress, silent
from hybrid.randomness import stream
from hybrid.synthesize.base import Encoded, Model
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.job import learn_isolated
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.registry import require
from hybrid.table import Table

VERSIONED = ("hybrid-release", "numpy", "scikit-learn", "torch", "sdv", "ctgan", "realtabformer", "transformers")
"""Distributions whose versions decide what a model is."""


@dataclass(frozen=True)
class TrainingRecord:
    """What a model was trained on and with: equal records (but for ``seconds``) mean equal models on a CPU.

    ``trained_on`` is the fingerprint of the table, ``options`` the generator's own, ``versions`` those of
    :data:`VERSIONED` that are installed.
    """

    trained_on: str
    options: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    seconds: float


@dataclass(frozen=True)
class FittedGenerator:
    """A trained generator. Private, since it may remember records.

    Parameters
    ----------
    name : str
        The generator.
    codec : Codec
        Turns what the model draws into a table.
    model : Model or None
        None if no column varies: then there is nothing to learn.
    record : TrainingRecord or None
        What it was trained on; :func:`fit` sets it.
    """

    name: str
    codec: Codec
    model: Model | None
    record: TrainingRecord | None = None

    def sample(self, n_rows: int, seed: int) -> Table:
        """Draw exactly ``n_rows`` (0 or more) new rows.

        Returns
        -------
        Table
            With the schema, dtypes, categories and precision of the table learned from. The same seed gives the
            same rows.

        Raises
        ------
        GeneratorError
            The model could not draw that many rows, or drew something that is no value.
        """
        if n_rows < 0:
            raise ValueError("n_rows must not be negative")
        if self.model is None:
            return self.codec.decode([], n_rows)
        with _blamed_on(self.name, "draw"):
            columns = self.model.draw(max(n_rows, 1), seed)
        return self.codec.decode([column[:n_rows] for column in columns] if n_rows == 0 else columns, n_rows)


def fit(table: Table, options: SynthesizeOptions, seed: int, progress: Progress = silent) -> FittedGenerator:
    """Train the generator that ``options`` names.

    Parameters
    ----------
    table : Table, 1 row or more
        No identifiers. Missing values are allowed everywhere.
    options : SynthesizeOptions
        The generator must not be ``none``.
    seed : int
        0 or more. The same seed, table, options and versions give the same model.
    progress : Progress
        Told about every column or epoch.

    Returns
    -------
    FittedGenerator
        Draws tables.

    Raises
    ------
    MissingExtraError
        The generator's packages are not installed.
    DataError
        The table has no rows, no columns, or infinite numbers.
    GeneratorError
        Training failed, or the table has identifiers.
    """
    generator, own = options.plugin, options.resolve()
    require(generator)
    started = time.perf_counter()
    codec = Codec(table, generator.encoding(own))
    model = _learn(codec.encode(table, stream(seed, "encode")), options, seed, progress) if codec.features else None
    record = TrainingRecord(
        trained_on=fingerprint(table),
        options=own.model_dump(mode="json"),
        seed=seed,
        versions=library_versions(*VERSIONED),
        seconds=time.perf_counter() - started,
    )
    return FittedGenerator(generator.name, codec, model, record)


def _learn(data: Encoded, options: SynthesizeOptions, seed: int, progress: Progress) -> Model:
    generator, own = options.plugin, options.resolve()
    if options.isolate and generator.requires:
        return learn_isolated(generator.name, data, own, seed, progress, options.limits)
    with _blamed_on(generator.name, "learn"):
        return generator.learn(data, own, seed, progress)


@contextmanager
def _blamed_on(name: str, what: str) -> Iterator[None]:
    """Whatever a generator's library throws becomes one readable error.

    The library's own words may quote a cell, so they are kept in the private detail and out of the chain.
    """
    try:
        yield
    except HybridError:
        raise
    except MemoryError:
        raise GeneratorError(
            f"{name} ran out of memory trying to {what}", mend="learn from fewer records or states, or use cart"
        ) from None
    except Exception as error:  # noqa: BLE001  (any library may throw anything)
        raise GeneratorError(
            f"{name} failed to {what} ({type(error).__name__})",
            mend="--debug shows its own words; more records or a smaller learning rate may help",
            values=str(error),
        ) from None
