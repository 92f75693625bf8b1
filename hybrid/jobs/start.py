"""Start of a run of a single table or of linked tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress
from hybrid.jobs.run import write_draw
from hybrid.pipeline.config import IN_MEMORY, RunConfig, configured
from hybrid.pipeline.config_file import read_config_file
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.links import is_linked
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import StorePlace
from hybrid.table.typed_table import Frame, is_frame

Frames: TypeAlias = Frame | Mapping[str, Frame]
"""The input table in memory, or linked tables by their names."""


def run(
    config: RunConfig | Draft | Mapping[str, Any] | Path | str,
    data: Frames | None = None,
    *,
    out: Path | str | None = None,
    seed: int | None = None,
    store: Path | str | None = None,
    work: Path | str = "work",
    overrides: Mapping[str, Any] | None = None,
    progress: Progress | bool = True,
) -> Any:
    """Run the whole pipeline: anonymize, sample, restore, synthesize, evaluate, judge.

    Parameters
    ----------
    config : RunConfig, Draft, mapping, Path or str
        The configuration, a draft of it, or the path of its YAML file. Relative paths in a mapping start at the working
        directory.
    data : pandas.DataFrame, or any table of Arrow's PyCapsule interface (polars, pyarrow), or mapping of str to them
        The input table, instead of ``data.path`` or ``data.sql`` (which may then be left out); by default that which a
        draft was guessed from. It passes the checks of a table that is read; the index is ignored. Of linked tables:
        some or all of them, by their names under ``tables``.
    out : Path or str, optional
        Folder for tables, evaluation, report and manifest; by default nothing is written, and nothing is counted but
        the privacy budget of ``privacy.mode: dp``.
    seed : int, optional
        Repeats every draw; by default the configuration's, or a fresh one.
    store : Path or str, optional
        Folder or address where stage results are kept; by default nowhere.
    work : Path or str
        The private zone, where a run that is written to ``out`` is counted as a draw of the data under the policy,
        and what :func:`hybrid.jobs.release.release` needs to publish it is kept.
    overrides : mapping of str to value, optional
        Values for dotted keys, such as ``{"anonymize.k": 10}``; they win over ``config``. Not with a ``RunConfig``.
    progress : callable or bool
        Called as the work advances. True: a bar on a terminal or in a notebook; False: none.

    Returns
    -------
    Pipeline
        Every stage computed. Of a single table: ``result.synthetic.frame`` is the synthetic table as a DataFrame. Of
        linked tables: ``result.released["visits"].frame`` is one of them (public ones are released as they were
        given). Of both: ``result.evaluation`` holds the metrics, ``result.verdict`` what the policy says.

    Raises
    ------
    HybridError
        The configuration, the table or a hierarchy is wrong (all problems at once), or of any stage; nothing is
        written.

    Examples
    --------
    >>> hybrid.run("config.yaml", data=frame).verdict.status  # doctest: +SKIP
    'pass'
    >>> hybrid.run("linked.yaml", data={"patients": patients, "visits": visits}).verdict.status  # doctest: +SKIP
    'review'
    """
    loaded = configuration(config, data, overrides)
    kept = None if store is None else StorePlace(str(store)).open()
    with shown(progress) as told:
        started = Pipeline(loaded, seed, kept, told, ledger_dir=Path(work))
        if out is None:
            started.refuse_spent()
            started.check()
            _ = started.verdict
        else:
            write_draw(started, Path(out), Path(work))
    return started


def configuration(
    config: RunConfig | Draft | Mapping[str, Any] | Path | str,
    data: Frames | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Read a configuration in any form, with DataFrames as its tables; by default a draft's own.

    Arguments and errors as for :func:`run`.
    """
    if isinstance(config, Draft):
        config, data = config.config, config.source if data is None else data
    if is_frame(config):
        raise ConfigError(
            f"config is a {type(config).__name__}, and no configuration",
            hint="hybrid.synthesize(frame) guesses one and runs it; or give hybrid.guess(frame), and data=frame",
        )
    if isinstance(config, RunConfig):
        if overrides:
            raise ConfigError(
                f"overrides were given beside a {type(config).__name__}",
                hint="give the path of the file or a mapping instead",
            )
        _refuse_misfit(config.is_linked, data)
        return with_frames(config, data)
    path = Path("config") if isinstance(config, Mapping) else Path(config)
    content = config if isinstance(config, Mapping) else read_config_file(path)
    _refuse_misfit(is_linked(content), data)
    changes = dict(overrides or {})
    if isinstance(data, Mapping):
        known = content["tables"]
        sections = [f"tables.{name}" for name in data if isinstance(known, Mapping) and name in known]
    else:
        sections = [] if data is None else ["data"]
    changes |= {f"{section}.{key}": value for section in sections for key, value in IN_MEMORY.items()}
    return with_frames(configured(content, changes, path), data)


def with_frames(config: RunConfig, data: Frames | None) -> RunConfig:
    """The configuration with DataFrames in the place of its sources."""
    if data is None:
        return config
    if isinstance(data, Mapping):
        return config.with_frames(data)
    if not is_frame(data):
        raise ConfigError(
            f"data is a {type(data).__name__}, not a table",
            hint="give a DataFrame of pandas or polars, or an Arrow table",
        )
    return config.with_frame(data)


def _refuse_misfit(linked: bool, data: Frames | None) -> None:
    if data is None or linked == isinstance(data, Mapping):
        return
    if linked:
        raise ConfigError(
            "data is one DataFrame, and the configuration describes linked tables",
            hint='give them by their names: data={"patients": frame, "visits": frame}',
        )
    raise ConfigError("data has several tables, and the configuration describes one", hint="give data=frame")
