"""Generators under ``privacy.mode: dp`` on the Adult census file: closeness, TSTR, CPU seconds, memory.

    python benchmarks/private_adult.py adult.csv [--generators aim mst] [--epsilons 1.0] [--seeds 1]

Two thirds of the file are learned from, as in ``benchmarks/generators.py``. Values of categories are those of the
census' code book (all that occur in the whole file), bounds of numbers are declared below; each row is another person,
and delta is 1e-6. Each generator learns and draws in a fresh process, so that memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import pandas as pd
from generators import read, split
from quality import figures

from hybrid.base.progress import silent
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.private_generation import drawn_privately
from hybrid.table import Table

BOUNDS = {
    "age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5000),
    "hours-per-week": (1, 99),
}


def learned(train: Table, generator: str, epsilon: float, values: dict[str, list[str]], seed: int, to: Any) -> None:
    """Draw as many rows in this process; send them with CPU seconds and MiB."""
    kinds = {column.name: {"kind": column.kind.value, "target": column.target} for column in train.schema}
    known: dict[str, Any] = {name: {"bounds": bounds} for name, bounds in BOUNDS.items()}
    known |= {name: {"values": found} for name, found in values.items()}
    content = {
        "name": "adult",
        "data": {"path": "adult.csv", "person": "none", "columns": kinds},
        "privacy": {"mode": "dp", "epsilon": epsilon, "delta": 1e-6, "columns": known},
        "synthesize": {"generator": generator, "rows": len(train)},
    }
    started = time.process_time()
    made = drawn_privately(parse_config(content), train, {}, seed, silent)
    assert made.budget is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    to.send((made.table.frame, time.process_time() - started, peak, made.budget.spent_delta))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--generators", nargs="+", default=["aim", "mst"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    chosen = parser.parse_args()
    table = read(chosen.table, "income", ("?", ""))
    values = {name: sorted(table.frame[name].dropna().astype(str).unique()) for name in table.schema.names}
    values = {name: found for name, found in values.items() if name not in BOUNDS}
    train, holdout = split(table)
    for epsilon in chosen.epsilons:
        for generator in chosen.generators:
            for seed in chosen.seeds:
                here, there = multiprocessing.Pipe(duplex=False)
                known = (train, generator, epsilon, values, seed, there)
                process = multiprocessing.get_context("spawn").Process(target=learned, args=known)
                process.start()
                frame, seconds, peak, delta = here.recv()
                process.join()
                found = figures(train, holdout, Table(frame, train.schema), "income", ("fnlwgt",))
                row = {"generator": generator, "epsilon": epsilon, "seed": seed, **found}
                row |= {"cpu_s": round(seconds, 1), "peak_mb": peak, "delta": delta}
                print(pd.DataFrame([row]).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
