"""Every generator on the same table, one after the other: seconds, memory, closeness, copies.

    python benchmarks/generators.py adult.csv --generators cart tabddpm ctgan:thesis --seeds 1 2 3 --out generators.csv

The table is split into train (two thirds) and holdout. Each generator trains and samples in a fresh process, so
that memory is its own. ``--options tabddpm.steps=1500`` sets options of one generator. Rows "real" are a
bootstrap of the training records: the floor that sampling noise sets.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from quality import copies, discriminator_auc, shape_error, trend_errors, tstr_auc

from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.options import ColumnOptions, DataOptions
from hybrid.table.read import read_table

REAL = "real"


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments)
        return
    train, holdout = _split(_read(arguments))
    rows = [_figures(REAL, 0, _bootstrap(train), train, holdout, arguments, {})]
    print(pd.DataFrame(rows).to_string(index=False), flush=True)
    for generator in arguments.generators:
        for seed in arguments.seeds:
            with tempfile.TemporaryDirectory() as folder:
                frame, cost = _in_own_process(generator, seed, Path(folder))
            synthetic = Table(frame, train.schema)
            rows.append(_figures(generator, seed, synthetic, train, holdout, arguments, cost))
            print(pd.DataFrame(rows[-1:]).to_string(index=False, header=False), flush=True)
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--generators", nargs="+", default=["cart", "tabddpm"], help="NAME or NAME:PRESET")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--options", nargs="*", default=[], help="NAME.OPTION=VALUE")
    parser.add_argument("--target", default="income", help="column of two classes for TSTR")
    parser.add_argument("--near-unique", nargs="*", default=["fnlwgt"], help="columns left out of the copy rate")
    parser.add_argument("--missing", nargs="*", default=["?", ""])
    parser.add_argument("--rows", type=int, help="use only so many records of the table")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=3, metavar=("GENERATOR", "SEED", "FOLDER"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _read(arguments: argparse.Namespace) -> Table:
    options = DataOptions(
        path=str(arguments.table),
        missing=tuple(arguments.missing),
        columns={arguments.target: ColumnOptions(target=True)},
    )
    table = read_table(arguments.table, options)
    chosen = np.random.default_rng(0).permutation(len(table))[: arguments.rows]
    return table.take(np.sort(chosen))


def _split(table: Table) -> tuple[Table, Table]:
    order = np.random.default_rng(1).permutation(len(table))
    cut = len(table) * 2 // 3
    return table.take(np.sort(order[:cut])), table.take(np.sort(order[cut:]))


def _bootstrap(train: Table) -> Table:
    return train.take(np.random.default_rng(2).integers(0, len(train), len(train)))


def _in_own_process(generator: str, seed: int, folder: Path) -> tuple[pd.DataFrame, dict[str, float]]:
    command = [sys.executable, __file__, *sys.argv[1:], "--child", generator, str(seed), str(folder)]
    subprocess.run(command, check=True)
    cost = yaml.safe_load((folder / "cost.yaml").read_text(encoding="utf-8"))
    return pd.read_pickle(folder / "synthetic.pkl"), cost


def _child(arguments: argparse.Namespace) -> None:
    chosen, seed, folder = arguments.child
    name, _, preset = chosen.partition(":")
    if arguments.threads:
        import torch

        torch.set_num_threads(arguments.threads)
    train, _ = _split(_read(arguments))
    given = (item.split("=", 1) for item in arguments.options if item.startswith(f"{name}."))
    own = {key.partition(".")[2]: yaml.safe_load(value) for key, value in given}
    options = SynthesizeOptions(generator=name, preset=preset or "default", options=own, isolate=False)
    clocks = [(time.perf_counter(), time.process_time())]
    fitted = fit(train, options, int(seed))
    clocks.append((time.perf_counter(), time.process_time()))
    synthetic = fitted.sample(len(train), int(seed))
    clocks.append((time.perf_counter(), time.process_time()))
    (start, start_cpu), (middle, middle_cpu), (end, end_cpu) = clocks
    cost = {
        "fit_s": round(middle - start, 1),
        "fit_cpu_s": round(middle_cpu - start_cpu, 1),
        "sample_s": round(end - middle, 1),
        "sample_cpu_s": round(end_cpu - middle_cpu, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    (Path(folder) / "cost.yaml").write_text(yaml.safe_dump(cost, sort_keys=False), encoding="utf-8")
    synthetic.frame.to_pickle(Path(folder) / "synthetic.pkl")


def _figures(
    generator: str,
    seed: int,
    synthetic: Table,
    train: Table,
    holdout: Table,
    arguments: argparse.Namespace,
    cost: dict[str, float],
) -> dict[str, object]:
    trend, trend_all = trend_errors(train, synthetic)
    without = tuple(name for name in arguments.near_unique if name in train.schema)
    return {
        "generator": generator,
        "seed": seed,
        "shape_pct": round(100 * shape_error(train, synthetic), 2),
        "trend_pct": round(100 * trend, 2),
        "trend_all_pct": round(100 * trend_all, 2),
        "tstr": round(tstr_auc(synthetic, holdout, arguments.target), 4),
        "discriminator": round(discriminator_auc(holdout, synthetic), 3),
        "copies_pct": round(100 * copies(train, synthetic), 2),
        "copies_holdout_pct": round(100 * copies(train, holdout), 2),
        "copies_without_pct": round(100 * copies(train, synthetic, without), 1),
        "copies_without_holdout_pct": round(100 * copies(train, holdout, without), 1),
        **cost,
    }


if __name__ == "__main__":
    main()
