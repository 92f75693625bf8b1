"""Leagues of several tables side by side: tables behind docs/evidence/privacy-metrics.md.

    hybrid lab configs/lab_adult.yaml --out runs/adult
    hybrid lab configs/lab_three_tables.yaml --out runs/three
    python benchmarks/lab_findings.py runs/adult/league.json runs/three/league.json
        [--write docs/evidence/privacy-metrics.md]

Each argument is a ``league.json``, or one packed by xz. The leagues that the page is made of are in tests/data/lab. The
page has three of the tables that are printed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from lab_claims import claims
from lab_leagues import PAPERS, RISKS, Found, dial, grid, interval, number, power, read, series, small
from scipy.stats import rankdata, spearmanr

from hybrid.evaluation.engine.intervals import share_interval

ALL_NOISES = "noise on amounts, counts, categories"
ALSO = ("membership", "dcr_share", "knn_share", "nndr", "nndr_share")
"""Further metrics of the smaller tables."""
MOVED = 8
"""Metrics of the table of ranks."""
BEGIN, END = "<!-- made by benchmarks/lab_findings.py -->", "<!-- end -->"
ON_THE_PAGE = ("The league", "Where the order turns over", "Claims that these leagues judge")


def tables(found: Found) -> dict[str, str]:
    """All tables, by their titles."""
    parts = (
        ("The league", _league),
        ("Where the order turns over", _order),
        ("Metrics whose rank moves most", _moved),
        ("Does the number rise with the share leaked?", _linear),
        ("Overfitted trees", _overfit),
        ("What noise leaves", _noise),
        ("Size of the table", _size),
        ("Width of the intervals", _widths),
        ("Privacy budgets", _budgets),
        ("Training without outliers", _outliers),
        ("Numbers as papers print them", _printed),
        ("Claims that these leagues judge", claims),
    )
    return {title: f"### {title}\n\n" + "\n".join(make(found)) for title, make in parts}


def write(page: Path, text: str) -> None:
    """Replace the part of a page that this script makes."""
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def _noticed(found: Found, name: str, risk: str, part: str | None, *, share: bool) -> str:
    """First level that is noticed, table by table."""
    each = (series(found.metrics[table, name], risk, part)[0]["sensitivity"] for table in found.tables)
    return " / ".join(dial(value, share=share) for value in each)


def _league(found: Found) -> Iterator[str]:
    rows = []
    for name in found.names:
        mine = [found.metrics[table, name] for table in found.tables]
        hits, trials = (sum(each["false_alarms"][key] for each in mine) for key in ("hits", "trials"))
        low, high = share_interval(hits / trials, trials, 0.95)
        rows.append(
            [
                f"`{name}`",
                *(each["verdict"] for each in mine),
                _noticed(found, name, "leaky", "", share=True),
                _noticed(found, name, "noisy", ALL_NOISES, share=True),
                _noticed(found, name, "overfit", "cart", share=False),
                f"{hits} of {trials} ({100 * low:.0f} to {100 * high:.0f} %)",
                f"{np.median([each['cpu_seconds'] for each in mine]):.2f}",
            ]
        )
    head = ["metric", *found.tables, "copies from, %", "noisy copies from, %", "`cart` from leaves of", "false alarms"]
    yield from grid([*head, "CPU s"], rows)


def _powers(found: Found, table: str, risk: str) -> list[float]:
    return [power(found.metrics[table, name], risk) for name in found.names]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Spearman's rank correlation with its interval of 95 % (Bonett and Wright 2000)."""
    value = float(spearmanr(one, other).statistic)
    half = 1.959964 * math.sqrt((1 + value**2 / 2) / (len(one) - 3))
    return value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)


def _order(found: Found) -> Iterator[str]:
    rows = [
        [f"{RISKS[a]}, {RISKS[b]}"]
        + [interval(*rank_correlation(_powers(found, t, a), _powers(found, t, b))) for t in found.tables]
        for a, b in combinations(RISKS, 2)
    ]
    yield from grid(["risk models", *found.tables], rows)
    yield ""
    rows = [
        [f"{a}, {b}"] + [interval(*rank_correlation(_powers(found, a, r), _powers(found, b, r))) for r in RISKS]
        for a, b in combinations(found.tables, 2)
    ]
    yield from grid(["tables", *RISKS.values()], rows)


def _moved(found: Found) -> Iterator[str]:
    ranks = {
        risk: np.mean([rankdata([-p for p in _powers(found, table, risk)]) for table in found.tables], axis=0)
        for risk in RISKS
    }
    order = np.argsort(-np.abs(ranks["leaky"] - ranks["overfit"]), kind="stable")[:MOVED]
    rows = [[f"`{found.names[at]}`", *(f"{ranks[risk][at]:.0f}" for risk in RISKS)] for at in order]
    yield from grid([f"metric, mean rank of {len(found.names)}", *RISKS.values()], rows)


def _excess(each: Mapping[str, Any], position: int) -> str:
    return interval(*(each[key][position] for key in ("excess", "excess_low", "excess_high")))


