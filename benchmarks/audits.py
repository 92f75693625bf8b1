"""Audits of the true build of ``privacy.mode: dp``, one after the other, each appended to a file.

    python benchmarks/audits.py [--audits 20] [--epsilon 1] [--generator aim] [--out benchmarks/results/audits/aim.csv]
    python benchmarks/audits.py --write docs/guides/audit-dp.md

Each audit attacks the same configuration (a listed category that is a target, a searched one, a number; two rows of a
person at most) with another seed and confidence 1 - .05 / audits, so that all bounds of all audits hold together with
confidence .95. A seed that the file has with the same options is not played again, so an interrupted series goes on.
Prints for every attack the stated value, the greatest and the median lower bound, and how often it refuted. The second
call plays nothing, and writes the table of what the file has into the page.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.base.atomic import write_text
from hybrid.lab.audit_dp import audit_privacy
from hybrid.pipeline.config import parse_config

KEPT = Path(__file__).parent / "results" / "audits" / "aim.csv"
BEGIN, END = "<!-- made by benchmarks/audits.py -->", "<!-- end -->"
COLUMNS = {
    "id": {"role": "identifier"},
    "ward": {"role": "quasi_identifier", "kind": "categorical", "target": True},
    "town": {"role": "quasi_identifier", "kind": "categorical"},
    "age": {"role": "quasi_identifier", "kind": "integer"},
}
KNOWN = {"ward": {"values": [f"w{at}" for at in range(12)]}, "age": {"bounds": [0, 99]}}
PEOPLE = pd.DataFrame({"id": ["a", "b"], "ward": ["w1", "w2"], "town": ["x", "y"], "age": [3, 4]})
EFFORT = ("runs", "draws", "canaries")
SERIES = ("generator", "configured", "confidence", *EFFORT)
"""Columns of the file that one series has in common."""


def content(epsilon: float, generator: str) -> dict[str, Any]:
    """The audited configuration."""
    return {
        "name": "audited",
        "data": {"path": "people.csv", "person": "id", "max_rows": 2, "columns": COLUMNS},
        "privacy": {"mode": "dp", "epsilon": epsilon, "delta": 1e-6, "columns": KNOWN},
        "synthesize": {"generator": generator, "options": {"iterations": 100}},
    }


def audited(series: dict[str, Any], seed: int) -> pd.DataFrame:
    """One audit, a row for each bound."""
    config = parse_config(content(series["configured"], series["generator"])).with_frame(PEOPLE)
    started = time.process_time()
    effort = {name: series[name] for name in EFFORT}
    audit = audit_privacy(config, **effort, confidence=series["confidence"], seed=seed)
    seconds = round(time.process_time() - started)
    known = {"seed": seed, "cpu_s": seconds, **series}
    return pd.DataFrame([known | asdict(attack) | {"refutes": attack.refutes} for attack in audit.attacks])


def of_series(rows: pd.DataFrame, series: dict[str, Any]) -> pd.DataFrame:
    """Rows of one series."""
    return rows[(rows[list(SERIES)] == pd.Series(series)).all(axis=1)] if len(rows) else rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Each attack of a series: what is stated, the greatest and the median bound, and refutations."""
    groups = rows.groupby(["name", "quantity"], sort=False)
    found = groups.agg(stated=("stated", "first"), greatest=("lower", "max"), median=("lower", "median"))
    return found.assign(refuted=groups["refutes"].sum(), audits=groups["seed"].nunique())


def table(found: pd.DataFrame) -> str:
    """Markdown of a series."""
    first, audits = found.iloc[0], found["seed"].nunique()
    effort = f"{first['runs']} runs on each table of a game,\n{first['draws']:,} draws"
    lines = [
        f"Audits done: {audits}, each with confidence {first['confidence']:g}, {effort}, and up to {first['canaries']} "
        f"canaries. Bounds that refuted: {found['refutes'].sum()} of {len(found)}.",
        "",
        "| attack | quantity | stated | greatest lower bound | median |",
        "|---|---|--:|--:|--:|",
    ]
    for (name, quantity), row in summary(found).iterrows():
        lines.append(f"| {name} | {quantity} | {row.stated:.4g} | {row.greatest:.4g} | {row['median']:.4g} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--generator", default="aim")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--draws", type=int, default=30_000)
    parser.add_argument("--canaries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    chosen = parser.parse_args()
    series: dict[str, Any] = {"generator": chosen.generator, "configured": chosen.epsilon}
    series |= {"confidence": 1 - 0.05 / chosen.audits, **{name: getattr(chosen, name) for name in EFFORT}}
    kept = pd.read_csv(chosen.out) if chosen.out.exists() else pd.DataFrame()
    wanted = range(chosen.seed, chosen.seed + chosen.audits)
    done = of_series(kept, series)
    if chosen.write is not None:
        head, _, rest = chosen.write.read_text(encoding="utf-8").partition(BEGIN)
        write_text(chosen.write, f"{head}{BEGIN}\n\n{table(done)}\n\n{END}{rest.partition(END)[2]}")
        return
    for seed in wanted:
        if len(done) and seed in set(done["seed"]):
            continue
        kept = pd.concat([kept, audited(series, seed)], ignore_index=True)
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        write_text(chosen.out, kept.to_csv(index=False))
    found = of_series(kept, series)
    found = found[found["seed"].isin(wanted)]
    print(summary(found).to_string(float_format=lambda value: f"{value:.4g}"))
    print(f"{found.groupby('seed')['cpu_s'].first().sum():.0f} CPU s")


if __name__ == "__main__":
    main()
