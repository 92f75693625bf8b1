"""Statistics of a run's sources, which later nights compare with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hybrid.linked.run import LinkedRun
from hybrid.operations.drift import Baseline, TableStatistics, describe, keep_baseline
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.key import data_tag, record_secret, release_key
from hybrid.table import Table

SINGLE = ""
"""Name of the only table of a run."""


def source_tables(run: Pipeline | LinkedRun) -> dict[str, Table]:
    """Tables that a run read, by name; public ones, too."""
    return {SINGLE: run.table} if isinstance(run, Pipeline) else {**run.sources.tables, **run.sources.public}


def source_statistics(
    run: Pipeline | LinkedRun, secret: bytes, like: Mapping[str, TableStatistics] | None = None
) -> dict[str, TableStatistics]:
    """Statistics of every table that a run read, by name.

    Parameters
    ----------
    run : Pipeline or LinkedRun
    secret : bytes
        Key of the hashes of categories.
    like : mapping of str to TableStatistics, optional
        Take their bins and categories, so that the two can be compared.
    """
    known = like or {}
    return {name: describe(table, secret, known.get(name)) for name, table in source_tables(run).items()}


def keep_source_statistics(run: Pipeline | LinkedRun, private_dir: Path) -> None:
    """Keep the statistics of the sources and the seconds of every stage.

    Later nights compare with them.
    """
    key = release_key(private_dir)
    tag = data_tag(key, {"data_fingerprint": run.data_fingerprint})
    seconds = {stage.name: stage.seconds for stage in run.stages}
    keep_baseline(private_dir, run.config.name, tag, Baseline(source_statistics(run, record_secret(key)), seconds))
