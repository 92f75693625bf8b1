"""Transitions on Adult: what they give away against what they keep, and how fast they are.

    python benchmarks/transition.py pareto ADULT.csv --out DIR [--seeds 5] [--k 5 20] [--recoding global local]
    python benchmarks/transition.py report DIR
    python benchmarks/transition.py scale ADULT.csv [--rows 10000000]

``pareto`` appends every finished run to DIR/runs.csv and skips what is already there, then writes the report: means
with 95 % t-intervals over seeds (summary.csv), who is dominated by nobody (fronts.csv), and pictures (fronts.svg).
ADULT.csv is the census file of 15 columns (scikit-learn's ``fetch_openml("adult", version=2)``); complete rows of
nine columns are used, half of them as control. Baselines in the same table: the original rows, and the generator
trained on them at several strengths of regularization.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from transition_report import write_report

from hybrid.anonymize import AnonymizedTable, AnonymizeOptions, anonymize
from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions
from hybrid.table.split import SplitOptions, split
from hybrid.transition import REGISTRY, Restored
from hybrid.transition.disclosure import give_away

HIERARCHIES = Path(__file__).parents[1] / "hierarchies" / "adult"
QUASI_IDENTIFIERS = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country",
)  # fmt: skip
TARGET = "income"
METRICS = ("identical_match", "discriminator", "tstr", "wasserstein", "total_variation")
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "single": ("single", {}),
    "uniform": ("uniform", {}),
    "uniform_observed": ("uniform", {"leaves": "observed"}),
    "histogram": ("conditional", {"estimator": "histogram"}),
    "kde": ("conditional", {"estimator": "kde"}),
    "joint": ("conditional", {"estimator": "joint"}),
    "given": ("conditional", {"estimator": "given"}),
    "blend_50": ("blend", {"weight": 0.5}),
    "shrunk_20": ("shrunk", {"strength": 20.0}),
    "shrunk_100": ("shrunk", {"strength": 100.0}),
    "marginal": ("marginal", {}),
    "marginal_y": ("marginal", {"given": TARGET}),
    "chow_liu": ("chow_liu", {}),
    "chow_liu_y": ("chow_liu", {"given": TARGET}),
    "tree_50": ("tree", {"min_records": 50, "sensitive": False}),
    "tree_200": ("tree", {"min_records": 200, "sensitive": False}),
    "tree_50_y": ("tree", {"min_records": 50}),
    "tree_200_y": ("tree", {"min_records": 200}),
    "noisy_marginal": ("noisy", {"tables": "marginal", "epsilon": 1.0}),
    "noisy_marginal_y": ("noisy", {"tables": "marginal", "epsilon": 1.0, "given": TARGET}),
    "noisy_chow_liu_y": ("noisy", {"tables": "chow_liu", "epsilon": 1.0, "given": TARGET}),
}
"""Name in the table (``_y``: the target is among the predictors), strategy, options."""
BASELINE_LEAVES = (5, 20, 50, 200)


@dataclass(frozen=True)
class Run:
    """One row of the table."""

    seed: int
    k: int
    recoding: str
    method: str
    order: str
    generator: str


def runs(arguments: argparse.Namespace) -> list[Run]:
    """Baselines first, then every method under every anonymization."""
    found = []
    for seed in range(arguments.seeds):
        found.append(Run(seed, 0, "none", "original", "none", "none"))
        found += [Run(seed, 0, "none", "original", "none", f"cart_{leaf}") for leaf in BASELINE_LEAVES]
        for k in arguments.k:
            for recoding in arguments.recoding:
                for method in arguments.methods:
                    # Without a generator, pre and post are the same restored labels: run once.
                    found.append(Run(seed, k, recoding, method, "pre", "none"))
                    found += [Run(seed, k, recoding, method, order, "cart_5") for order in ("pre", "post")]
    return found


def load(path: Path, seed: int, most: int) -> tuple[Table, Table, dict[str, Hierarchy]]:
    """Train, control and hierarchies of one seed: complete rows of nine columns, halved."""
    columns = {name: ColumnOptions(role=Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns[TARGET] = ColumnOptions(target=True)
    table = read_table(path, DataOptions(path=str(path), missing=("?", ""), columns=columns))
    table = table.only([*QUASI_IDENTIFIERS, TARGET])
    table = table.take(table.frame.notna().all(axis=1).to_numpy())
    paths = {name: next(HIERARCHIES.glob(f"{name}.*")) for name in QUASI_IDENTIFIERS}
    hierarchies = load_hierarchies(table, paths)
    train, control = split(table, SplitOptions(control=0.5), rng_for(seed, "split"))
    assert control is not None
    return train.take(np.arange(min(most, len(train)))), control.take(np.arange(min(most, len(control)))), hierarchies


class Laboratory:
    """One seed's data, with anonymized tables and label generators kept while they are needed."""

    def __init__(self, path: Path, seed: int, most: int) -> None:
        self.seed = seed
        self.train, self.control, self.hierarchies = load(path, seed, most)
        self.kept: dict[tuple[int, str], tuple[AnonymizedTable, Table]] = {}

    def anonymized(self, k: int, recoding: str) -> tuple[AnonymizedTable, Table]:
        """The anonymized table, and labels that the generator drew after learning them."""
        if (k, recoding) not in self.kept:
            options = AnonymizeOptions(k=k, recoding=recoding, suppression_limit=0.1 if recoding == "global" else 0.0)
            table = anonymize(self.train, self.hierarchies, options)
            self.kept = {(k, recoding): (table, self.synthesize(table.labels.to_table(), 5))}
        return self.kept[(k, recoding)]

    def synthesize(self, table: Table, leaf: int) -> Table:
        """As many rows as there were to train on."""
        model = fit(table, SynthesizeOptions(options={"min_leaf": leaf}), self.seed)
        return model.sample(len(self.train), self.seed)

    def result(self, run: Run) -> tuple[Table, dict[str, float]]:
        """The table that a run ends with, and what its transition gave away."""
        leaf = int(run.generator.removeprefix("cart_")) if run.generator != "none" else None
        if run.method == "original":
            return (self.train if leaf is None else self.synthesize(self.train, leaf)), {}
        anonymized, drawn = self.anonymized(run.k, run.recoding)
        name, options = METHODS[run.method]
        strategy, rng = REGISTRY[name], rng_for(self.seed, run.method)
        fitted = strategy.fit(anonymized, strategy.Options(**options), rng)
        labels = anonymized.labels if run.order == "pre" else anonymized.labels.from_table(drawn)
        restored: Restored = fitted.restore(labels, rng)
        given = give_away(anonymized, restored.table, same_records=run.order == "pre")
        about = {"k_after": given.k, "known_combinations": given.known_combinations / given.records}
        about |= {f"fallback_{rung}": count / labels.nodes.size for rung, count in restored.fallbacks.items()}
        if given.joint is not None:
            about |= {"hit_joint": given.joint.share, "chance_joint": given.joint.chance}
        if leaf is None or run.order == "post":
            return restored.table, about
        return self.synthesize(restored.table, leaf), about


