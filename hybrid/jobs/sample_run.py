"""Draw under a condition, or with other shares of values, from the model that a run kept.

The new run has a folder, an evaluation, a verdict and a place in the ledger of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_replaceable
from hybrid.base.progress import Progress, silent
from hybrid.jobs.run import read_origin, write_draw
from hybrid.jobs.start import Frames, with_frames
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.seeds import Origin
from hybrid.publication.draws import check_seal
from hybrid.publication.finished_run import FinishedRun, read_whole_run
from hybrid.table.typed_table import DATA_FRAME


def sample_run(
    run: Path | str,
    where: str | None = None,
    *,
    out: Path | str,
    rows: int | None = None,
    balance: Mapping[str, Any] | None = None,
    ready: Callable[[RunConfig], None] | None = None,
    data: Frames | None = None,
    work: Path | str = "work",
    progress: Progress = silent,
) -> Pipeline:
    """Draw rows under a condition, or with other shares of values, from a finished run's model.

    Nothing is trained. The rows are evaluated, judged and counted as a draw like those of any run: utility and fidelity
    compare with the records that meet the condition, privacy asks about all training records.

    The store of the run keeps its model. If it was drawn under a condition itself, both must be met. ``where`` is an
    expression over the columns, such as ``ward = 'ICU' and age >= 60``; of linked tables over those of the person
    table: persons who meet it are drawn, with their rows in all tables. ``rows`` (persons, of linked tables) are by
    default as many as training records meet the condition, in tens. ``balance`` is ``{"column": "died"}``, each value
    equally often, or ``{"column": "died", "shares": {"yes": 0.3}}``; of linked tables, a column of the person table.

    An earlier run in ``out`` is replaced as a whole. ``ready`` is called with the configuration before anything is
    drawn; then neither a condition nor shares are needed. ``data`` is the same table again, for runs of a DataFrame; of
    linked tables, by their names.
    """
    if where is None and balance is None and ready is None:
        raise ConfigError("neither a condition nor a column to balance was given", hint="--where or --balance COLUMN")
    folder, private = Path(out), Path(work)
    check_replaceable(folder)
    finished = read_whole_run(Path(run))
    check_seal(finished, private)
    kept = read_origin(private, finished.id)
    config = _chosen(finished, where, balance, rows, Path(kept.folder))
    config = with_frames(config, data)
    if data is None and any(source.path == DATA_FRAME for source in config.sources.values()):
        raise ConfigError(f"{run}: the run was made of a DataFrame", hint="give the same one as data")
    if ready is not None:
        ready(config)
    origin = Origin(int(finished.manifest["seed"]), kept.split_seed)
    pipeline = Pipeline(config, store=kept.open_store(), progress=progress, origin=origin)
    if pipeline.data_fingerprint != finished.manifest["data_fingerprint"]:
        raise ConfigError(
            f"{run}: the source or a hierarchy has changed since this run, and its model knows the earlier records",
            hint="run the configuration again: hybrid run CONFIG --store DIR, or hybrid release CONFIG",
        )
    write_draw(pipeline, folder, private)
    return pipeline


def _chosen(
    run: FinishedRun, where: str | None, balance: Mapping[str, Any] | None, rows: int | None, folder: Path
) -> RunConfig:
    content: dict[str, Any] = run.manifest["config"]
    before = content["synthesize"].get("where")
    both = where if before is None else before if where is None else f"({before}) and ({where})"
    changes: dict[str, Any] = {"synthesize.where": both}
    if balance is not None:
        changes["synthesize.balance"] = dict(balance)
    changes |= {"synthesize.rows": "same" if rows is None else rows}
    changes["synthesize.part_rows"] = None
    return configured(content, changes, folder / "config.yaml")
