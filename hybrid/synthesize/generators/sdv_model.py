"""Base of the generators of sdv: metadata, fit and sampling.

sdv gets columns ``c0``, ``c1``, ... of numbers and of codes as text, and never sees a name or a label. What it
prints and warns about is kept from the terminal; the global random states it needs are put back.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Feature

_FILE = "model.pkl"


@dataclass(frozen=True)
class SdvModel:
    """A fitted synthesizer of sdv. Private."""

    synthesizer: Any
    features: tuple[Feature, ...]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        with quiet(), global_seed(seed):
            self.synthesizer._set_random_state(seed % 2**32)
            frame = self.synthesizer.sample(n_rows)
        return [
            frame[f"c{at}"].astype(np.int32 if feature.is_discrete else np.float64).to_numpy()
            for at, feature in enumerate(self.features)
        ]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        import cloudpickle

        (folder / _FILE).write_bytes(cloudpickle.dumps(self))


def load_sdv(folder: Path) -> SdvModel:
    """Read a model from :meth:`SdvModel.save`.

    A model trained on a GPU loads on a CPU.
    """
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
