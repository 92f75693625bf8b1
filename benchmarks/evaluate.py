"""Cost of the evaluation: CPU and wall seconds per metric, the protocols of other tools, and growth with rows.

    python benchmarks/evaluate.py --config CONFIG.yaml [--verdict]
    python benchmarks/evaluate.py TRAIN.csv CONTROL.csv SYNTHETIC.csv [--target COLUMN] [--growth] [--peers]
        [--peer-python anonymeter=VENV/bin/python] [--peer-python syntheval=VENV/bin/python]

``--config`` runs a configuration up to its tables and measures each of them, as a run does: seconds and peak memory by
metric and table, with all metrics of ``evaluate`` in the file. ``hybrid demo FOLDER --rows 100000`` writes such a file.
With ``--verdict`` it times the whole run instead, from reading the file to the verdict, on the cores there are.
Run it on one core with ``taskset -c 0`` for CPU seconds that can be compared. The first run compiles (about ten
seconds, kept on disk afterwards); a small warm-up keeps that out of the figures. ``--peers`` times SDMetrics where
it is installed (it comes with the extra ``ctgan``). ``--peer-python`` runs a tool in an environment of its own
(benchmarks/evaluate_peers.py) and prints its numbers beside ours.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import resource
import subprocess
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from hybrid.base.resources import cores
from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import encode
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Columns, Space, gower
from hybrid.evaluation.measure import MetricResult
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.table import Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

GROWTH = (10_000, 30_000, 100_000)


T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, float, T]:
    """CPU seconds, wall seconds, result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def read(path: Path, target: str | None) -> Table:
    table = read_table(path, DataOptions(path=str(path)))
    columns = tuple(dataclasses.replace(column, target=column.name == target) for column in table.schema)
    return Table(table.frame, Schema(columns))


def every_table(config: Path) -> None:
    """The tables of a configuration, each measured with what the measurements of the others have in common."""
    run = TableRun(load_config(config), seed=1)
    made = {"original": run.train, "synthetic": run.generated.table, "baseline": run.baseline}
    if run.restored is not None:
        made["anonymized"] = run.restored.table
    tables = {subject: table for subject, table in made.items() if table is not None}
    warm_up([t.take(np.arange(100)) for t in (run.train, run.control or run.train, run.generated.table)])
    kept: dict[str, Any] = {}

    def share(key: str, compute: Callable[[], Any]) -> Any:
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    spent: dict[str, dict[str, float]] = {}
    start = time.perf_counter()
    for subject, table in tables.items():
        context = Context(run.train, run.control, table, run.config.evaluate, 1, subject, share)
        for metric in metrics_of(run.config.evaluate):
            work = partial(_all_columns, metric, context)
            spent.setdefault(metric.name, {})[subject] = timed(work)[0]
    print(f"{len(run.train)} training and {len(run.control or ())} control records; CPU seconds")
    print(pd.DataFrame(spent).T.assign(all=lambda frame: frame.sum(axis=1)).round(2).to_string())
    cpu, wall = sum(sum(each.values()) for each in spent.values()), time.perf_counter() - start
    print(f"all {cpu:.1f} CPU s, {wall:.1f} s, peak {peak():.0f} MB")


def to_the_verdict(config: Path) -> None:
    """CPU and wall seconds of a whole run, and of each of its stages."""
    run = Pipeline(load_config(config), seed=1)
    cpu, wall, verdict = timed(lambda: run.verdict)
    for stage in run.stages:
        print(f"{stage.name:<24}{stage.seconds:>9.1f} s")
    print(f"{len(run.table)} rows: {verdict.status} after {wall:.1f} s on {cores()} cores, {cpu:.1f} CPU s")
    print(f"peak {peak():.0f} MB")


def _all_columns(metric: Metric, context: Context) -> list[MetricResult]:
    return [metric.measure(context, column) for column in metric.columns(context)]


