"""What each choice of our TabDDPM is worth: one thing changed at a time, everything else at its default.

    python benchmarks/tabddpm.py adult.csv --steps 1200 --seeds 1 --out benchmarks/results/generators

Writes ``tabddpm_choices.csv`` (every variant after ``--steps`` steps), ``tabddpm_time.csv`` (both engines after so many
steps as ``--curve`` says, each with its own decay of the learning rate) and the picture ``tabddpm_time.svg``. Rows
that are already there are not computed again. One thread; seconds are CPU seconds. The table is split as in
``generators.py``. The engine synthcity takes its own learning rate and needs ``hybrid generators install synthcity``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from generators import bootstrap, clocks, read, split
from quality import figures

from hybrid.synthesize import FittedGenerator, SynthesizeOptions, fit
from hybrid.table import Table

Changes = Mapping[str, Any]

TRAINING: dict[str, Changes] = {
    "numbers never as categories": {"max_levels": 0},
    "uniform prior": {"prior": "uniform"},
    "no likelihood factor": {"likelihood": False},
    "no EMA": {"ema": 0.0},
    "EMA .9999": {"ema": 0.9999},
    "constant learning rate": {"lr_decay": "none"},
    "learning rate 2e-3": {"lr": 2e-3},
    "learning rate 8e-3": {"lr": 8e-3},
    "dropout .1": {"dropout": 0.1},
    "layers 3 x 128": {"layers": (128, 128, 128)},
    "layers 3 x 512": {"layers": (512, 512, 512)},
    "layers 2 x 256": {"layers": (256, 256)},
}
"""Each is trained by itself."""
DRAWING: dict[str, Changes] = {
    "shares free": {"shares": "free"},
    "shares exact": {"shares": "exact"},
    "independent draws": {"balanced": False},
    "10 sampling steps": {"sampling_steps": 10},
    "25 sampling steps": {"sampling_steps": 25},
    "100 sampling steps": {"sampling_steps": 100},
    "250 sampling steps": {"sampling_steps": 250},
    "1000 sampling steps": {"sampling_steps": 1000},
}
"""Drawn from the default's model."""
ENGINES: dict[str, Changes] = {
    "native": {},
    "synthcity": {"engine": "synthcity", "lr": 2e-3},
    "synthcity, preset thesis": {"engine": "synthcity", "epochs": 1000, "lr": 1e-4, "dropout": 0.1},
}
"""Lines of the picture; the last one is a point: 22,000 steps on two thirds of Adult."""
BATCH = 1024
ERRORS = {"shape_pct": "shape", "trend_pct": "trend"}
ROOM = 24
"""Points nearer than this to the next one have no room for their numbers."""


