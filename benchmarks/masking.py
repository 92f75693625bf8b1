"""Information loss, CPU time and memory of techniques, for docs/evidence/techniques.md.

    python benchmarks/masking.py configs/adult.csv                # Adult, and 10^6 rows made from it
    python benchmarks/masking.py --numbers census.csv --k 3 5 10  # IL1s and SSE/SST of MDAV on a table of numbers

The first call measures every case in a process of its own and puts it into benchmarks/results/techniques/costs.csv; a
case that is there already is left out. benchmarks/techniques.py --write puts the table into the page.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.anonymize.techniques.loss import column_loss, il1s
from hybrid.anonymize.techniques.microaggregation import Microaggregation
from hybrid.anonymize.techniques.protocol import MaskingTask
from hybrid.base.rng import rng_for
from hybrid.table import Column, Kind, Role, Schema, Table

KEPT = Path(__file__).parent / "results" / "techniques" / "costs.csv"
NUMBERS = ["age", "education-num", "hours-per-week"]
CATEGORIES = ["sex", "race", "marital-status", "education", "native-country", "workclass"]
MILLION = 1_000_000
PRAM = {"name": "pram", "columns": CATEGORIES}
CLOSE = [{"model": "t_closeness", "t": 0.3, "attribute": "occupation"}]


def microaggregation(**options: Any) -> dict[str, Any]:
    return {"technique": [{"name": "microaggregation", "columns": [*NUMBERS, *CATEGORIES], **options}]}


TECHNIQUES: dict[str, dict[str, Any]] = {
    "microaggregation": microaggregation(),
    "microaggregation, parts of 10,000": microaggregation(block=10_000),
    "microaggregation, parts of 2,500": microaggregation(block=2_500),
    "microaggregation, k 20": {"k": 20, **microaggregation()},
    ".3-closeness by merging": {"models": CLOSE, **microaggregation()},
    ".3-closeness first": {"models": CLOSE, **microaggregation(closeness="first")},
    "noise (ratio 4) and PRAM": {"technique": [{"name": "noise", "columns": NUMBERS, "signal_to_noise": 4}, PRAM]},
    "rank swapping and PRAM": {"technique": [{"name": "rank_swapping", "columns": NUMBERS}, PRAM]},
    "coding and PRAM": {"technique": [{"name": "coding", "columns": NUMBERS}, PRAM]},
}
CASES = [(name, rows) for rows in (0, MILLION) for name in TECHNIQUES if not (rows and "closeness" in name)]
"""Technique, and rows; 0: those of the file. Merging for privacy models grows with the square of the groups."""


def adult(path: Path, rows: int) -> Table:
    """Adult, or as many rows drawn from it, whose numbers are moved by up to two."""
    frame = pd.read_csv(path, skipinitialspace=True, na_values=["?"])
    if rows:
        rng = rng_for(0, "benchmark", "rows")
        frame = frame.iloc[rng.integers(0, len(frame), rows)].reset_index(drop=True)
        for name in NUMBERS:
            frame[name] = (frame[name] + rng.integers(-2, 3, rows)).clip(lower=0)
    kinds = dict.fromkeys(NUMBERS, Kind.INTEGER) | dict.fromkeys([*CATEGORIES, "occupation"], Kind.CATEGORICAL)
    frame = frame[list(kinds)].astype(
        {name: "Int64" if kind is Kind.INTEGER else "category" for name, kind in kinds.items()}
    )
    role = {"occupation": Role.SENSITIVE}
    columns = (Column(name, role.get(name, Role.QUASI_IDENTIFIER), kind) for name, kind in kinds.items())
    return Table(frame, Schema(tuple(columns)), None)


def measure(name: str, table: Table) -> dict[str, Any]:
    """Anonymize once: CPU seconds, memory, loss."""
    options, started = AnonymizeOptions.model_validate({"k": 5, **TECHNIQUES[name]}), time.process_time()
    result = anonymize_in_steps(table, {}, options, rng_for(0, "benchmark", "draws")).result
    used = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    measures = result.information_loss or {}
    return {"technique": name, "rows": len(table), "cpu": round(used, 1), "peak_gb": round(peak, 2)} | {
        "loss": result.loss["value"],
        "il1s": measures["il1s"],
        "smallest": result.min_class_size,
        "parts": (result.steps or ({},))[0].get("facts", {}).get("parts", ""),
    }


def compare_numbers(path: Path, ks: list[int]) -> None:
    """Print IL1s and SSE/SST of MDAV on all columns of a table of numbers."""
    frame = pd.read_csv(path).astype(float)
    schema = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.DECIMAL) for name in frame))
    table = Table(frame, schema, None)
    for k in ks:
        values = Microaggregation().mask(MaskingTask(table, tuple(frame), k), rng_for(0, "benchmark", "draws")).values
        errors = np.mean([column_loss(table, values[name], name) for name in frame])
        print(f"k {k}: IL1s {il1s(table, values, list(frame)):.6f}, SSE/SST {100 * errors:.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adult", type=Path, nargs="?")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--numbers", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    chosen = parser.parse_args()
    if chosen.numbers is not None:
        compare_numbers(chosen.numbers, chosen.k)
        return
    if chosen.case is not None:
        name, rows = json.loads(chosen.case)
        print(json.dumps(measure(name, adult(chosen.adult, rows))))
        return
    kept = pd.read_csv(KEPT) if KEPT.exists() else pd.DataFrame({"technique": [], "rows": []})
    done = {(name, rows == MILLION) for name, rows in zip(kept["technique"], kept["rows"], strict=True)}
    for name, rows in CASES:
        if (name, rows == MILLION) in done:
            continue
        command = [sys.executable, __file__, str(chosen.adult), "--case", json.dumps([name, rows])]
        line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kept = pd.concat([kept, pd.DataFrame([json.loads(line)])], ignore_index=True)
        kept.to_csv(KEPT, index=False, float_format="%.5g")
        print(line.strip(), flush=True)


if __name__ == "__main__":
    main()
