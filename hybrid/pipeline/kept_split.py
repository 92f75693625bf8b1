"""Split that the private zone keeps: who was held out when settings were chosen is control of the run as well."""

from __future__ import annotations

import json
from pathlib import Path

from hybrid.base.atomic import write_json
from hybrid.base.hashing import fingerprint
from hybrid.base.rng import fresh_seed
from hybrid.pipeline.config import RunConfig
from hybrid.table import Table

FOLDER = "splits"
"""Folder of the private zone, with a file for each table and split."""
_DIGITS = 16


def kept_split(work: Path, config: RunConfig, table: Table) -> int | None:
    """Seed of the split that was kept for a table; None where none was."""
    try:
        return int(json.loads(_file(work, config, table).read_text(encoding="utf-8"))["split_seed"])
    except FileNotFoundError:
        return None


def keep_split(work: Path, config: RunConfig, table: Table) -> int:
    """Seed of the split that is kept for a table; a fresh one that cannot be guessed, where none was.

    Raises
    ------
    OutputError
        The private zone cannot be written.
    """
    known = kept_split(work, config, table)
    if known is not None:
        return known
    seed = fresh_seed()
    write_json(_file(work, config, table), {"split_seed": seed}, private=True)
    return seed


def _file(work: Path, config: RunConfig, table: Table) -> Path:
    whose = config.data.person_columns, config.data.household_columns
    return work / FOLDER / f"{fingerprint(table, config.split, *whose)[:_DIGITS]}.json"