def _linear(found: Found) -> Iterator[str]:
    rows = []
    for name, (paper, without, copy) in PAPERS.items():
        curves = [series(found.metrics[table, name], "leaky")[0] for table in found.tables]
        rows.append(
            [
                f"`{name}` ({paper})",
                f"{number(without, 3)} → {number(copy, 3)}",
                f"{_excess(curves[0], 0)} → {_excess(curves[0], -1)}",
                *(number(curve["calibration"]) for curve in curves),
            ]
        )
    head = ["metric", "printed, 0 → 100 %", f"ours on {found.tables[0]}, 0 → 100 %"]
    yield from grid([*head, *(f"deviation, {table}" for table in found.tables)], rows)


def _overfit(found: Found) -> Iterator[str]:
    rows = []
    for name in PAPERS:
        curves = [series(found.metrics[table, name], "overfit")[0] for table in found.tables]
        cells = [
            f"{number(c['excess'][1])} → {number(c['excess'][-1])}; {number(c['least_tau'])}; {small(c['trend_p'])}"
            for c in curves
        ]
        rows.append([f"`{name}`", *cells])
    yield from grid(["leaves of 50 → 1; least tau; p", *found.tables], rows)


def _noise(found: Found) -> Iterator[str]:
    rows = []
    for name in (*PAPERS, *ALSO):
        kept = [found.metrics[table, name]["noise_retention"].get(ALL_NOISES) for table in found.tables]
        rows.append([f"`{name}`", *(number(value) for value in kept)])
    yield from grid(["metric, share of its excess that is left", *found.tables], rows)


def _size(found: Found) -> Iterator[str]:
    chosen = [found.metrics, found.printed]
    names = ["dcr_score", "dcr_share", "nndr", "close_value", "linkability", "hitting_rate", "authenticity"]
    forms = ["dcr_score (PS)", "knn_share (PS)", "nndr (NNDR)", "close_value (DCR')", "close_value (NSND)"]
    rows = []
    for group, label, mine in ((chosen[0], "`{}`", names), (chosen[1], "{}, as printed", forms)):
        for name in mine:
            if all((table, name) in group for table in found.tables):
                each = [group[table, name] for table in found.tables]
                cells = [f"{number(m['size_drift'])} ({number(m['size_drift_certain'])})" for m in each]
                rows.append([label.format(name), *cells])
    yield from grid(["largest change of the excess (of which certain)", *found.tables], rows)


def _widths(found: Found) -> Iterator[str]:
    names = ("dcr_score", "dcr_share", "singling_out", "linkability", "inference", "membership")
    rows = []
    for name in names:
        curves = [series(found.metrics[table, name], "leaky")[0] for table in found.tables]
        cells = [
            " / ".join(
                number((c["excess_high"][at] - c["excess_low"][at]) / 2, 3) for at in (0, c["levels"].index(0.5))
            )
            for c in curves
        ]
        rows.append([f"`{name}`", *cells])
    yield from grid(["half width without a leak / half copied", *found.tables], rows)


def _half(curve: Mapping[str, Any], leak: float) -> str:
    at = curve["levels"].index(leak)
    return number((curve["excess_high"][at] - curve["excess_low"][at]) / 2, 3)


def _budgets(found: Found) -> Iterator[str]:
    rows, levels = [], list[float]()
    for name in (*PAPERS, *ALSO):
        for curve in series(found.metrics[found.tables[0], name], "dp"):
            levels = curve["levels"][1:]
            noticed = (f"{number(p, 1)}; {_excess(curve, at)}" for at, p in enumerate(curve["power"], start=1))
            rows.append([f"`{name}`", *noticed])
    yield from grid(["share of the trials that notice; excess", *(f"epsilon {value:g}" for value in levels)], rows)


def _outliers(found: Found) -> Iterator[str]:
    rows, ways = [], list[str]()
    for name in (*PAPERS, *ALSO):
        changes = found.metrics[found.tables[0], name]["without_outliers"]
        ways = [each["series"] for each in changes] or ways
        rows.append([f"`{name}`", *(interval(each["change"], each["low"], each["high"], 3) for each in changes)])
    yield from grid(["change of the excess beyond removal by chance", *ways], rows)


def _printed(found: Found) -> Iterator[str]:
    rows = []
    for name in dict.fromkeys(name for _, name in found.printed):
        curves = [
            series(found.printed[table, name], "leaky")[0] for table in found.tables if (table, name) in found.printed
        ]
        own = [series(found.metrics[table, name.partition(" (")[0]], "leaky")[0] for table in found.tables]
        rows.append(
            [
                name,
                " / ".join(number(curve["tau"]) for curve in curves),
                " / ".join(dial(curve["sensitivity"], share=True) for curve in curves),
                " / ".join(dial(curve["sensitivity"], share=True) for curve in own),
            ]
        )
    yield from grid(["form", "tau with the share copied", "notices from, %", "ours from, %"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leagues", type=Path, nargs="+", metavar="LEAGUE")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="replace the tables of this document")
    arguments = parser.parse_args()
    made = tables(read(arguments.leagues))
    print("\n\n".join(made.values()))
    if arguments.write is not None:
        write(arguments.write, "\n\n".join(made[title] for title in ON_THE_PAGE))


if __name__ == "__main__":
    main()
