"""Audit of a synthetic table that any tool made, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress
from hybrid.python.frames import AnyTables, several_in_memory

if TYPE_CHECKING:
    from hybrid.jobs.audit import Audit


def audit(
    *,
    train: AnyTables,
    synthetic: AnyTables,
    control: AnyTables | None = None,
    quasi_identifiers: Sequence[str] = (),
    secrets: Sequence[str] = (),
    targets: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    config: Any = None,
    seed: int | None = None,
    progress: Progress | bool = True,
) -> Audit:
    """Measure what a synthetic table discloses, and what it is worth, whichever tool made it.

    Nothing is written.

    Parameters
    ----------
    train : table, path, or mapping of str to tables
        Records that the generator learned from, of any library (see :func:`hybrid.synthesize`).
    synthetic : table, path, or mapping
        Records that it made, with the same columns in any order.
    control : table, path, or mapping, optional
        Records of the same population that it never saw. Without them no attack can be compared with people outside
        the data, and the verdict is a review at best.
    quasi_identifiers : sequence of str
        Columns that an attacker may know already.
    secrets : sequence of str
        Columns that an attacker wants to learn.
    targets : sequence of str
        Columns that users will predict.
    metrics : sequence of str, optional
        Only these; by default all that the policy judges.
    config : RunConfig, Draft, Path or str, optional
        Roles, metrics and policy; linked tables need one. Path or str: a YAML file.
    seed, progress
        As for :func:`hybrid.synthesize`.

    Returns
    -------
    Audit
        ``.verdict``, ``.evaluation``, ``.report()``.

    Raises
    ------
    ConfigError
        A column does not exist, or linked tables have no configuration.
    DataError
        Tables lack columns of train; control records are those of train.

    Examples
    --------
    >>> hybrid.audit(train=real, synthetic=made, control=held_out).verdict  # doctest: +SKIP
    """
    from hybrid.jobs.audit import config_with_roles, judge_tables, read_audit
    from hybrid.jobs.start import configuration
    from hybrid.table.typed_table import DATA_FRAME

    with shown(progress) as told:
        told("read", 0)
        loaded = None if config is None else configuration(config)
        if any(isinstance(one, Mapping) for one in (train, synthetic, control)):
            if quasi_identifiers or secrets or targets or metrics is not None:
                raise ConfigError("roles and metrics of linked tables are in their configuration", hint="config=...")
            if loaded is None or not loaded.is_linked:
                hint = "config=hybrid.synthesize(train, judge=False).draft guesses them, or hybrid init FOLDER"
                raise ConfigError("the audit of linked tables needs their keys and parents", hint=hint)
            given: Any = loaded
        else:
            path = str(train) if isinstance(train, str | Path) else DATA_FRAME
            given = config_with_roles(loaded, path, targets, secrets, quasi_identifiers)
            given = given if metrics is None else given.with_values({"evaluate.metrics": list(metrics)})
        held = None if control is None else _source(control)
        return judge_tables(read_audit(_source(train), held, _source(synthetic), given), given, seed, told)


def _source(data: Any) -> Any:
    return Path(data) if isinstance(data, str | Path) else several_in_memory(data)
