"""Comparison of a run with the last release of its data set, and of finished runs side by side.

Settings, columns and counts are compared as a certificate states them: without places, seeds and exact counts. Metrics
are those of the certificate too, from the ledger, which has them for private tables as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.evaluation.display import range_of, within
from hybrid.publication.column_roles import DecidedRoles, with_roles
from hybrid.publication.facts import metrics_of
from hybrid.publication.finished_run import DAMAGE, FinishedRun, damaged
from hybrid.publication.folder import Release
from hybrid.publication.key import data_tag, release_key
from hybrid.publication.lamps import lamps
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import newest_own
from hybrid.publication.redact import public_anonymization, public_config
from hybrid.publication.verdict import Verdict

COUNTS = ("k", "records", "persons", "suppressed", "suppressed_persons", "classes")
"""Numbers of the anonymization that are compared; those of records in tens."""
_LONGEST = 120


@dataclass(frozen=True)
class Change:
    """One statement, before and now; "–" where there is none."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class MovedMetric:
    """Metric of the released table whose intervals do not meet, or that has a value only before or only now."""

    metric: str
    """Name in the registry."""
    about: str
    """Column and table it is about; empty: the whole."""
    before: str
    now: str
    """Value with its interval; "–" where it was not computable."""
    better: bool | None
    """Whether it moved into its good direction; None where that is not known."""


@dataclass(frozen=True)
class Difference:
    """Changes of a run since the last release of its data set."""

    release: str
    created: str
    """Name of that release; when it was made (UTC, ISO 8601)."""
    same_source: bool
    """Whether the records are the very same."""
    policy: tuple[Change, ...]
    settings: tuple[Change, ...]
    roles: tuple[Change, ...]
    counts: tuple[Change, ...]
    """Name, version and content of the policy; options; roles of columns; numbers of the anonymization."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    """Columns that only the run has, and that only the release has."""
    moved: tuple[MovedMetric, ...]
    """Metrics that moved beyond their intervals."""
    compared: int
    """Metrics with a value and an interval in both."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def difference_to_last(run: FinishedRun, releases_dir: Path, private_dir: Path) -> Difference | None:
    """Compare a run with the newest release of its data set; None if there is none.

    A release that was withdrawn or changed since does not count, nor one that the ledger does not hold.
    """
    ledger = Ledger(private_dir)
    last = newest_own(releases_dir, ledger, run.data_set)
    entry = next((one for one in ledger.entries(run.data_set) if last and one.release == last.path.name), None)
    if last is None or entry is None:
        return None
    return difference(run, last, entry.metrics, entry.data_tag == data_tag(release_key(private_dir), run.manifest))


def difference(
    run: FinishedRun, release: Release, metrics: tuple[Mapping[str, Any], ...], same_source: bool
) -> Difference:
    """Compare a run with a release and its ``metrics``, as in a certificate.

    ``same_source``: whether the records are the same.
    """
    certificate, policy = release.certificate, run.policy
    before, now = certificate["config"], public_config(run.manifest["config"])
    roles_before, roles_now = _roles(before), _roles(now)
    named = {"name": policy.name, "version": policy.version, "owner": policy.owner, "sha256": policy.sha256}
    counted = None if run.anonymization is None else public_anonymization(run.anonymization)
    found = tuple(_moved(released_metrics(metrics), released_metrics(metrics_of(run.evaluation))))
    return Difference(
        release=release.path.name,
        created=release.created,
        same_source=same_source,
        policy=tuple(_changes({name: certificate["policy"].get(name) for name in named}, named)),
        settings=tuple(_changes(settings_of(before), settings_of(now))),
        roles=tuple(
            Change(name, roles_before[name], roles_now[name])
            for name in roles_now
            if name in roles_before and roles_before[name] != roles_now[name]
        ),
        counts=tuple(_changes(_counts(certificate["anonymization"]), _counts(counted))),
        added=tuple(name for name in roles_now if name not in roles_before),
        removed=tuple(name for name in roles_before if name not in roles_now),
        moved=tuple(one for one in found if one is not None),
        compared=sum(one is None or "–" not in (one.before, one.now) for one in found),
    )


