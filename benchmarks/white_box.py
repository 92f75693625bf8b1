"""Success of an attacker who holds the kept model, by the settings of the generator.

    python benchmarks/white_box.py ADULT.csv [--rows 6000] [--drop fnlwgt] [--protect on]
        [--generator cart --key min_leaf --values 1 10 50]
    python benchmarks/white_box.py ADULT.csv --rows 2000 --drop fnlwgt --protect off --generator tabddpm
        --key steps --values 200 1000

Half of random people are training records, half control; the run keeps its model in a store, as `hybrid run --store`
does. Prints the AUC of `membership_whitebox` with its interval, and the share of training people above 99 % of control.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import yaml

from hybrid.evaluation import Measure
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.store import Store

NAME = "membership_whitebox"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--drop", nargs="*", default=[])
    parser.add_argument("--protect", choices=["on", "off"], default="on")
    parser.add_argument("--generator", default="cart")
    parser.add_argument("--key", default="min_leaf")
    parser.add_argument("--values", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    people = pd.read_csv(chosen.table, skipinitialspace=True, dtype=str, keep_default_na=False)
    people = people.drop(columns=chosen.drop).sample(chosen.rows, random_state=chosen.seed)
    for value in chosen.values:
        with TemporaryDirectory() as name:
            folder = Path(name)
            people.to_csv(folder / "people.csv", index=False)
            content = {
                "version": 1,
                "seed": chosen.seed,
                "data": {"path": "people.csv", "unlisted": "insensitive", "missing": ["", "?"]},
                "split": {"control": 0.5},
                "synthesize": {"generator": chosen.generator, "options": {chosen.key: value}},
                "evaluate": {"metrics": [NAME], "power": False, "original": False, "baseline": False},
            }
            if chosen.protect == "off":
                content["protect"] = "off"
            (folder / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
            started = time.process_time()
            pipeline = TableRun(load_config(folder / "config.yaml"), store=Store(folder / "store"))
            found = pipeline.evaluation.find(NAME, "synthetic")
            assert found is not None and isinstance(found.outcome, Measure), found
            outcome = found.outcome
            print(
                f"| {chosen.generator}, {chosen.key} {value}, protection {chosen.protect} "
                f"| {outcome.value:.3f} ({outcome.low:.3f} to {outcome.high:.3f}) "
                f"| {outcome.details['true_positives']['share']:.1%} "
                f"| metric {found.cpu_seconds:.1f}, all {time.process_time() - started:.0f} CPU s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
