"""How long work tells where it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called by long work as it goes on."""

    def __call__(self, step: str, done: int, total: int | None = None, **values: float) -> None:
        """Report that ``done`` of ``total`` units of ``step`` are finished.

        Parameters
        ----------
        step : str
            What is being done, such as ``"fit ctgan"``. No cell values.
        done, total : int
            Units finished and in all; ``total`` None when unknown.
        values : float
            Numbers worth showing, such as ``loss=0.31``.
        """


def silent(step: str, done: int, total: int | None = None, **values: float) -> None:
    """Report to nobody."""
