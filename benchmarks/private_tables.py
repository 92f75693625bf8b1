"""Tables of ``privacy.mode: dp`` as a configuration draws them: closeness, TSTR, CPU seconds, memory.

    python benchmarks/private_tables.py configs/adult_dp.yaml --out benchmarks/results/private_tables/adult.csv
    python benchmarks/private_tables.py configs/diabetes130_dp.yaml --max-rows 1 2 --epsilons 0.1 1 10 --out ...

Every draw is of its own split by people, and made in a fresh process, so that memory is its own; CPU seconds are those
of domains, learning and drawing. It is compared with all rows of the training people, and a classifier of the target
that learned from it is tried on all rows of the control people. A draw that the file has is not made again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from quality import shape_error, trend_errors, tstr_auc

from hybrid.base.atomic import write_text
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.table import Table

DRAW = ("generator", "options", "epsilon", "max_rows", "seed")
"""Columns that say what was drawn."""


def people(pipeline: TableRun) -> tuple[Table, Table]:
    """All rows of the training and of the control people."""
    whole, train = pipeline.table, pipeline.train
    if whole.rows_are_persons:
        assert pipeline.control is not None
        return train, pipeline.control
    known = np.isin(whole.persons, train.persons)
    return whole.take(known).without_identifiers(), whole.take(~known).without_identifiers()


def measured(path: Path, drawn: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Draw one table in this process, and compare it."""
    options = {f"synthesize.options.{key}": value for key, value in yaml.safe_load(drawn["options"]).items()}
    changes = changes | options | {"synthesize.generator": drawn["generator"], "privacy.epsilon": drawn["epsilon"]}
    if drawn["max_rows"]:
        changes["data.max_rows"] = drawn["max_rows"]
    pipeline = TableRun(load_config(path, changes), drawn["seed"], judge_power=False)
    train, control = people(pipeline)
    target = next(column.name for column in train.schema if column.target)
    _, _, started = pipeline.learned, pipeline.inputs.domains, time.process_time()
    made = pipeline.drawn.table
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    made = Table(made.frame, train.schema)
    trend, trend_all = trend_errors(train, made)
    return drawn | {
        "records": len(pipeline.learned),
        "rows": len(made),
        "shape_pct": round(100 * shape_error(train, made), 2),
        "trend_pct": round(100 * trend, 2),
        "trend_all_pct": round(100 * trend_all, 2),
        "tstr": round(tstr_auc(made, control, target), 4),
        "tstr_real": round(tstr_auc(train, control, target), 4),
        "cpu_s": round(seconds, 1),
        "peak_mb": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--generators", nargs="+", default=["aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--max-rows", nargs="+", type=int, default=[0], help="0: as the configuration says")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--options", default="{}", help="of the generator, as YAML")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="keys of the configuration")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    changes = {key: yaml.safe_load(value) for key, _, value in (item.partition("=") for item in chosen.set)}
    kept = pd.read_csv(chosen.out) if chosen.out.exists() else pd.DataFrame(columns=list(DRAW))
    wanted = product(chosen.generators, [chosen.options], chosen.epsilons, chosen.max_rows, chosen.seeds)
    for draw in wanted:
        if (kept[list(DRAW)] == pd.Series(dict(zip(DRAW, draw, strict=True)))).all(axis=1).any():
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(measured, (chosen.config, dict(zip(DRAW, draw, strict=True)), changes))
        kept = pd.concat([kept, pd.DataFrame([row])], ignore_index=True)
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        write_text(chosen.out, kept.convert_dtypes().to_csv(index=False))
        print(kept.tail(1).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
