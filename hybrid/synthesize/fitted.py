"""Fit any generator to a table, and draw tables from what it learned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hybrid.errors import GeneratorError, HybridError
from hybrid.progress import Progress, silent
from hybrid.randomness import stream
from hybrid.synthesize.base import Model
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.job import learn_isolated
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.registry import require
from hybrid.table import Table


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
    """

    name: str
    codec: Codec
    model: Model | None

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
    codec = Codec(table, generator.encoding(own))
    if not codec.features:
        return FittedGenerator(generator.name, codec, None)
    data = codec.encode(table, stream(seed, "encode"))
    model: Model
    if options.isolate and generator.requires:
        model = learn_isolated(generator.name, data, own, seed, progress, options.limits)
    else:
        with _blamed_on(generator.name, "learn"):
            model = generator.learn(data, own, seed, progress)
    return FittedGenerator(generator.name, codec, model)


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
