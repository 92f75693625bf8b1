"""Effect of the roles now, and before the last change."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from hybrid.base.errors import HybridError
from hybrid.desk.editor import Editor
from hybrid.jobs.trade_off import searched
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.role_effect import RoleEffect, role_effect

AT_ONCE = 20_000
"""Combinations of levels up to which every page shows what k costs."""
ON_DEMAND = 2_000_000
"""The same for the page that people ask for it."""


@dataclass(frozen=True)
class Shown:
    """Effect now, and before the last change where that was measured."""

    now: RoleEffect
    before: RoleEffect | None


class Effects:
    """Measured effects of a configuration, and of the one before.

    Parameters
    ----------
    editor : Editor
        Of the configuration.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._lock = threading.Lock()
        self._now: tuple[tuple[str, ...], int, RoleEffect] | None = None
        self._before: RoleEffect | None = None

    def of(self, most: int) -> Shown | None:
        """Effect of the configuration.

        None while it, or its table, cannot be used.

        Parameters
        ----------
        most : int
            Combinations of levels up to which the least loss is searched for.
        """
        with self._lock:
            try:
                draft = self._editor.read()
                config = draft.config
                person = config if isinstance(config, RunConfig) else config.person
                key = _key(person)
                if self._now is not None and self._now[0] == key and self._now[1] >= most:
                    return Shown(self._now[2], self._before)
                found = role_effect(person, self._editor.person_table(draft), most)
            except HybridError:
                return None
            if self._now is not None and self._now[0] != key:
                self._before = self._now[2]
            self._now = key, most, found
            return Shown(found, self._before)


def _key(config: RunConfig) -> tuple[str, ...]:
    """Key of an effect.

    What a person only confirms is no part of it.
    """
    options = config.anonymize
    return searched(config), *([] if options is None else [str(options.k), repr(options.suppression_limit)])
