"""Disclosure of several tables of one release: figures behind docs/evidence/analyses.md.

python benchmarks/several_tables.py [--populations 5]

People of benchmarks/analyses.py, half of them kept apart. The attacks of the gate, on 1, 5 and 20 tables together.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from analyses import SETTINGS, TABLES, configuration, people

from hybrid.evaluation import Measure
from hybrid.pipeline.table_run import TableRun

PEOPLE = 1000
ATTACKS = (
    "identical_match",
    "persons_copied",
    "persons_near",
    "dcr_share",
    "membership",
    "membership_exposed",
    "gtcap",
)
CHOSEN = ("regressions", "trees", "trees as in synthpop", "trees, k 5")


def attacked(setting: str, number: int) -> list[dict[str, Any]]:
    """Excess of every attack over people never seen, by the number of tables."""
    frame, found = people(2 * PEOPLE, np.random.default_rng([number, 9])), []
    how = {"split": {"control": 0.5}, "evaluate": {"metrics": ATTACKS, "power": False}}
    for m in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            config = configuration(Path(folder), SETTINGS[setting] | how, PEOPLE).with_values({"synthesize.tables": m})
            run = TableRun(config.with_frame(frame), number, judge_power=False)
            for metric in run.evaluated("synthetic").metrics:
                if isinstance(metric.outcome, Measure) and metric.outcome.excess is not None:
                    about = {"setting": setting, "attack": metric.name, "m": m}
                    found.append(about | {"excess": metric.outcome.excess[0]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--populations", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("several_tables.csv"))
    chosen, rows = parser.parse_args(), []
    for number in range(chosen.populations):
        for setting in CHOSEN:
            rows += attacked(setting, number)
            pd.DataFrame(rows).to_csv(chosen.out, index=False)
    print(pd.DataFrame(rows).pivot_table(index=["setting", "attack"], columns="m", values="excess").round(3))


if __name__ == "__main__":
    main()
