"""Private baseline of the tables behind each release."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hybrid.base.errors import OutputError
from hybrid.operations.drift.statistics import TableStatistics
from hybrid.store import keep_private

FOLDER = "baselines"
FORMAT = 2
"""1 had the statistics of a single table."""
KEPT_DAYS = 30
"""How long a run may wait for its approval; the baseline of a release in use is renewed every night."""


@dataclass(frozen=True)
class Baseline:
    """Statistics of the source's tables, and the seconds of the run's stages.

    Tables are known by their names; a single one has the empty name.
    """

    statistics: Mapping[str, TableStatistics]
    seconds: Mapping[str, float]


def keep_baseline(private_dir: Path, data_set: str, data_tag: str, baseline: Baseline) -> None:
    """Keep the baseline for the next night (mode 0600).

    Under the tag of the source.

    Raises
    ------
    OutputError
        The private zone cannot be written.
    """
    statistics = {name: table.to_json() for name, table in baseline.statistics.items()}
    content = {"format": FORMAT, "statistics": statistics, "seconds": dict(baseline.seconds)}
    keep_private(_path(private_dir, data_set, data_tag), json.dumps(content).encode(), KEPT_DAYS)


def find_baseline(private_dir: Path, data_set: str, data_tag: str) -> Baseline | None:
    """Baseline under the tag of a source; None if absent or damaged.

    Raises
    ------
    OutputError
        A newer version of this program wrote it.
    """
    path = _path(private_dir, data_set, data_tag)
    try:
        content = json.loads(path.read_text())
        if content["format"] > FORMAT:
            raise OutputError(f"{path}: a newer version of this program wrote it", hint="use that version")
        tables = content["statistics"] if content["format"] == FORMAT else {"": content["statistics"]}
        found = Baseline({name: TableStatistics.from_json(one) for name, one in tables.items()}, content["seconds"])
        os.utime(path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return found


def _path(private_dir: Path, data_set: str, data_tag: str) -> Path:
    return private_dir / FOLDER / data_set / f"{data_tag}.json"
