"""Results of a comparison.

Rows on disk as trials end, and the table of them all, one row per trial.

Columns of the table, in this order:

- ``configuration``, one per factor (its dotted key; mappings and lists as one line of YAML), ``seed``;
- ``status`` (``ok`` or ``failed``), ``reason`` (of a failure), ``verdict`` (of the gate), ``promise`` (what a run
  of the configuration with a secret seed promises);
- ``records`` (of the whole table), ``control_records`` (of the run's control set; 0: none);
- per stage and metric ``<stage>.<metric>[.<column>]`` and, where it has them, the same name with ``_low``, ``_high``
  (interval), ``_reference``, and ``_excess``, ``_excess_low``, ``_excess_high`` (above people never seen); stages are
  original, anonymized, synthetic and baseline. Missing: not computable;
- ``printed.<form>.<stage>.<metric>[.<column>]``: with ``evaluate.paper``, the number as a paper prints it;
- ``information_loss.<measure>``: of the masked table, where a technique other than generalization alone was used
  (:func:`hybrid.anonymize.techniques.loss.masking_measures`);
- ``cpu.<stage>.<metric>[.<column>]``: processor seconds of the metric, where one table is measured at a time;
- ``seconds.<stage>``: wall-clock seconds of computing that stage, in this trial or the one that computed it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.analysis.results import BESIDE, EXCESS, PRINTED, STAGES
from hybrid.base.errors import OutputError
from hybrid.comparison.expand import Expansion, shown

TABLE = "comparison.csv"
LEFT_OUT = "left_out.csv"
ROWS = "rows.jsonl"


class Rows:
    """The rows of a comparison that are done.

    A line counts once its line end is written; what a killed process left of a line is cut off before the next.

    Parameters
    ----------
    path : Path
        The file; made when the first row is appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Rows by the key they were appended with.

        Of several with one key, the last.
        """
        if not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            try:
                content = json.loads(line)
                found[content["key"]] = content["row"]
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def append(self, key: str, row: dict[str, Any]) -> None:
        """Add one row; it is on the disk when this returns.

        Raises
        ------
        OutputError
            It could not be written.
        """
        line = json.dumps({"key": key, "row": row}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as stream:
                _cut_unfinished(stream.fileno())
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror})", hint="free some space") from None


def _cut_unfinished(handle: int) -> None:
    """Cut the file after its last line end."""
    end = os.fstat(handle).st_size
    while end and os.pread(handle, 1, end - 1) != b"\n":
        step = min(end, 65536)
        block = os.pread(handle, step, end - step)
        end = end - step + block.rfind(b"\n") + 1 if b"\n" in block else end - step
    os.ftruncate(handle, end)


def results_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table.

    What every row has, then the metrics, then the seconds.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    last = [name for name in columns if name.startswith((PRINTED, "information_loss.", "cpu.", "seconds."))]
    return pd.DataFrame(rows, columns=[name for name in columns if name not in last] + last)


def left_out_table(expansion: Expansion) -> pd.DataFrame:
    """Combinations that were not run: a column per factor, and ``reason``."""
    rows = [
        {name: shown(value) for name, value in each.factors.items()} | {"reason": each.reason}
        for each in expansion.left_out
    ]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["reason"])


def metric_names(columns: Iterable[str]) -> list[str]:
    """Columns, or keys of a row, with values of metrics."""
    names = [name for name in columns if name.partition(".")[0] in STAGES]
    beside = {f"{name}_{what}" for name in names for what in (*BESIDE, *EXCESS)}
    return [name for name in names if name not in beside]