def peak() -> float:
    """Largest memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def warm_up(tables: list[Table]) -> None:
    """Compile everything on small tables."""
    for metric in REGISTRY.values():
        context = Context(*tables, EvaluateOptions(attacks=20), 1)
        metric.measure(context, metric.columns(context)[0])


def every_metric(train: Table, control: Table, table: Table) -> None:
    context = Context(train, control, table, EvaluateOptions(), 1)
    total_cpu = total_wall = 0.0
    print(f"{'metric':<26}{'value':>10}{'CPU s':>9}{'wall s':>9}")
    for metric in REGISTRY.values():
        cpu, wall, results = timed(partial(_all_columns, metric, context))
        total_cpu, total_wall = total_cpu + cpu, total_wall + wall
        values = [r.outcome.value for r in results if isinstance(r.outcome, Measure)]
        shown = f"{max(values):.4f}" if values else results[0].outcome.state
        print(f"{metric.name:<26}{shown:>10}{cpu:>9.2f}{wall:>9.2f}")
    print(f"{'all':<36}{total_cpu:>9.2f}{total_wall:>9.2f}   peak {peak():.0f} MB\n")


def protocols(train: Table, control: Table, table: Table) -> None:
    """The work of Anonymeter's full protocol and of its neighbour search."""
    context = Context(train, control, table, EvaluateOptions(singling_out_columns=tuple(range(3, 13))), 1)

    def singling_out() -> list:
        return [REGISTRY[name].measure(context) for name in ("singling_out_univariate", "singling_out")]

    cpu, wall, found = timed(singling_out)
    print(f"singling out, univariate and 3..12 columns, 2,000 predicates each: {cpu:.2f} CPU s, {wall:.2f} s")
    one, many = (result.outcome for result in found)
    if isinstance(one, Measure) and isinstance(many, Measure):
        each = {name: round(row["value"], 4) for name, row in many.details["columns"].items()}
        print(f"  risk: univariate {one.value:.4f}, by number of columns {each}")
    encoding = encode([train, control, table])
    space = gower(encoding)
    people, rows = space.place(encoding.tables[0]), space.place(encoding.tables[2])
    cpu, wall, _ = timed(lambda: nearest(space, people, rows))
    print(f"Gower nearest neighbour, {len(train)} x {len(table)}: {cpu:.2f} CPU s, {wall:.2f} s")
    cpu, wall, ratio = timed(lambda: distance_ratio(space, people, rows))
    print(f"DCR as SynthEval has it: {ratio:.4f}, {cpu:.2f} CPU s, {wall:.2f} s\n")


def distance_ratio(space: Space, people: Columns, rows: Columns) -> float:
    """Median distance of drawn rows to a training record, over that of training records to another one."""
    drawn = np.median(nearest(space, rows, people, 1)[0][:, 0])
    return float(drawn / np.median(nearest(space, people, people, 2)[0][:, 1]))


def growth(train: Table) -> None:
    """The neighbour search on resampled rows (with noise, so that copies do not make it easy)."""
    rng = np.random.default_rng(1)
    for n in GROWTH:
        tables = []
        for _ in range(3):
            picked = {name: train.frame[name].array[rng.integers(len(train), size=n)] for name in train.frame}
            tables.append(Table(pd.DataFrame(picked), train.schema))
        encoding = encode(tables)
        space = gower(encoding)
        people, rows = space.place(encoding.tables[0]), space.place(encoding.tables[2])
        cpu, wall, _ = timed(lambda people=people, rows=rows, space=space: nearest(space, people, rows))
        print(f"Gower {n:>7} x {n:<7} {cpu:>8.2f} CPU s {wall:>8.2f} s")


def peers(train: Table, table: Table) -> None:
    if importlib.util.find_spec("sdmetrics") is None:
        print("SDMetrics is not installed here")
        return
    from sdmetrics.reports.single_table import QualityReport

    kinds = {c.name: {"sdtype": "numerical" if c.kind.is_continuous else "categorical"} for c in train.schema}
    plain = [
        t.frame.astype({c.name: float if c.kind.is_continuous else object for c in t.schema}) for t in (train, table)
    ]
    report = QualityReport()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, wall, _ = timed(lambda: report.generate(*plain, {"columns": kinds}, verbose=False))
    print(f"SDMetrics QualityReport: {cpu:.2f} CPU s, {wall:.2f} s")
    print(report.get_properties().to_string(index=False))


def peer_in_its_own(name: str, python: str, files: list[Path], target: str | None) -> None:
    """One tool in its own environment: its numbers, CPU and wall seconds, and memory."""
    script = Path(__file__).with_name("evaluate_peers.py")
    command = [python, str(script), name, *map(str, files), *([target] if target else [])]
    one_core = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PYTHONPATH": ""}
    print(f"{name}, in its own environment", flush=True)
    subprocess.run(command, check=False, env=one_core)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", metavar="TRAIN CONTROL SYNTHETIC")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--verdict", action="store_true")
    parser.add_argument("--target")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--peer-python", action="append", default=[], metavar="NAME=PYTHON")
    arguments = parser.parse_args()
    if arguments.config is not None:
        (to_the_verdict if arguments.verdict else every_table)(arguments.config)
        return
    if len(arguments.files) != 3:
        parser.error("give three files, or --config")
    train, control, table = (read(path, arguments.target) for path in arguments.files)
    warm_up([t.take(np.arange(100)) for t in (train, control, table)])
    every_metric(train, control, table)
    protocols(train, control, table)
    if arguments.growth:
        growth(train)
    if arguments.peers:
        peers(train, table)
    for peer in arguments.peer_python:
        name, _, python = peer.partition("=")
        peer_in_its_own(name, python, arguments.files, arguments.target)


if __name__ == "__main__":
    main()
