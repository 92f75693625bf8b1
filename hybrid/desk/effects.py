"""Effect of the roles now, and before the last change."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from hybrid.base.errors import HybridError
from hybrid.desk.editor import Editor, state_of
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
    """Measured effects of the last two texts of a configuration.

    Parameters
    ----------
    editor : Editor
        Of the configuration.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._lock = threading.Lock()
        self._now: tuple[tuple[str, int], RoleEffect] | None = None
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
                key = state_of(draft), most
                if self._now is not None and self._now[0][0] == key[0] and self._now[0][1] >= most:
                    return Shown(self._now[1], self._before)
                config = draft.config
                person = config if isinstance(config, RunConfig) else config.person
                found = role_effect(person, self._editor.person_table(draft), most)
            except HybridError:
                return None
            if self._now is not None and self._now[0][0] != key[0]:
                self._before = self._now[1]
            self._now = key, found
            return Shown(found, self._before)