def released_metrics(metrics: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Metrics of the released table by name and what they are about."""
    return {
        (one["name"], ", ".join(filter(None, (one.get("column"), one.get("table"))))): one
        for one in metrics
        if one["stage"] == "synthetic"
    }


def _moved(
    before: Mapping[tuple[str, str], Mapping[str, Any]], now: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[MovedMetric | None]:
    # None where a metric has not moved; metrics without an interval are left out.
    for key in dict.fromkeys((*before, *now)):
        one, other = before.get(key), now.get(key)
        known = [metric is not None and metric["state"] == "ok" for metric in (one, other)]
        if known == [False, False]:
            continue
        if not all(known):
            yield MovedMetric(*key, value_words(one), value_words(other), None)
            continue
        assert one is not None
        assert other is not None
        if one["ci"] is None or other["ci"] is None:
            continue
        apart = one["ci"][1] < other["ci"][0] or other["ci"][1] < one["ci"][0]
        better = {"lower": other["value"] < one["value"], "higher": other["value"] > one["value"]}
        yield MovedMetric(*key, value_words(one), value_words(other), better.get(other["direction"])) if apart else None


def value_words(metric: Mapping[str, Any] | None) -> str:
    """Value of a metric with its interval; "–" without one."""
    if metric is None or metric["state"] != "ok":
        return "–"
    value, *ends = (within(number, range_of(metric["name"])) for number in (metric["value"], *(metric["ci"] or ())))
    return f"{value:.4g} ({ends[0]:.4g} to {ends[1]:.4g})" if ends else f"{value:.4g}"


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys((*before, *now)):
        if before.get(key) != now.get(key):
            yield Change(key, short_words(before.get(key)), short_words(now.get(key)))


def short_words(value: Any) -> str:
    """One option in a line; "–" for none."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a public configuration by their dotted keys, without its columns."""
    rest = {key: value for key, value in config.items() if key not in ("columns", "tables")}
    tables = config.get("tables") or {}
    return _flat(rest) | {
        f"tables.{name}.{key}": value
        for name, about in tables.items()
        for key, value in _flat(about).items()
        if not key.startswith("columns.")
    }


def _flat(options: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in options.items():
        found |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) and value else {f"{before}{key}": value}
    return found


def _roles(config: Mapping[str, Any]) -> dict[str, str]:
    tables = {f"{name}.": about["columns"] for name, about in (config.get("tables") or {}).items()}
    return {
        f"{table}{name}": str(about.get("role", "–"))
        for table, columns in (tables or {"": config.get("columns") or {}}).items()
        for name, about in columns.items()
    }


def _counts(anonymization: Mapping[str, Any] | None) -> dict[str, Any]:
    found = anonymization or {}
    loss = {"information loss": f"{found['loss']['value']:.3f}"} if found else {}
    return {key.replace("_", " "): found[key] for key in COUNTS if found.get(key) is not None} | loss


MOST = 8
"""Runs that are shown at a time."""


@dataclass(frozen=True)
class ComparedRow:
    """One line, with a value for each run."""

    what: str
    """The setting or the metric, and what it is about."""
    values: tuple[str, ...]
    """"–" where a run has none."""
    apart: bool = False
    """Of a metric: whether the intervals of two runs do not meet."""


@dataclass(frozen=True)
class SideBySide:
    """Several runs in columns."""

    runs: tuple[str, ...]
    created: tuple[str, ...]
    verdicts: tuple[str, ...]
    """Names of the folders; when they were made (UTC, ISO 8601); what the policy says of each alone."""
    risks: tuple[ComparedRow, ...]
    """Lamps: the standing of each question about the people in the data."""
    settings: tuple[ComparedRow, ...]
    """Options that differ, as a certificate states them."""
    metrics: tuple[ComparedRow, ...]
    """Of the released table."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def side_by_side(runs: Sequence[FinishedRun]) -> SideBySide:
    """Compare finished runs, in the given order.

    Parameters
    ----------
    runs : sequence of FinishedRun
        2 to :data:`MOST`.
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
            ComparedRow(same[0].question, tuple(lamp.status for lamp in same))
            for same in zip(*(lamps(found) for found in judged), strict=True)
        ),
        settings=tuple(
            ComparedRow(key, tuple(short_words(one.get(key)) for one in settings))
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
    """
    number = (run.draw or 1) if draws is None else draws
    try:
        return with_roles(run.judged(number), DecidedRoles.from_json(run.manifest.get("roles")))
    except DAMAGE:
        raise damaged(run.folder) from None


def _metric(what: str, found: Sequence[Mapping[str, Any] | None]) -> ComparedRow:
    ends = [one["ci"] for one in found if one is not None and one["state"] == "ok" and one["ci"] is not None]
    apart = bool(ends) and max(low for low, _ in ends) > min(high for _, high in ends)
    return ComparedRow(what, tuple(value_words(one) for one in found), apart)
