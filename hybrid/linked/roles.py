"""Decision about the roles of the columns of linked tables."""

from __future__ import annotations

from hybrid.linked.config import LinkedConfig
from hybrid.pipeline.roles import refuse_undecided_columns, undecided_columns


def refuse_undecided_tables(config: LinkedConfig) -> None:
    """Refuse a release while a column of any table is undecided.

    Raises
    ------
    ConfigError
        As :func:`hybrid.pipeline.roles.refuse_undecided_columns`; columns have the names of their tables.
    """
    undecided = [f"{name}.{column}" for name, view in config.views.items() for column in undecided_columns(view)]
    refuse_undecided_columns(config.person.roles, undecided)
