"""Finished runs side by side: verdicts, settings that differ, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.publication.certificate import metrics_of
from hybrid.publication.difference import released_metrics, settings_of, short_words, value_words
from hybrid.publication.finished_run import DAMAGE, FinishedRun, damaged
from hybrid.publication.gate import judge
from hybrid.publication.lamps import lamps
from hybrid.publication.redact import public_config
from hybrid.publication.roles import DecidedRoles, with_roles
from hybrid.publication.verdict import Verdict

MOST = 8
"""Runs that are shown at a time."""


@dataclass(frozen=True)
class Row:
    """One line, with a value for each run.

    Parameters
    ----------
    what : str
        The setting or the metric, and what it is about.
    values : tuple of str
        "–" where a run has none.
    apart : bool
        Of a metric: whether the intervals of two runs do not meet.
    """

    what: str
    values: tuple[str, ...]
    apart: bool = False


@dataclass(frozen=True)
class SideBySide:
    """Several runs in columns.

    Parameters
    ----------
    runs, created, verdicts : tuple of str
        Names of the folders; when they were made (UTC, ISO 8601); what the policy says of each alone.
    risks : tuple of Row
        Lamps: the standing of each question about the people in the data.
    settings : tuple of Row
        Options that differ, as a certificate states them.
    metrics : tuple of Row
        Of the released table.
    """

    runs: tuple[str, ...]
    created: tuple[str, ...]
    verdicts: tuple[str, ...]
    risks: tuple[Row, ...]
    settings: tuple[Row, ...]
    metrics: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)


def side_by_side(runs: Sequence[FinishedRun]) -> SideBySide:
    """Compare finished runs, in the given order.

    Parameters
    ----------
    runs : sequence of FinishedRun
        2 to :data:`MOST`.

    Raises
    ------
    ConfigError
        Fewer or more.
    """
    if not 2 <= len(runs) <= MOST:
        raise ConfigError(f"{len(runs)} runs cannot stand side by side", hint=f"choose 2 to {MOST}")
    judged = [verdict_of(run) for run in runs]
    settings = [settings_of(public_config(run.manifest["config"])) for run in runs]
    metrics = [released_metrics(metrics_of(run.evaluation)) for run in runs]
    return SideBySide(
        runs=tuple(run.folder.name for run in runs),
        created=tuple(str(run.manifest["created"]) for run in runs),
        verdicts=tuple(found.status for found in judged),
        risks=tuple(
            Row(same[0].question, tuple(lamp.status for lamp in same))
            for same in zip(*(lamps(found) for found in judged), strict=True)
        ),
        settings=tuple(
            Row(key, tuple(short_words(one.get(key)) for one in settings))
            for key in dict.fromkeys(key for one in settings for key in one)
            if any(one.get(key) != settings[0].get(key) for one in settings)
        ),
        metrics=tuple(
            _metric(" ".join(filter(None, key)), [one.get(key) for one in metrics])
            for key in dict.fromkeys(key for one in metrics for key in one)
        ),
    )


def verdict_of(run: FinishedRun, draws: int | None = None) -> Verdict:
    """Verdict on a run alone, from its checked files.

    Publishing judges again, with all earlier releases. ``draws`` counts the draws of the table so far, 1 or more; by
    default those that the run states.

    Raises
    ------
    DataError
        A number of the run is no number: it was written by another program.
    """
    number = (run.draw or 1) if draws is None else draws
    try:
        found = judge(run.policy, run.evaluation, run.anonymization, draws=number, power=run.power, private=run.is_dp)
        return with_roles(found, DecidedRoles.from_json(run.manifest.get("roles")))
    except DAMAGE:
        raise damaged(run.folder) from None


def _metric(what: str, found: Sequence[Mapping[str, Any] | None]) -> Row:
    ends = [one["ci"] for one in found if one is not None and one["state"] == "ok" and one["ci"] is not None]
    apart = bool(ends) and max(low for low, _ in ends) > min(high for _, high in ends)
    return Row(what, tuple(value_words(one) for one in found), apart)
