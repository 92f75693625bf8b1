"""Every generator on the same table, one after the other: seconds, memory, closeness, copies.

    python benchmarks/generators.py adult.csv --generators cart tabddpm ctgan:thesis --seeds 1 2 3 --out generators.csv

The table is split into train (two thirds) and holdout. Each generator trains and samples in a fresh process, so
that memory is its own. ``--options tabddpm.steps=1500`` sets options of one generator; ``tabddpm.engine=synthcity``
trains the reference in its managed environment. Rows "real" are a bootstrap of the training records: the noise of
independent records.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from quality import figures, tstr_auc

from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions

REAL = "real"
_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments)
        return
    train, holdout = split(read(arguments.table, arguments.target, arguments.missing, arguments.rows))
    near_unique = tuple(name for name in arguments.near_unique if name in train.schema)
    rows: list[dict[str, object]] = []

    def tell(generator: str, seed: int, synthetic: Table, cost: dict[str, float]) -> None:
        found = figures(train, holdout, synthetic, arguments.target, near_unique)
        rows.append({"generator": generator, "seed": seed, **found, **cost})
        print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
        if arguments.out:
            pd.DataFrame(rows).to_csv(arguments.out, index=False)

    print(f"TSTR of the {len(train)} training records: {tstr_auc(train, holdout, arguments.target):.4f}")
    for seed in arguments.seeds:
        tell(REAL, seed, bootstrap(train, seed), {})
    for generator in arguments.generators:
        for seed in arguments.seeds:
            with tempfile.TemporaryDirectory() as folder:
                frame, cost = _in_own_process(generator, seed, Path(folder))
            tell(generator, seed, Table(frame, train.schema), cost)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--generators", nargs="*", default=["cart", "tabddpm"], help="NAME or NAME:PRESET")
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


def read(path: Path, target: str, missing: Sequence[str], n_rows: int | None = None) -> Table:
    """The table, or so many of its records."""
    options = DataOptions(path=str(path), missing=tuple(missing), columns={target: ColumnOptions(target=True)})
    table = read_table(path, options)
    chosen = np.random.default_rng(0).permutation(len(table))[:n_rows]
    return table.take(np.sort(chosen))


def split(table: Table) -> tuple[Table, Table]:
    """Two thirds to train, the others as holdout."""
    order = np.random.default_rng(1).permutation(len(table))
    cut = len(table) * 2 // 3
    return table.take(np.sort(order[:cut])), table.take(np.sort(order[cut:]))


def bootstrap(train: Table, seed: int) -> Table:
    """As many records, drawn with replacement."""
    return train.take(np.random.default_rng([2, seed]).integers(0, len(train), len(train)))


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
    train, _ = split(read(arguments.table, arguments.target, arguments.missing, arguments.rows))
    given = (item.split("=", 1) for item in arguments.options if item.startswith(f"{name}."))
    own = {key.partition(".")[2]: yaml.safe_load(value) for key, value in given}
    elsewhere = own.get("engine") == "synthcity"
    options = SynthesizeOptions(generator=name, preset=preset or "default", options=own, isolate=elsewhere)
    at = [clocks()]
    fitted = fit(train, options, int(seed))
    at.append(clocks())
    synthetic = fitted.sample(len(train), int(seed))
    at.append(clocks())
    (start, start_cpu), (middle, middle_cpu), (end, end_cpu) = at
    cost = {
        "fit_s": round(middle - start, 1),
        "fit_cpu_s": round(middle_cpu - start_cpu, 1),
        "sample_s": round(end - middle, 1),
        "sample_cpu_s": round(end_cpu - middle_cpu, 1),
        "peak_mb": max(resource.getrusage(who).ru_maxrss for who in _PROCESSES) // 1024,
    }
    (Path(folder) / "cost.yaml").write_text(yaml.safe_dump(cost, sort_keys=False), encoding="utf-8")
    synthetic.frame.to_pickle(Path(folder) / "synthetic.pkl")


def clocks() -> tuple[float, float]:
    """Seconds by the clock, and of CPU time, workers included."""
    used = [resource.getrusage(who) for who in _PROCESSES]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
