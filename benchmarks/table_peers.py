"""hybrid beside other synthesizers on one table: classifier, closeness, and one shadow attack for all.

    python benchmarks/table_peers.py measure TABLE.csv CONFIG.yaml TARGET WORK [--tuned TUNED.yaml] [--peers PYTHON]
        [--tools halves hybrid tuned cart copula syndiffix syndiffix_target ctgan mostlyai] [--draws 3]
    python benchmarks/table_peers.py attack TABLE.csv CONFIG.yaml TARGET WORK [...] [--trainings 24]
    python benchmarks/table_peers.py show WORK

Every tool learns the same three quarters of the rows (a row is a person), without identifiers, and draws as many; the
last quarter tests. ``cart`` is hybrid's generator alone with the settings of synthpop and nothing anonymized. The peers
run at their defaults with PYTHON (benchmarks/table_tools.py: sdv, syndiffix, mostlyai-engine); ``syndiffix_target`` is
told the target. ``halves`` are two random halves of the training rows, the unit of closeness. ``attack`` trains each
tool again on the same random halves of the training people. Of 40 people least like others and 40 others half are in
each; 15 features of a table about a person (:class:`Attacker`), standardized over the trainings, and a logistic
regression that never saw the training that it judges. Intervals: 95 %, draws of people and trainings at once.
WORK/TABLE keeps every table that was made; the same command goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from table_tools import source, write

from hybrid.base.manifest import Recorder
from hybrid.base.progress import silent
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.run_metrics import remembering
from hybrid.pipeline.config import load_config
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.table_run import TableRun
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import DTYPES, Kind, Schema, Table

OURS, PEERS = ("hybrid", "tuned", "cart"), ("copula", "syndiffix", "syndiffix_target", "ctgan", "mostlyai")
TOOLS = Path(__file__).with_name("table_tools.py")
TRAIN, HALVES = 0.75, 5
ATTACKED, NEIGHBOURS, BOOTSTRAPS = 40, 5, 1000
NEAR, CLIPPED = 0.02, 4.0
"""Numbers are shared within this share of the range; standard deviations beyond which a feature counts as this far."""
METRICS = ("tstr", "lost_prediction", "pair_trends", "association_difference", "column_shapes", "discriminator")
CLOSE = METRICS[2:5]
READ: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}


class Comparison:
    """Rows of one table, the tables that tools made of them, and what is measured."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.share = remembering({})
        self.chosen, self.folder = chosen, chosen.work / chosen.table.stem
        self.config = load_config(chosen.config, {"data.path": str(chosen.table.resolve())})
        everybody = self.config.load_table()
        order = np.random.default_rng(1).permutation(len(everybody))
        cut = round(TRAIN * len(everybody))
        self.given = everybody.take(np.sort(order[:cut]))
        names = everybody.schema.without_identifiers()
        self.train, self.control = (
            Table(part.frame[names.names], names) for part in (self.given, everybody.take(np.sort(order[cut:])))
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        kinds = {column.name: column.kind.value for column in names}
        if not (self.folder / "train.csv").is_file():
            (self.folder / "kinds.json").write_text(json.dumps(kinds), encoding="utf-8")
            self.train.frame.to_csv(self.folder / "train.csv", index=False)

    def made(self, tool: str, names: list[str]) -> Iterator[Table]:
        """Tables of a tool, in the order of their names; those that are not there are made first."""
        place = self.folder / tool
        place.mkdir(exist_ok=True)
        absent = [name for name in names if not (place / f"{name}.csv").is_file()]
        if absent and tool in OURS:
            fit = self._fit(tool)
            for name in absent:
                rows = self._read(self.folder / source(name), self.train.schema)
                started = time.process_time()
                made = fit(rows, int(name.split("-")[1]))
                write(made.frame, place / name, time.process_time() - started)
        elif absent:
            what = [str(TOOLS), tool, self.chosen.target, str(self.folder), *absent]
            subprocess.run([self.chosen.peers, *what], check=True, stdout=subprocess.DEVNULL)
        for name in names:
            yield self._read(place / f"{name}.csv", self.train.schema)

    def _fit(self, tool: str) -> Callable[[Table, int], Table]:
        if tool == "cart":
            options = SynthesizeOptions(generator="cart", preset="synthpop")
            return lambda rows, seed: fit(rows, options, seed).sample(len(rows), seed)
        config = self.config if tool == "hybrid" else load_config(self.chosen.tuned)
        whole = TableRun(config, 1, given=Inputs(config, Recorder(), silent, self.given))
        return lambda rows, seed: whole.with_training(rows, seed, 1.0).generated.table

    @staticmethod
    def _read(file: Path, schema: Schema) -> Table:
        frame = pd.read_csv(file, dtype=str, **READ)[schema.names]
        for column in schema:
            values = frame[column.name]
            if column.kind in (Kind.INTEGER, Kind.DECIMAL):
                numbers = pd.to_numeric(values)
                frame[column.name] = numbers.round() if column.kind is Kind.INTEGER else numbers
            elif column.kind is Kind.BOOLEAN:
                frame[column.name] = values.map({"True": True, "False": False})
            frame[column.name] = frame[column.name].astype(DTYPES[column.kind])
        return Table(frame, schema)

    def measure(self, tool: str) -> Iterator[dict[str, Any]]:
        """Figures of each draw: of the classifier, beside real rows, and of closeness to the training rows."""
        names = [f"draw-{number}" for number in range(self.chosen.draws if tool in OURS else 1)]
        for name, table in zip(names, self.made(tool, names), strict=True):
            found = self._evaluated(self.train, self.control, table, METRICS)
            listed = found["lost_prediction"].details["columns"] if "lost_prediction" in found else []
            yield {
                "table": self.folder.name,
                "tool": tool,
                "cpu_s": float((self.folder / tool / f"{name}.s").read_text(encoding="utf-8")),
                "real": found["tstr"].reference if "tstr" in found else None,
                "predicted": len(listed),
                "others": float(np.mean([one["table"] for one in listed])) if listed else None,
                "others_real": float(np.mean([one["train"] for one in listed])) if listed else None,
                **{metric: one.value for metric, one in found.items()},
            }

    def halves(self) -> dict[str, Any]:
        """Closeness of two random halves of the training rows: mean over some."""
        rng, rows = np.random.default_rng(2), []
        for _ in range(HALVES):
            order = rng.permutation(len(self.train))
            one, two = (self.train.take(part) for part in np.array_split(order, 2))
            rows.append({name: one.value for name, one in self._evaluated(one, None, two, CLOSE).items()})
        return {"table": self.folder.name, "tool": "halves", **pd.DataFrame(rows).mean().to_dict()}

    def _evaluated(self, train: Table, control: Table | None, table: Table, metrics: tuple[str, ...]) -> dict[str, Any]:
        options = EvaluateOptions(metrics=metrics, targets=(self.chosen.target,))
        found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(1), share=self.share)
        return {one.name: one.outcome for one in found.metrics if isinstance(one.outcome, Measure)}

    @cached_property
    def attacked(self) -> tuple[Attacker, np.ndarray]:
        """The attacker, and rows of the attacked people."""
        attacker = Attacker(self.train)
        return attacker, attacker.people(np.random.default_rng(5))

    def attack(self, tool: str) -> None:
        """Observe each training's table about the attacked people; WORK/TABLE/TOOL/seen.npz."""
        rng, trainings = np.random.default_rng(3), self.chosen.trainings
        attacker, people = self.attacked
        rest = np.setdiff1d(np.arange(len(self.train)), people)
        member, names = np.zeros((trainings, 2 * ATTACKED), dtype=bool), []
        for number in range(trainings):
            for group in (slice(0, ATTACKED), slice(ATTACKED, None)):
                member[number, group] = rng.permutation(ATTACKED) < ATTACKED // 2
            others = rng.permutation(rest)[: len(self.train) // 2 - ATTACKED]
            rows = rng.permutation(np.concatenate([people[member[number]], others]))
            names.append(f"half-{number}")
            if not (self.folder / f"half-{number}.csv").is_file():
                self.train.take(rows).frame.to_csv(self.folder / f"half-{number}.csv", index=False)
        seen = [attacker.observed(table, people) for table in self.made(tool, names)]
        np.savez(self.folder / tool / "seen.npz", seen=np.array(seen), member=member)


class Attacker:
    """Compares rows by Gower's distance, with ranges of the pool; missing is a value, 1 from every other."""

    def __init__(self, pool: Table) -> None:
        self.pool, self.numeric = pool, np.array([column.kind.is_continuous for column in pool.schema])
        self.rows = self._coded(pool)

    def _coded(self, table: Table) -> np.ndarray:
        coded = []
        for column in self.pool.schema:
            known, values = (each.frame[column.name] for each in (self.pool, table))
            if column.kind.is_continuous:
                known, values = (each.to_numpy(np.float64, na_value=np.nan) for each in (known, values))
                low, high = np.nanmin(known), np.nanmax(known)
                coded.append(np.nan_to_num(np.clip((values - low) / ((high - low) or 1), 0, 1), nan=-1))
            else:
                coded.append(pd.Index(known.astype(str).unique()).get_indexer(values.astype(str)))
        return np.column_stack(coded).astype(np.float32)

    def _apart(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Distance of every row to a person in each column, 0..1."""
        apart = np.abs(rows - own)
        return np.where(self.numeric, np.minimum(apart, 1), apart > 0)

    def people(self, rng: np.random.Generator) -> np.ndarray:
        """Rows of those farthest from their nearest others, then of random others."""
        far = [np.sort(self._apart(self.rows, own).mean(axis=1))[1 : NEIGHBOURS + 1].mean() for own in self.rows]
        ranked = np.argsort(-np.array(far), kind="stable")
        return np.concatenate([ranked[:ATTACKED], rng.permutation(ranked[ATTACKED:])[:ATTACKED]])

    def observed(self, table: Table, people: np.ndarray) -> np.ndarray:
        """Features of a table about each person: six distances, nine logarithms of counts and shares of rows."""
        rows, features = self._coded(table), []
        for own in self.rows[people]:
            apart = self._apart(rows, own)
            far, shared = np.sort(apart.mean(axis=1)), apart <= NEAR
            together = shared.sum(axis=1)
            counts = [(far < limit).sum() for limit in (0.05, 0.1, 0.2)]
            counts += [(together >= shared.shape[1] - fewer).sum() for fewer in range(4)]
            alone = np.log(shared.mean(axis=0) + 1 / len(rows))
            distances = far[0], far[1], *(far[:k].mean() for k in (5, 20, 100)), far.mean()
            features.append([*distances, *np.log(np.array(counts) + 1), alone.mean(), alone.min()])
        return np.array(features)


def scores_of(seen: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Membership score of each person in each training, by a regression of the other trainings."""
    spread = seen.std(axis=0)
    placed = np.where(spread > 1e-9, (seen - seen.mean(axis=0)) / np.maximum(spread, 1e-9), 0)
    placed = np.clip(placed, -CLIPPED, CLIPPED)
    scores = np.empty(member.shape)
    for left in range(len(seen)):
        known, truth = (np.concatenate(np.delete(each, left, axis=0)) for each in (placed, member))
        scores[left] = LogisticRegression(max_iter=1000).fit(known, truth).decision_function(placed[left])
    return scores


def aucs(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """AUC, then those of draws of people and trainings with replacement, the same for every tool."""
    rng = np.random.default_rng(4)
    drawn = [rng.multinomial(size, np.full(size, 1 / size), BOOTSTRAPS) for size in member.shape]
    trainings, people = (np.vstack([np.ones_like(each[0]), each]) for each in drawn)
    weights = (trainings[:, :, None] * people[:, None, :]).reshape(BOOTSTRAPS + 1, -1)
    order = np.argsort(scores.ravel(), kind="stable")
    start = np.unique(scores.ravel()[order], return_index=True)[1]
    sides = member.ravel(), ~member.ravel()
    inside, outside = (np.add.reduceat((weights * side)[:, order], start, axis=1) for side in sides)
    below = np.cumsum(outside, axis=1) - outside / 2
    return (inside * below).sum(axis=1) / (inside.sum(axis=1) * outside.sum(axis=1))


def show(work: Path) -> None:
    """A line for each table and tool; attacks also as difference to hybrid, with its interval."""
    folders = sorted(file.parent for file in work.glob("*/measures.jsonl"))
    found = [json.loads(line) for each in folders for line in (each / "measures.jsonl").read_text().splitlines()]
    mean = pd.DataFrame(found).groupby(["table", "tool"], sort=False).mean(numeric_only=True)
    mean[["pair_trends", "column_shapes"]] = 1 - mean[["pair_trends", "column_shapes"]]
    halves = mean.xs("halves", level="tool").reindex(mean.index.get_level_values("table"))
    mean[[*CLOSE]] /= halves[[*CLOSE]].to_numpy()
    shown = ["real", "tstr", "others_real", "others", *CLOSE, "discriminator", "cpu_s"]
    print(mean.drop("halves", level="tool").round(3)[shown].to_string())
    for folder in folders:
        ours = None
        for tool in (*OURS, *PEERS):
            if (folder / tool / "seen.npz").is_file():
                kept = np.load(folder / tool / "seen.npz")
                groups = slice(0, ATTACKED), slice(ATTACKED, None)
                sides = [(kept["seen"][:, group], kept["member"][:, group]) for group in groups]
                exposed, others = (aucs(scores_of(*side), side[1]) for side in sides)
                ours = exposed if tool == "hybrid" else ours
                apart = "" if ours is None else interval(exposed - ours)
                print(
                    f"{folder.name:<18}{tool:<18}{interval(exposed)}  random {interval(others)}  beyond hybrid {apart}"
                )


def interval(drawn: np.ndarray) -> str:
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    return f"{drawn[0]:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("show").add_argument("work", type=Path)
    for what in ("measure", "attack"):
        command = commands.add_parser(what)
        for name, kind in (("table", Path), ("config", Path), ("target", str), ("work", Path)):
            command.add_argument(name, type=kind)
        command.add_argument("--tuned", type=Path)
        command.add_argument("--peers", default=sys.executable)
        command.add_argument("--tools", nargs="+", default=["halves", "hybrid", "cart", "copula", "syndiffix"])
        command.add_argument("--draws", type=int, default=3)
        command.add_argument("--trainings", type=int, default=24)
    chosen = parser.parse_args()
    if chosen.what == "show":
        show(chosen.work)
        return
    compared = Comparison(chosen)
    results = compared.folder / "measures.jsonl"
    results.touch()
    for tool in chosen.tools:
        if chosen.what == "attack":
            if tool != "halves":
                compared.attack(tool)
        elif not any(json.loads(line)["tool"] == tool for line in results.read_text().splitlines()):
            found = [compared.halves()] if tool == "halves" else list(compared.measure(tool))
            with results.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(one) + "\n" for one in found)


if __name__ == "__main__":
    main()
