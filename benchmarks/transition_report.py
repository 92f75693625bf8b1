"""Means, intervals, fronts and pictures of ``benchmarks/transition.py``."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

FACTORS = ["k", "recoding", "method", "order", "generator"]
COSTS = {"tstr": "TSTR (error: 1 - score)", "total_variation": "total variation"}
"""What is set against exact-copy excess; both better when smaller."""


def write_report(folder: Path) -> None:
    """Write summary.csv, fronts.csv and fronts.svg from runs.csv."""
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False, na_values=[""])
    summary = summarize(runs)
    summary.round(5).to_csv(folder / "summary.csv", index=False)
    table = fronts(runs)
    table.to_csv(folder / "fronts.csv", index=False)
    (folder / "fronts.svg").write_text(picture(summary, table), encoding="utf-8")


def summarize(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and half width of the 95 % t-interval over seeds of every number, per configuration."""
    numbers = [name for name in runs.columns if name not in (*FACTORS, "seed")]
    grouped = runs.groupby(FACTORS, sort=False)[numbers]
    n = grouped.count()
    half = grouped.std(ddof=1) / np.sqrt(n) * stats.t.ppf(0.975, np.maximum(n - 1, 1))
    both = grouped.mean().join(half, rsuffix="_pm")
    order = [name for number in numbers for name in (number, f"{number}_pm")]
    return both[order].assign(seeds=grouped.size()).reset_index()


def fronts(runs: pd.DataFrame) -> pd.DataFrame:
    """Which configurations no other dominates, by mean and for sure.

    One configuration dominates another by mean if it is no worse in both numbers and better in one; for sure if the
    paired difference over seeds is better in both at the 5 % level (one-sided t-tests). Compared are all methods of
    the same k and recoding together with the generators trained on the originals, for every pair of numbers, with
    and without the methods that use the target (``_y``, and ``given``, which uses all other columns).
    """
    runs = runs.assign(tstr=1 - runs["tstr"])
    blind = ~runs["method"].str.endswith("_y") & (runs["method"] != "given")
    rows = []
    baselines = runs[runs["recoding"] == "none"]
    for (k, recoding), part in runs[runs["recoding"] != "none"].groupby(["k", "recoding"]):
        for target in ("with", "without"):
            chosen = part if target == "with" else part[blind[part.index]]
            together = pd.concat([chosen, baselines])
            for cost in COSTS:
                wide = {
                    name: together.pivot(index="seed", columns=FACTORS, values=name) for name in ("exact_excess", cost)
                }
                names = list(wide[cost].columns)
                values = np.stack([wide[name][names].to_numpy() for name in ("exact_excess", cost)])
                by_mean, surely = _dominated(values)
                rows += [
                    {
                        "in_k": k, "in_recoding": recoding, "target": target, "cost": cost,
                        **dict(zip(FACTORS, name, strict=True)),
                        "on_front": not by_mean[i], "surely_dominated": bool(surely[i]),
                    }
                    for i, name in enumerate(names)
                ]  # fmt: skip
    return pd.DataFrame(rows)


def _dominated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``values``: (2 numbers, seeds, configurations), smaller is better."""
    mean = values.mean(axis=1)
    better = mean[:, :, None] - mean[:, None, :]  # [number, other, one]
    by_mean = ((better <= 0).all(axis=0) & (better < 0).any(axis=0)).any(axis=0)
    difference = values[:, :, :, None] - values[:, :, None, :]
    n = values.shape[1]
    error = difference.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(better.shape, np.inf)
    surely = (better + stats.t.ppf(0.95, max(n - 1, 1)) * error < 0).all(axis=0).any(axis=0)
    return by_mean, surely


def picture(summary: pd.DataFrame, table: pd.DataFrame) -> str:
    """One scatter per anonymization and cost: filled where nothing dominates, baselines in red."""
    cells = list(table.groupby(["in_k", "in_recoding", "cost"], sort=False).groups)
    width, height = 560, 420
    parts = []
    for i, (k, recoding, cost) in enumerate(cells):
        chosen = table[(table["in_k"] == k) & (table["in_recoding"] == recoding) & (table["cost"] == cost)]
        front = chosen[chosen["target"] == "with"].merge(summary, on=FACTORS)
        front["y"] = 1 - front[cost] if cost == "tstr" else front[cost]
        parts.append(
            _scatter(front, f"k = {k}, {recoding}", COSTS[cost], i % 2 * width, i // 2 * height, width, height)
        )
    total = height * ((len(cells) + 1) // 2)
    style = "text{font:10px sans-serif} .t{font-size:13px}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width} {total}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


def _scatter(points: pd.DataFrame, title: str, cost: str, left: int, top: int, width: int, height: int) -> str:
    """Points that nothing dominates are filled, numbered and named at the right; both axes are stretched near 0."""
    points = points.sort_values("exact_excess")
    x, y = np.sqrt(np.maximum(points["exact_excess"], 0)), np.log(np.maximum(points["y"], 1e-3))
    right, bottom = width - 210, height - 40
    px = left + 45 + (right - 55) * x / max(x.max(), 1e-9)
    py = top + bottom - (bottom - 50) * (y - y.min()) / max(y.max() - y.min(), 1e-9)
    marks = [
        f'<text class="t" x="{left + 10}" y="{top + 20}">{escape(title)}: {escape(cost)} (up, log) '
        "by exact-copy excess (right, square root)</text>"
    ]
    for value in (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6):
        if np.sqrt(value) <= x.max():
            at = left + 45 + (right - 55) * np.sqrt(value) / max(x.max(), 1e-9)
            marks.append(f'<text x="{at:.0f}" y="{top + height - 20}" text-anchor="middle">{value:g}</text>')
    for value in (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5):
        if y.min() <= np.log(value) <= y.max():
            at = top + bottom - (bottom - 50) * (np.log(value) - y.min()) / (y.max() - y.min())
            marks.append(f'<text x="{left + 35}" y="{at + 3:.0f}" text-anchor="end">{value:g}</text>')
    number = 0
    for row, cx, cy in zip(points.itertuples(), px, py, strict=True):
        color = "#c0392b" if row.recoding == "none" else "#2c6fad"
        name = f"{row.method} {row.order} {row.generator}" if row.recoding != "none" else f"original {row.generator}"
        told = f"{escape(name)}: {row.exact_excess:.3f}, {row.y:.3f}"
        fill = color if row.on_front else "none"
        marks.append(
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="4" fill="{fill}" stroke="{color}"><title>{told}</title></circle>'
        )
        if row.on_front:
            number += 1
            marks.append(f'<text x="{cx + 5:.1f}" y="{cy - 5:.1f}">{number}</text>')
            marks.append(
                f'<text x="{left + right + 5}" y="{top + 50 + 14 * number}" fill="{color}">{number} {told}</text>'
            )
    return "".join(marks)
