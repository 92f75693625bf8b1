"""Findings about a table before a run, and the price of k: in one call each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError, Finding, HybridError
from hybrid.base.notebook import NotebookResult
from hybrid.base.progress import Progress
from hybrid.python.drafts import Wishes, guessed

if TYPE_CHECKING:
    import pandas as pd

    from hybrid.jobs.trade_off import TradeOff
    from hybrid.pipeline.config import RunConfig

COLUMNS = ("level", "message", "hint")


class Findings(NotebookResult, Sequence[Finding]):
    """Everything that can be found without a run: what is fine, then errors, then notes."""

    def __init__(self, lines: Sequence[Finding]) -> None:
        self._lines = tuple(lines)

    @property
    def ok(self) -> bool:
        """True without an error: a run can start."""
        return not any(one.level == "error" for one in self._lines)

    def to_frame(self) -> pd.DataFrame:
        """Findings as a DataFrame, one row each: level, message, hint."""
        import pandas as pd

        rows = [{name: getattr(one, name) for name in COLUMNS} for one in self._lines]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def __getitem__(self, at: Any) -> Any:
        return self._lines[at]

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        hinted = ((one, f"   hint: {one.hint}" if one.hint else "") for one in self._lines)
        return "\n".join(f"{one.level:<6}{one.message}{hint}" for one, hint in hinted)


def check(data: Any, *, progress: Progress | bool = True, **guesses: Any) -> Findings:
    """List all problems and questions of a table or a configuration at once; nothing is run.

    Parameters
    ----------
    data : table, path, mapping of str to tables, Draft or RunConfig
        A table, or linked tables, whose configuration is guessed; or a configuration. The path of a YAML file is that
        of a configuration.
    progress : callable or bool
        As for :func:`hybrid.synthesize`.
    guesses : object
        Arguments of :func:`hybrid.synthesize` about columns: quasi_identifiers, sensitive, targets, roles, k, person,
        hierarchies, settings.

    Returns
    -------
    Findings
        A sequence; ``.ok`` says whether a run can start. Cell values are in none of it.

    Raises
    ------
    ConfigError, DataError
        ``data`` is none of these, or cannot be read at all.

    Examples
    --------
    >>> hybrid.check(frame).ok  # doctest: +SKIP
    True
    """
    from hybrid.pipeline.check import diagnose

    _refuse_guesses(data, guesses)
    with shown(progress) as told:
        told("check", 0)
        try:
            config, notes = configured(data, guesses)
            found = diagnose(config)
        except HybridError as error:
            found, notes = [Finding.error(one) for one in error.problems], ()
        return Findings([*(replace(one, values="") for one in found), *(Finding("note", note) for note in notes)])


def configured(data: Any, guesses: Mapping[str, Any]) -> tuple[RunConfig, tuple[str, ...]]:
    """Configuration of a table, a draft or a file, and what was guessed for it.

    Guesses beside a configuration are refused.
    """
    from hybrid.jobs.start import configuration

    if not is_configuration(data):
        found = guessed(data, Wishes.of(**guesses))
        return found.config, found.notes
    _refuse_guesses(data, guesses)
    return configuration(data), ()


def is_configuration(data: Any) -> bool:
    """True for a configuration, a draft of one, or the path of a YAML file."""
    from hybrid.pipeline.config import RunConfig
    from hybrid.pipeline.draft import Draft

    is_file = isinstance(data, str | Path) and Path(data).suffix.lower() in (".yaml", ".yml")
    return is_file or isinstance(data, Draft | RunConfig)


def _refuse_guesses(data: Any, guesses: Mapping[str, Any]) -> None:
    if guesses and is_configuration(data):
        raise ConfigError(f"beside a configuration there is no {', '.join(guesses)}", hint="change the configuration")


def trade_off(
    data: Any,
    *,
    ks: Sequence[int] = (2, 3, 5, 10, 20, 50),
    limits: Sequence[float] = (0.0, 0.01, 0.02, 0.05, 0.1),
    progress: Progress | bool = True,
    **guesses: Any,
) -> TradeOff:
    """Search what k and the suppression limit cost every column: the least loss at each pair, by the exact search.

    Parameters
    ----------
    data : table, path, mapping of str to tables, Draft or RunConfig
        As for :func:`hybrid.check`. Of a table, one level for all records is searched (``anonymize.recoding: global``).
    ks : sequence of int
        Class sizes, 1 or more.
    limits : sequence of float
        Shares of the records that may be left out, 0..1.
    progress, guesses
        As for :func:`hybrid.check`.

    Returns
    -------
    TradeOff
        ``.to_frame()``, ``.plot()``, ``.sentences``.

    Raises
    ------
    ConfigError
        There is no such curve: the configuration is differentially private, or does not search one level for all
        records; or no column is known to others.

    Examples
    --------
    >>> hybrid.trade_off(frame, quasi_identifiers=["age", "sex"]).to_frame()  # doctest: +SKIP
    """
    from hybrid.jobs.trade_off import trade_off_of

    with shown(progress) as told:
        told("guess", 0)
        if not isinstance(data, Mapping) and not is_configuration(data):
            guesses["settings"] = {"anonymize.recoding": "global", **(guesses.get("settings") or {})}
        config, _ = configured(data, guesses)
        return trade_off_of(config, ks, limits, told)
