"""Base of the neural networks of sdv: training, progress and cost."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from pydantic import Field

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost, refuse_wide
from hybrid.synthesize.generators.sdv_model import SdvModel, fit_sdv, load_sdv
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

MOST_MODES = 11
"""Inputs that one continuous column becomes at most: ten modes and the place within."""
SECONDS_OF_MODES = 4.5e-5
"""Of fitting one continuous column's mixture, per record."""


class SdvNetworkOptions(Options):
    """Options of every network of sdv; defaults are sdv's."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records."""
    batch_size: int = Field(default=500, ge=2)
    """Records per step."""
    embedding_dim: int = Field(default=128, ge=1)
    """Length of the random vector a record is made from."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs (states of all discrete columns, 11 per continuous one)."""


class SdvNetwork(ABC):
    """A generator that is a network of sdv.

    A subclass says which one.
    """

    name: ClassVar[str]
    licence: ClassVar[str] = "BUSL-1.1 (sdv, ctgan): internal use is free, offering synthesis as a service is not"
    requires: ClassVar[tuple[str, ...]] = ("sdv", "ctgan", "torch")
    extra: ClassVar[str | None] = "ctgan"
    environment: ClassVar[str | None] = "sdv"
    resumes: ClassVar[bool] = False
    step: ClassVar[tuple[float, float]]
    """Seconds of one step of 500 records, and what every input of the network adds to it: Adult, one core."""
    losses: ClassVar[Mapping[str, str]]
    """Columns of sdv's loss table by the name they are reported under."""

    @abstractmethod
    def classes(self) -> tuple[type, type]:
        """Class of sdv, and its worker class of ctgan."""

    def encoding(self, options: SdvNetworkOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Encoding with a flag for missing numbers.

        Other missing values are learned together with it.
        """
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: SdvNetworkOptions) -> Cost:
        """Cost: mixtures of continuous columns, then epochs of steps.

        The cost of a step grows with the network's inputs.
        """
        inputs = sum(feature.n_levels or MOST_MODES for feature in features)
        per_step = (self.step[0] + self.step[1] * inputs) * options.batch_size / 500
        modes = SECONDS_OF_MODES * n_rows * _n_continuous(features)
        # The encoded records, their copy for the sampler, and the columns as text.
        memory = 2**29 + n_rows * (2 * 8 * inputs + 64 * len(features))
        seconds = modes + options.epochs * max(1, n_rows // options.batch_size) * per_step
        return Cost(seconds, memory, inputs, options.max_inputs)

    def learn(
        self,
        data: Encoded,
        options: SdvNetworkOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (sdv has no checkpoints)
    ) -> SdvModel:
        """Train; see the options.

        The same seed repeats on a CPU with the same number of threads.
        """
        widths = {feature.name: feature.n_levels or MOST_MODES for feature in data.features}
        refuse_wide(self.name, widths, options.max_inputs)
        progress(f"normalize columns for {self.name}", 0, _n_continuous(data.features))
        tell = _telling(progress, f"fit {self.name}", options.epochs, self.losses)
        synthesizer = _with_progress(*self.classes(), seed, tell)
        settings = options.model_dump(exclude={"gpu", "max_inputs"})
        return fit_sdv(lambda metadata: synthesizer(metadata, **settings, enable_gpu=options.gpu), data)

    def load(self, folder: Path) -> SdvModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        return load_sdv(folder)


def _with_progress(synthesizer: type, network: type, seed: int, tell: Callable[[Any], None]) -> type:
    """Seeded subclass of an sdv network that reports its losses.

    It passes on its loss table after every epoch.

    Parameters
    ----------
    synthesizer, network : type
        sdv's class, and ctgan's class that does its work.
    seed : int
        Makes training repeatable on one machine.
    tell : callable
        Gets ``loss_values`` (a DataFrame, the last row being of the epoch that just ended).
    """

    class EpochCallback(network):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "loss_values" and value is not None and len(value):
                tell(value)

    class Synthesizer(synthesizer):
        def _fit(self, processed_data: Any) -> None:
            discrete = [name for name in processed_data if not pd.api.types.is_float_dtype(processed_data[name])]
            self._model = EpochCallback(**self._model_kwargs)
            self._model.set_random_state(seed % 2**32)
            self._model.fit(processed_data, discrete_columns=discrete)
            # The plain classes can be written to a file; the telling ones hold on to who listens.
            self._model.__class__ = network
            self.__class__ = synthesizer

    return Synthesizer


def _telling(progress: Progress, step: str, epochs: int, columns: Mapping[str, str]) -> Callable[[Any], None]:
    """Turn a loss table's last row into a progress report.

    ``columns`` maps value names to its columns.
    """

    def tell(losses: Any) -> None:
        last = losses.iloc[-1]
        progress(step, int(last["Epoch"]) + 1, epochs, **{name: float(last[of]) for name, of in columns.items()})

    return tell


def _n_continuous(features: Sequence[Feature]) -> int:
    """Number of columns with a mixture of normal distributions.

    The mixtures are fitted before the first epoch.
    """
    return sum(not feature.is_discrete for feature in features)