def measure(lab: Laboratory, tables: dict[str, Table]) -> dict[str, dict[str, float]]:
    """The metrics of every table, one number each; ``exact_excess`` is over the control.

    Measured together, since what they share (models of the original rows) is then trained once.
    """
    options = EvaluateOptions(metrics=METRICS, targets=(TARGET,))
    found = evaluate(lab.train, lab.control, tables, options, rng_for(lab.seed, "evaluate"))
    numbers: dict[str, dict[str, float]] = {name: {} for name in tables}
    for metric in found.metrics:
        if isinstance(metric.outcome, Measure):
            numbers[metric.stage][metric.name] = metric.outcome.value
            if metric.name == "identical_match":
                numbers[metric.stage]["exact_excess"] = metric.outcome.details["excess"]
    return numbers


def pareto(arguments: argparse.Namespace) -> None:
    """Run what is missing, one process per job, then write the report."""
    from joblib import Parallel, delayed

    arguments.out.mkdir(parents=True, exist_ok=True)
    todo = pd.DataFrame([vars(run) for run in runs(arguments)])
    file = arguments.out / "runs.csv"
    if file.exists():
        done = pd.read_csv(file, keep_default_na=False)[list(todo.columns)].astype(todo.dtypes)
        todo = todo.merge(done, how="left", indicator=True).query("_merge == 'left_only'").drop(columns="_merge")
    groups = [group for _, group in todo.groupby(["seed", "k", "recoding"], sort=False)]
    print(f"{len(todo)} runs to do", flush=True)
    for rows in Parallel(arguments.jobs, return_as="generator_unordered")(
        delayed(_run_group)(arguments.data, arguments.most, group) for group in groups
    ):
        before = [pd.read_csv(file, keep_default_na=False)] if file.exists() else []
        pd.concat([*before, pd.DataFrame(rows)]).to_csv(file, index=False)
        print(f"seed {rows[0]['seed']} k {rows[0]['k']} {rows[0]['recoding']}: {len(rows)} runs", flush=True)
    write_report(arguments.out)


