"""Sections of a configuration that all linked tables share, seen from one of them."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid.base.errors import Problem, refuse
from hybrid.evaluation.options import EvaluateOptions
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Sources
from hybrid.table import Schema


def fitting(config: RunConfig, schema: Schema) -> RunConfig:
    """The configuration with the columns that this table has."""
    evaluate, protection = config.evaluate, config.protection

    def there(names: Sequence[str] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(name for name in names if name in schema)

    sides = evaluate.linkability and tuple(there(side) or () for side in evaluate.linkability)
    changed = {
        "targets": there(evaluate.targets),
        "secrets": there(evaluate.secrets),
        "linkability": sides if sides and all(sides) else None,
    }
    update: dict[str, object] = {"evaluate": evaluate.model_copy(update=changed)}
    if protection is not None:
        update["protect"] = protection.only(schema.names)
    return config.model_copy(update=update)


def refuse_unknown(config: RunConfig, sources: Sources) -> None:
    """Refuse sections that name columns which no table has."""
    known = {name for table in sources.tables.values() for name in table.schema.names}
    options = config
    wanted = {**_named(options.evaluate), "publish.columns": tuple(options.publish.columns)}
    if options.protection is not None:
        wanted["protect.columns"] = tuple(options.protection.columns)
    problems = [
        Problem(f"{key}: no table has the column {name!r}", f"the tables are {', '.join(sources.tables)}")
        for key, names in wanted.items()
        for name in names
        if name not in known
    ]
    refuse(problems)


def _named(options: EvaluateOptions) -> dict[str, tuple[str, ...]]:
    sides = options.linkability or ((), ())
    return {
        "evaluate.targets": tuple(options.targets or ()),
        "evaluate.secrets": tuple(options.secrets or ()),
        "evaluate.linkability": (*sides[0], *sides[1]),
    }