class Bench:
    """Two tables, and rows of figures in a file that grows.

    Parameters
    ----------
    arguments : argparse.Namespace
        The command line.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.train, self.holdout = split(read(arguments.table, arguments.target, ("?", ""), arguments.rows))
        self.target, self.near_unique = arguments.target, tuple(arguments.near_unique)

    def add(self, path: Path, name: Changes, synthetic: Table, cost: Mapping[str, float]) -> None:
        """Append one row of figures."""
        found = figures(self.train, self.holdout, synthetic, self.target, self.near_unique)
        row = pd.DataFrame([{**name, **found, **cost}])
        before = [pd.read_csv(path)] if path.exists() else []
        pd.concat([*before, row]).to_csv(path, index=False)
        print(row.to_string(index=False, header=not before), flush=True)

    def trained(self, changes: Changes, seed: int) -> tuple[FittedGenerator, float]:
        """A generator, and the CPU seconds it took."""
        start = clocks()[1]
        isolate = changes.get("engine") == "synthcity"
        options = SynthesizeOptions(generator="tabddpm", options=dict(changes), isolate=isolate)
        return fit(self.train, options, seed), clocks()[1] - start

    def drawn(self, fitted: FittedGenerator, seed: int) -> tuple[Table, float]:
        """A table as long as the training table, and the CPU seconds it took."""
        start = clocks()[1]
        return fitted.sample(len(self.train), seed), clocks()[1] - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--curve", nargs="*", type=int, default=[500, 1000, 2000, 4000, 6000])
    parser.add_argument("--engines", nargs="*", default=["native"], choices=list(ENGINES), help="of the curve")
    parser.add_argument("--choices", nargs="*", default=[*DRAWING, *TRAINING], help="only these, beside the default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--target", default="income", help="column of two classes for TSTR")
    parser.add_argument("--near-unique", nargs="*", default=["fnlwgt"], help="columns left out of the copy rate")
    parser.add_argument("--rows", type=int, help="use only so many records of the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments)
    for seed in arguments.seeds:
        if arguments.choices:
            _choices(bench, arguments.out / "tabddpm_choices.csv", arguments.steps, arguments.choices, seed)
        for engine in arguments.engines:
            _curve(bench, arguments.out / "tabddpm_time.csv", engine, arguments.curve, seed)
    if arguments.curve:
        (arguments.out / "tabddpm_time.svg").write_text(picture(pd.read_csv(arguments.out / "tabddpm_time.csv")))


def _choices(bench: Bench, path: Path, steps: int, wanted: list[str], seed: int) -> None:
    done = _done(path, "choice", "steps", "seed")
    if ("real records", 0, seed) not in done:
        bench.add(path, _named("real records", 0, seed), bootstrap(bench.train, seed), {})
    left = {name: own for name, own in DRAWING.items() if name in wanted and (name, steps, seed) not in done}
    if ("default", steps, seed) not in done or left:
        fitted, fit_s = bench.trained({"steps": steps}, seed)
        if ("default", steps, seed) not in done:
            synthetic, sample_s = bench.drawn(fitted, seed)
            bench.add(path, _named("default", steps, seed), synthetic, _cost(fit_s, sample_s))
        for name, own in left.items():
            synthetic, sample_s = bench.drawn(_with(fitted, own), seed)
            bench.add(path, _named(name, steps, seed), synthetic, _cost(fit_s, sample_s))
    for name, own in TRAINING.items():
        if name in wanted and (name, steps, seed) not in done:
            fitted, fit_s = bench.trained({"steps": steps, **own}, seed)
            synthetic, sample_s = bench.drawn(fitted, seed)
            bench.add(path, _named(name, steps, seed), synthetic, _cost(fit_s, sample_s))


def _curve(bench: Bench, path: Path, engine: str, curve: list[int], seed: int) -> None:
    done = _done(path, "engine", "steps", "seed")
    own = ENGINES[engine]
    batches = -(-len(bench.train) // BATCH)
    for steps in [own["epochs"] * batches] if "epochs" in own else curve:
        if (engine, steps, seed) not in done:
            fitted, fit_s = bench.trained(own if "epochs" in own else {"steps": steps, **own}, seed)
            synthetic, sample_s = bench.drawn(fitted, seed)
            bench.add(path, {"engine": engine, "steps": steps, "seed": seed}, synthetic, _cost(fit_s, sample_s))


def _named(choice: str, steps: int, seed: int) -> Changes:
    return {"choice": choice, "steps": steps, "seed": seed}


def _cost(fit_s: float, sample_s: float) -> dict[str, float]:
    return {"fit_cpu_s": round(fit_s, 1), "sample_cpu_s": round(sample_s, 1)}


def _done(path: Path, *keys: str) -> set[tuple[Any, ...]]:
    if not path.exists():
        return set()
    return set(pd.read_csv(path)[list(keys)].itertuples(index=False, name=None))


def _with(fitted: FittedGenerator, changes: Changes) -> FittedGenerator:
    model: Any = fitted.model
    return replace(fitted, model=replace(model, options=model.options.model_copy(update=dict(changes))))


def picture(rows: pd.DataFrame) -> str:
    """Errors against seconds of training and drawing, mean over seeds, as SVG: a panel per error, logarithmic axes."""
    rows = rows.assign(seconds=rows["fit_cpu_s"] + rows["sample_cpu_s"])
    panels = "".join(_panel(rows, error, 20 + 400 * at) for at, error in enumerate(ERRORS))
    title = f"Error in % after so many CPU seconds of training and drawing (numbers: steps of {BATCH:,} records)"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 310" font-family="sans-serif" font-size="11">'
        f'<rect width="800" height="310" fill="#fff"/><text x="20" y="18" font-size="13">{title}</text>{panels}</svg>\n'
    )


def _panel(rows: pd.DataFrame, error: str, left: int) -> str:
    means = rows.groupby(["engine", "steps"], sort=False)[["seconds", error]].mean().reset_index()
    means = means.assign(
        x=left + 40 + 310 * _place(means["seconds"].to_numpy(), means["seconds"].to_numpy()),
        y=255 - 200 * _place(means[error].to_numpy(), means[error].to_numpy()),
    )
    marks = [f'<text x="{left}" y="42" font-weight="bold">{ERRORS[error]}</text>']
    for (engine, line), dash in zip(means.groupby("engine", sort=False), ("", "7 4", "2 3"), strict=False):
        line = line.sort_values("seconds")
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(line["x"], line["y"], strict=True))
        marks.append(f'<polyline points="{points}" fill="none" stroke="#234" stroke-dasharray="{dash}"/>')
        last = line.iloc[-1]
        marks.append(
            f'<text x="{last["x"] + 20:.1f}" y="{last["y"] - 20:.1f}" text-anchor="end">{escape(engine)}</text>'
        )
        right = np.inf
        for point in line[::-1].itertuples():
            marks.append(f'<circle cx="{point.x:.1f}" cy="{point.y:.1f}" r="2.5" fill="#234"/>')
            if right - point.x < ROOM:
                continue
            right = point.x
            value = f"{getattr(point, error):.2f}"
            marks.append(f'<text x="{point.x:.1f}" y="{point.y - 7:.1f}" text-anchor="middle">{value}</text>')
            marks.append(
                f'<text x="{point.x:.1f}" y="{point.y + 14:.1f}" text-anchor="middle" fill="#666">{point.steps}</text>'
            )
    seconds = means["seconds"].to_numpy()
    for mark in (25, 50, 100, 200, 400, 800, 1600):
        if seconds.min() <= mark <= seconds.max():
            x = left + 40 + 310 * _place(np.array([mark]), seconds)[0]
            marks.append(f'<text x="{x:.1f}" y="295" text-anchor="middle">{mark} s</text>')
    return "".join(marks)


def _place(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """0..1: where values lie between the least and the largest of some, by their logarithms."""
    low, high = np.log(among.min()), np.log(among.max())
    return (np.log(of) - low) / (high - low)


if __name__ == "__main__":
    main()
