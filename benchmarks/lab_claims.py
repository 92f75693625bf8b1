"""Claims of papers that a league of the laboratory can judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from lab_leagues import PAPERS, Found, dial, grid, number, series, small

LINEAR = 0.05
"""Largest deviation from the share leaked that still reads as that share."""


def claims(found: Found) -> Iterator[str]:
    """Table of the claims, with the numbers they are judged by."""
    rows = [
        _reads_as_the_share(found),
        _same_copy(found),
        _rises_with_overfitting(found),
        _indicators_suffice(found),
        _distances_vary_less(found),
        _flat_over_budgets(found),
        _depends_on_size(found),
        _forms_rise(found),
    ]
    yield from grid(["claim", "found here", "verdict"], rows)


def _word(holds: Mapping[str, bool]) -> str:
    """Verdict on a claim about several metrics."""
    against = [f"`{name}`" for name, it_does in holds.items() if not it_does]
    if not against:
        return "holds"
    return "does not hold" if len(against) == len(holds) else f"holds, but not for {', '.join(against)}"


def _reads_as_the_share(found: Found) -> list[str]:
    deviations = {
        name: max(series(found.metrics[table, name], "leaky")[0]["calibration"] or math.inf for table in found.tables)
        for name in PAPERS
    }
    said = ", ".join(f"`{name}` {number(value) if value < 1 else 'no rise'}" for name, value in deviations.items())
    claim = "The risk grows in proportion to the share copied (encoder paper, Fig. 3; thesis, Fig. 4.2)"
    word = _word({name: value <= LINEAR for name, value in deviations.items()})
    return [claim, f"largest deviation from proportion on any table: {said}; at most {number(LINEAR)} counts", word]


def _same_copy(found: Found) -> list[str]:
    said, holds = [], {}
    for name, (_, _, copy) in PAPERS.items():
        curve = series(found.metrics[found.tables[0], name], "leaky")[0]
        low, high = curve["excess_low"][-1], curve["excess_high"][-1]
        holds[name] = low - 0.01 <= copy <= high + 0.01
        said.append(f"`{name}` {number(copy, 3)}, here {number(low, 3)} to {number(high, 3)}")
    return ["Values of a copy of Adult (thesis, Table 4.3)", "; ".join(said), _word(holds)]


def _rises_with_overfitting(found: Found) -> list[str]:
    worst = {
        name: max(series(found.metrics[table, name], "overfit")[0]["trend_p"] for table in found.tables)
        for name in PAPERS
    }
    least = {
        name: min(series(found.metrics[table, name], "overfit")[0]["least_tau"] for table in found.tables)
        for name in PAPERS
    }
    said = ", ".join(f"`{name}` {number(least[name])}, {small(worst[name])}" for name in PAPERS)
    claim = "Every metric rises with overfitting (thesis, Table 4.3; other generators)"
    return [claim, f"least tau, and p on the worst table: {said}", _word({n: p < 0.001 for n, p in worst.items()})]


def _indicators_suffice(found: Found) -> list[str]:
    said, holds = [], {}
    for table in found.tables:
        curves = {
            name: series(found.metrics[table, name], "overfit")[0]
            for name in ("identical_match", "dcr_score", "membership", "inference")
        }
        first = {name: curve["sensitivity"] or 0.0 for name, curve in curves.items()}
        indicators, attacks = (
            max(first[a], first[b]) for a, b in (("identical_match", "dcr_score"), ("membership", "inference"))
        )
        holds[table] = indicators >= attacks  # leaves shrink along the dial: an earlier notice is at larger ones
        said.append(f"{table} {dial(indicators or None, share=False)} and {dial(attacks or None, share=False)}")
    claim = "IMS and DCR suffice in the place of attacks (thesis, chapter 4)"
    found_here = f"leaves of `cart` that the better indicator, and the better attack, notices: {'; '.join(said)}"
    return [claim, found_here, _word(holds)]


def _distances_vary_less(found: Found) -> list[str]:
    def width(name: str, table: str) -> float:
        curve = series(found.metrics[table, name], "leaky")[0]
        at = curve["levels"].index(0.5)
        return float(curve["excess_high"][at] - curve["excess_low"][at]) / 2

    attacks = ("singling_out", "linkability", "inference", "membership")
    widths = {name: float(np.mean([width(name, table) for table in found.tables])) for name in ("dcr_score", *attacks)}
    said = ", ".join(f"`{name}` {number(value, 3)}" for name, value in widths.items())
    word = _word({name: 2 * widths["dcr_score"] < widths[name] for name in attacks})
    claim = "DCR varies far less than attacks (encoder paper)"
    return [claim, f"mean half width of the interval at half copied: {said}; half as wide counts", word]


def _flat_over_budgets(found: Found) -> list[str]:
    curves = [curve for name in found.names for curve in series(found.metrics[found.tables[0], name], "dp")]
    levels = curves[0]["levels"][1:]
    most = [max(curve["power"][at] for curve in curves) for at in range(len(levels))]
    counts = [sum(curve["power"][at] >= 0.8 for curve in curves) for at in range(len(levels))]
    said = "; ".join(
        f"epsilon {level:g}: {count} of {len(curves)} metrics (the best in {100 * top:.0f} % of the trials)"
        for level, count, top in zip(levels, counts, most, strict=True)
    )
    flat = max((level for level, count in zip(levels, counts, strict=True) if count == 0), default=None)
    word = "does not hold" if flat is None else f"holds up to {flat:g}"
    claim = "Metrics of the table alone stay flat over privacy budgets of 1 to 100 (thesis, Fig. 4.4, AIM)"
    return [claim, f"`privbayes` on {found.tables[0]}, noticed in 80 % of the trials: {said}", word]


def _depends_on_size(found: Found) -> list[str]:
    printed, own = (
        [group[table, name]["size_drift"] for table in found.tables]
        for group, name in ((found.printed, "dcr_score (PS)"), (found.metrics, "dcr_score"))
    )
    certain = [found.printed[table, "dcr_score (PS)"]["size_drift_certain"] for table in found.tables]
    said = f"as printed {' / '.join(map(number, printed))}; `dcr_score` {' / '.join(map(number, own))}"
    word = "holds as printed" if min(certain) > 0.02 else "cannot be decided"
    word += ", not for the corrected metric" if max(own) <= 0.02 else ""
    return ["DCR depends on the size of the table (thesis, Fig. 4.8)", f"change with the size: {said}", word]


def _forms_rise(found: Found) -> list[str]:
    taus: dict[str, list[float]] = {}
    for (_, name), metric in found.printed.items():
        taus.setdefault(name, []).append(series(metric, "leaky")[0]["tau"] or 0.0)
    rise = [name for name, each in taus.items() if min(each) >= 0.9]
    fall = [name for name, each in taus.items() if max(each) < 0]
    other = [name for name in taus if name not in rise and name not in fall]
    said = f"{len(rise)} of {len(taus)} forms rise on every table (tau at least .9); falling: {', '.join(fall)}; "
    claim = "Many printed forms do not rise with the leak (PrivEval, Definition 2)"
    return [claim, f"{said}neither: {', '.join(other)}", "holds" if fall or other else "does not hold"]
