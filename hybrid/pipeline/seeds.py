"""Seeds of a run, and the split that the private zone keeps.

Who was held out when settings were chosen is control of the run as well.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import write_json
from hybrid.base.hashing import fingerprint
from hybrid.base.rng import fresh_seed
from hybrid.pipeline.config import RunConfig
from hybrid.table import Table

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun

FOLDER = "splits"
"""Folder of the private zone, with a file for each table and split."""
_DIGITS = 16


@dataclass(frozen=True)
class Origin:
    """Seeds of an earlier run whose kept model draws again."""

    seed: int
    split_seed: int


def split_seed(run: TableRun) -> int:
    """Seed of the split: the given one, or that which ``hybrid tune`` kept for this table.

    Without these, under ``split.stable``, one that a kept store remembers for all runs of this name.
    """
    if run.origin is not None:
        return run.origin.split_seed
    if run.given_seed is not None:
        return run.seed
    if run.ledger_dir is not None and not run.config.rows_stay:
        tuned = kept_split(run.ledger_dir, run.config, run.inputs.table)
        if tuned is not None:
            return tuned
    if not run.config.split.stable:
        return run.seed
    return run.store.get_or_compute("seed", fingerprint("split", run.config.name), fresh_seed)


def kept_split(work: Path, config: RunConfig, table: Table) -> int | None:
    """Seed of the split that was kept for a table; None where none was."""
    try:
        return int(json.loads(_file(work, config, table).read_text(encoding="utf-8"))["split_seed"])
    except FileNotFoundError:
        return None


def keep_split(work: Path, config: RunConfig, table: Table) -> int:
    """Seed of the split that is kept for a table; a fresh one that cannot be guessed, where none was."""
    known = kept_split(work, config, table)
    if known is not None:
        return known
    seed = fresh_seed()
    write_json(_file(work, config, table), {"split_seed": seed}, private=True)
    return seed


def _file(work: Path, config: RunConfig, table: Table) -> Path:
    whose = config.data.person_columns, config.data.household_columns
    return work / FOLDER / f"{fingerprint(table, config.split, *whose)[:_DIGITS]}.json"
