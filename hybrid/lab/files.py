"""Files of a league: JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from hybrid.base.sentence import stated
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.trust import SCHEMA
from hybrid.lab.advice import Believing, MetricAdvice, believing
from hybrid.lab.league import Entry, Judged, League
from hybrid.lab.measurements import Contestant
from hybrid.lab.measures import POWER, Share
from hybrid.lab.plan import GivenTable, LabDesign
from hybrid.lab.verdicts import RULES

DIGITS = 6


def league_json(plan: LabDesign, found: League, given: GivenTable | None = None) -> dict[str, Any]:
    """The league as JSON types: aggregates alone.

    ``metrics`` has an object per table and metric, the best first, then one per number as papers print it (``printed``
    names it); ``verdict`` is one of the keys of ``rules``. ``believe`` has the metrics to believe on each table, those
    that notice most first, with the kinds of leak that they notice and the smallest size (``from``, as the ``dial``
    shows it); ``do_not_believe`` has the others and why; ``kinds`` the first metrics to notice each kind of leak.
    """
    advised = believing(found)
    content = {
        "schema": SCHEMA,
        "name": plan.name,
        "scale": plan.scale,
        "tables": found.tables,
        "risk_models": list(plan.risk_models),
        "seeds": len(plan.seeds),
        "null_seeds": plan.null_seeds,
        "power": POWER,
        "rules": RULES,
        "believe": [_believed(each, given) for about in advised for each in about.believe],
        "do_not_believe": [*_doubted(advised), *_not_computable(given)],
        "kinds": [kind for about in advised for kind in _kinds(about)],
        "given": given
        and {
            "rows": dict(given.rows),
            "not_planted": dict(given.not_planted),
            "notes": list(given.notes),
        },
        "metrics": [_entry(entry) for entry in found.entries],
        "not_compared": [{"table": table, "name": name} for table, name in found.uncompared],
        "nothing_noticed": [dict(zip(("table", "risk", "series"), key, strict=True)) for key in found.silent],
        "transfer": [
            {
                "one": list(each.one),
                "other": list(each.other),
                "rank_correlation": _rounded(each.correlation),
                "metrics": each.metrics,
                "moved": [{"name": m.contestant, "rank_in_one": m.one, "rank_in_other": m.other} for m in each.moved],
            }
            for each in found.transfers
        ],
    }
    return stated(content)


def _believed(advice: MetricAdvice, given: GivenTable | None) -> dict[str, Any]:
    entry = advice.entry
    excess = None if given is None else given.excesses.get(entry.contestant)
    return {
        "table": entry.data,
        "name": entry.contestant,
        "share_noticed": _rounded(entry.mean_power),
        "notices": [
            {"kind": each.risk, "from": each.value, "words": each.words, "series": each.series, "of": each.of}
            for each in advice.noticed
        ],
        "misses": list(advice.missed),
        "as_it_is": excess and [_rounded(value) for value in excess],
    }


def _doubted(advised: Sequence[Believing]) -> Iterator[dict[str, Any]]:
    for about in advised:
        for each in about.doubt:
            yield {"table": about.table, "name": each.entry.contestant, "because": each.against}


def _not_computable(given: GivenTable | None) -> Iterator[dict[str, Any]]:
    for name, reason in ({} if given is None else given.not_computable).items():
        yield {"table": None, "name": name, "because": f"not computable: {reason}"}


def _kinds(about: Believing) -> Iterator[dict[str, Any]]:
    for best in about.best:
        yield {"table": about.table, "kind": best.risk, "from": best.value, "first": list(best.metrics)}
    for kind in about.unseen:
        yield {"table": about.table, "kind": kind, "from": None, "first": []}


def league_table(found: League) -> pd.DataFrame:
    return pd.DataFrame([_row(entry) for entry in found.entries])


def _entry(entry: Entry) -> dict[str, Any]:
    contestant = Contestant.parse(entry.contestant)
    metric = REGISTRY[contestant.metric]
    near = None if entry.relative is None else {"name": entry.relative[0], "correlation": _rounded(entry.relative[1])}
    return {
        "table": entry.data,
        "name": entry.contestant,
        "metric": metric.name,
        "column": contestant.column or None,
        "printed": contestant.form or None,
        "pillar": metric.pillar,
        "criterion": metric.risk,
        "mechanism": metric.mechanism,
        "access": metric.access,
        "knows": metric.knows,
        "unit": metric.unit,
        "verdict": entry.overall.word,
        "reasons": list(entry.overall.reasons),
        "false_alarms": _share(entry.false_alarms),
        "voids": _share(entry.voids),
        "cpu_seconds": _rounded(entry.cpu_seconds),
        "size_drift": entry.drift and _rounded(entry.drift.value),
        "size_drift_certain": entry.drift and _rounded(entry.drift.certain),
        "noise_retention": {name: _rounded(value) for name, value in entry.retention.items()},
        "without_outliers": [
            {"series": each.series, "removed": each.share, "change": _rounded(each.change)}
            | {"low": _rounded(each.low), "high": _rounded(each.high)}
            for each in entry.removals
        ],
        "errs_like": near,
        "risk_models": {
            risk: {"verdict": verdict.word, "reasons": list(verdict.reasons)}
            for risk, verdict in entry.verdicts.items()
        },
        "series": [_series(judged) for judged in entry.judged],
    }


def _series(judged: Judged) -> dict[str, Any]:
    track, found = judged.track, judged.track.sensitivity
    means, low, high = (_means(part) for part in (track.curve.excess, track.curve.low, track.curve.high))
    return {
        "risk": track.risk,
        "series": track.series.name,
        "dial": track.series.dial,
        "levels": [level.value for level in track.series.levels],
        "verdict": None if judged.verdict is None else judged.verdict.word,
        "excess": means,
        "excess_low": low,
        "excess_high": high,
        "power": [_rounded(value) for value in track.power],
        "sensitivity": track.at(found.position),
        "sensitivity_low": track.at(found.low),
        "sensitivity_high": track.at(found.high),
        "tau": _rounded(track.tau),
        "least_tau": _rounded(track.least_tau),
        "trend_z": _rounded(track.trend.z),
        "trend_p": _rounded(track.trend.p),
        "against": _rounded(track.against),
        "turns": track.turns,
        "calibration": _rounded(track.calibration),
        "coverage": _rounded(track.coverage),
    }


def _row(entry: Entry) -> dict[str, Any]:
    content = _entry(entry)
    flat = {name: content[name] for name in ("table", "name", "pillar", "criterion", "access", "knows", "verdict")}
    flat |= {f"verdict.{risk}": verdict.word for risk, verdict in entry.verdicts.items()}
    for judged in entry.judged:
        track = judged.track
        if track.series.scale != "none":
            name = ".".join(filter(None, (track.risk, track.series.name)))
            flat[f"sensitivity.{name}"] = track.at(track.sensitivity.position)
            flat[f"least_tau.{name}"] = _rounded(track.least_tau)
    alarms = entry.false_alarms
    return flat | {
        "false_alarms": alarms.hits,
        "trials_without_leak": alarms.trials,
        "false_alarms_low": _rounded(alarms.low),
        "false_alarms_high": _rounded(alarms.high),
        "voids": entry.voids.hits,
        "size_drift": entry.drift and _rounded(entry.drift.value),
        "size_drift_certain": entry.drift and _rounded(entry.drift.certain),
        "cpu_seconds": _rounded(entry.cpu_seconds),
        "reasons": "; ".join(entry.overall.reasons),
    }


def _share(share: Share) -> dict[str, Any]:
    return {"hits": share.hits, "trials": share.trials, "low": _rounded(share.low), "high": _rounded(share.high)}


def _means(matrix: Any) -> list[float | None]:
    frame = pd.DataFrame(matrix)
    return [_rounded(value) for value in frame.mean(axis=1)]


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")
