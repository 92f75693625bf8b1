"""Change of each metric by removing outliers, beyond a removal by chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from hybrid.lab.risk.outliers import CONTROL, OUTLIERS, WAYS, WHOM, series_name
from hybrid.lab.tracks import Track


@dataclass(frozen=True)
class Removal:
    """Change of one metric by one removal.

    Parameters
    ----------
    series : str
        Name of the series: generator, way, and people at risk.
    share : float
        Share of the people removed, 0..0.5.
    change : float
        Mean over repetitions of its excess after the removal minus that after a removal by chance; below 0: the metric
        sees less risk.
    low, high : float
        Student's 95 % interval of the mean, paired within repetitions; None with a single one.
    """

    series: str
    share: float
    change: float
    low: float | None
    high: float | None

    @property
    def is_certain(self) -> bool:
        """True if the interval does not hold 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def removals(tracks: Sequence[Track]) -> tuple[Removal, ...]:
    """Changes of one metric by each removal of the largest share.

    Parameters
    ----------
    tracks : sequence of Track
        Of one metric on one table.
    """
    named = {track.series.name: track for track in tracks if track.risk == OUTLIERS.name}
    return tuple(found for name in named if (found := _removal(name, named)) is not None)


def _removal(name: str, named: Mapping[str, Track]) -> Removal | None:
    for by in WAYS:
        for whom in WHOM:
            generator = name.removesuffix(series_name("", by, whom))
            control = named.get(series_name(generator, CONTROL, whom))
            if generator != name and by != CONTROL and control is not None:
                return _beyond(named[name], control)
    return None


def _beyond(track: Track, control: Track) -> Removal | None:
    differences = track.curve.excess[-1] - control.curve.excess[-1]
    if np.isnan(differences).any():
        return None
    n, mean = len(differences), float(differences.mean())
    share = track.series.levels[-1].value
    if n < 2:
        return Removal(track.series.name, share, mean, None, None)
    half = float(student.ppf(0.975, n - 1)) * float(differences.std(ddof=1)) / math.sqrt(n)
    return Removal(track.series.name, share, mean, mean - half, mean + half)