def _run_group(data: Path, most: int, group: pd.DataFrame) -> list[dict[str, object]]:
    lab = Laboratory(data, int(group["seed"].iloc[0]), most)
    rows, tables = [], {}
    for at, record in enumerate(group.itertuples(index=False)):
        started = time.perf_counter()
        run = Run(**{**record._asdict(), "seed": int(record.seed), "k": int(record.k)})
        tables[str(at)], about = lab.result(run)
        rows.append({**vars(run), **about, "seconds": time.perf_counter() - started})
    numbers = measure(lab, tables)
    return [{**row, **numbers[str(at)]} for at, row in enumerate(rows)]


def scale(arguments: argparse.Namespace) -> None:
    """Seconds for Uniform and Conditional on many rows; labels and originals drawn from a small table's."""
    lab = Laboratory(arguments.data, 0, 20_000)
    small, _ = lab.anonymized(5, "global")
    big = small.take(np.random.default_rng(0).integers(0, len(small), arguments.rows))
    big = replace(big, originals=big.originals.only(QUASI_IDENTIFIERS))
    for name, options in (("uniform", {}), ("conditional", {}), ("single", {}), ("marginal", {}), ("shrunk", {})):
        strategy, rng = REGISTRY[name], np.random.default_rng(0)
        started, on_cpu = time.perf_counter(), time.process_time()
        restored = strategy.fit(big, strategy.Options(**options), rng).restore(big.labels, rng)
        seconds, on_cpu = time.perf_counter() - started, time.process_time() - on_cpu
        size = f"{len(restored.table):,} rows x {len(QUASI_IDENTIFIERS)} columns"
        print(f"{name}: {size} in {seconds:.1f} s ({on_cpu:.1f} s of one core)", flush=True)
        del restored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("pareto")
    one.add_argument("data", type=Path)
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--seeds", type=int, default=5)
    one.add_argument("--k", type=int, nargs="+", default=[5, 20])
    one.add_argument("--recoding", nargs="+", default=["global"])
    one.add_argument("--methods", nargs="+", default=list(METHODS))
    one.add_argument("--most", type=int, default=15_000, help="records in train and in control, at most")
    one.add_argument("--jobs", type=int, default=1)
    one.set_defaults(run=pareto)
    one = commands.add_parser("report")
    one.add_argument("out", type=Path)
    one.set_defaults(run=lambda arguments: write_report(arguments.out))
    one = commands.add_parser("scale")
    one.add_argument("data", type=Path)
    one.add_argument("--rows", type=int, default=10_000_000)
    one.set_defaults(run=scale)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
