"""What the generators of sdv have in common: its metadata, its fit and its sampling stay in this module.

sdv gets columns ``c0``, ``c1``, ... of numbers and of codes as text, and never sees a name or a label. What it
prints and warns about is kept from the terminal; the global random states it needs are put back.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.arrays import Array
from hybrid.errors import GeneratorError
from hybrid.progress import Progress
from hybrid.synthesize.base import Encoded, Feature
from hybrid.synthesize.contained import global_seed, quiet
from hybrid.synthesize.cost import Cost

MOST_MODES = 11
"""Inputs that one continuous column becomes at most: ten modes and the place within."""
SECONDS_OF_MODES = 4.5e-5
"""Of fitting one continuous column's mixture, per record."""
_FILE = "model.pkl"


@dataclass(frozen=True)
class SdvModel:
    """A fitted synthesizer of sdv. Private."""

    synthesizer: Any
    features: tuple[Feature, ...]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.base.Model`."""
        with quiet(), global_seed(seed):
            self.synthesizer._set_random_state(seed % 2**32)
            frame = self.synthesizer.sample(n_rows)
        return [
            frame[f"c{at}"].astype(np.int32 if feature.is_discrete else np.float64).to_numpy()
            for at, feature in enumerate(self.features)
        ]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.base.Model`."""
        import cloudpickle

        (folder / _FILE).write_bytes(cloudpickle.dumps(self))


def load_sdv(folder: Path) -> SdvModel:
    """Read what :meth:`SdvModel.save` wrote; a model trained on a GPU loads on a CPU."""
    import cloudpickle

    model: SdvModel = cloudpickle.loads((folder / _FILE).read_bytes())
    return model


def fit_sdv(make: Callable[[Any], Any], data: Encoded) -> SdvModel:
    """Fit a synthesizer.

    Parameters
    ----------
    make : callable
        Builds the synthesizer from sdv's metadata.
    data : Encoded
        No NaN (``Encoding(flag_missing=True)``).
    """
    from sdv.metadata import Metadata

    sdtypes = ["categorical" if feature.is_discrete else "numerical" for feature in data.features]
    columns = {f"c{at}": {"sdtype": sdtype} for at, sdtype in enumerate(sdtypes)}
    frame = pd.DataFrame(
        {
            f"c{at}": values.astype(str).astype(object) if feature.is_discrete else values
            for at, (feature, values) in enumerate(zip(data.features, data.columns, strict=True))
        }
    )
    with quiet():
        synthesizer = make(Metadata.load_from_dict({"tables": {"table": {"columns": columns}}}))
        synthesizer.fit(frame)
    return SdvModel(synthesizer, tuple(data.features))


def with_progress(synthesizer: type, network: type, seed: int, tell: Callable[[Any], None]) -> type:
    """A subclass of one of sdv's neural synthesizers that is seeded and tells its loss table after every epoch.

    Parameters
    ----------
    synthesizer, network : type
        sdv's class, and ctgan's class that does its work.
    seed : int
        Makes training repeatable on one machine.
    tell : callable
        Gets ``loss_values`` (a DataFrame, the last row being of the epoch that just ended).
    """

    class Telling(network):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "loss_values" and value is not None and len(value):
                tell(value)

    class Synthesizer(synthesizer):
        def _fit(self, processed_data: Any) -> None:
            discrete = [name for name in processed_data if not pd.api.types.is_float_dtype(processed_data[name])]
            self._model = Telling(**self._model_kwargs)
            self._model.set_random_state(seed % 2**32)
            self._model.fit(processed_data, discrete_columns=discrete)
            # The plain classes can be written to a file; the telling ones hold on to who listens.
            self._model.__class__ = network
            self.__class__ = synthesizer

    return Synthesizer


def telling(progress: Progress, step: str, epochs: int, columns: dict[str, str]) -> Callable[[Any], None]:
    """Turn a loss table's last row into a progress report; ``columns`` maps value names to its columns."""

    def tell(losses: Any) -> None:
        last = losses.iloc[-1]
        progress(step, int(last["Epoch"]) + 1, epochs, **{name: float(last[of]) for name, of in columns.items()})

    return tell


def refuse_wide(data: Encoded, limit: int, name: str) -> None:
    """Stop before memory runs out: these networks have an input for every state of every discrete column.

    Raises
    ------
    GeneratorError
        Names the columns with the most states.
    """
    widths = {feature.name: feature.n_levels or MOST_MODES for feature in data.features}
    if sum(widths.values()) <= limit:
        return
    widest = sorted(widths, key=lambda column: -widths[column])[:3]
    listed = ", ".join(f"{column!r} ({widths[column]} states)" for column in widest)
    raise GeneratorError(
        f"{name} would need {sum(widths.values())} inputs (limit {limit}); the widest columns are {listed}",
        mend="generalize or drop those columns, raise max_inputs if memory allows, or use cart",
    )


def network_cost(
    features: Sequence[Feature],
    n_rows: int,
    epochs: int,
    batch_size: int,
    most_inputs: int,
    step: float,
    step_per_input: float,
) -> Cost:
    """About what a network with an input for every state takes.

    Parameters
    ----------
    step, step_per_input : float
        Seconds of one step of 500 records without inputs, and what each input adds.
    """
    inputs = sum(feature.n_levels or MOST_MODES for feature in features)
    per_step = (step + step_per_input * inputs) * batch_size / 500
    modes = SECONDS_OF_MODES * n_rows * n_continuous(features)
    # The encoded records, their copy for the sampler, and the columns as text.
    memory = 2**29 + n_rows * (2 * 8 * inputs + 64 * len(features))
    return Cost(modes + epochs * max(1, n_rows // batch_size) * per_step, memory, inputs, most_inputs)


def n_continuous(features: Sequence[Feature]) -> int:
    """How many columns get a mixture of normal distributions fitted before the first epoch."""
    return sum(not feature.is_discrete for feature in features)
