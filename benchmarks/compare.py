"""What sharing saves: a plan of 96 configurations x 3 seeds on Adult, against running them one by one.

    python benchmarks/compare.py ADULT.csv --out FOLDER [--rows 10000] [--jobs 2] [--take N] [--alone M]

The plan: k in (5, 10, 20, 50), beta in (.25, .5, 1), four transitions, before and after the generator ``cart``, the
default evaluation. ``--take`` runs only so many of its configurations (balanced over all factors), ``--alone`` times
so many single runs with nothing kept, for the ratio. Interrupted, the same call goes on; CPU seconds are those of
this process and its children, so that a busy machine does not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter
from pathlib import Path

import yaml

from hybrid.comparison import compare, forecast, load_plan
from hybrid.comparison.schedule import schedule
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import Store

HERE = Path(__file__).resolve().parent.parent
FACTORS = {
    "anonymize.k": [5, 10, 20, 50],
    "sample.beta": [0.25, 0.5, 1.0],
    "transition.method": ["uniform", "conditional", "tree", "marginal"],
    "transition.order": ["pre", "post"],
}


def write_plan(adult: Path, out: Path, rows: int, take: int | None) -> Path:
    config = yaml.safe_load((HERE / "configs" / "adult.yaml").read_text())
    config["data"]["path"] = str(adult.resolve())
    config["split"]["rows"] = rows
    for column in config["data"]["columns"].values():
        if "hierarchy" in column:
            column["hierarchy"] = str((HERE / "configs" / column["hierarchy"]).resolve())
    out.mkdir(parents=True, exist_ok=True)
    config["protect"] = "off"  # the originals go in as they are
    (out / "base.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    plan = {"version": 1, "name": "benchmark", "base": "base.yaml", "factors": FACTORS, "seeds": [1, 2, 3]}
    plan |= {"runs": "none", "store": str(out / "store")} | ({"subset": {"n": take}} if take else {})
    (out / "plan.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    return out / "plan.yaml"


def cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adult", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--take", type=int)
    parser.add_argument("--alone", type=int, default=2)
    arguments = parser.parse_args()
    path = write_plan(arguments.adult, arguments.out, arguments.rows, arguments.take)
    plan, folder = load_plan(path), path.parent
    expected = forecast(plan, folder, folder / "results")
    asked = sum(stage.asked for stage in expected.stages)
    print(f"{expected.trials} runs, {expected.executions} distinct stage executions of {asked}")

    started, cpu = time.perf_counter(), cpu_seconds()
    table = compare(plan, folder, folder / "results", arguments.jobs)
    spent = {"trials": len(table) - expected.done, "wall": time.perf_counter() - started, "cpu": cpu_seconds() - cpu}
    with (folder / "spent.jsonl").open("a") as stream:
        stream.write(json.dumps(spent) + "\n")
    entries = Counter(entry.stage for entry in Store(folder / "store").entries())
    executed = {stage.stage: entries[stage.stage] for stage in expected.stages}
    print(f"executed: {sum(executed.values())}; as foretold: {sum(executed.values()) == expected.executions}")
    print(f"this call: {spent['trials']} runs, {spent['wall']:.0f} s, {spent['cpu']:.0f} CPU s")

    trials = [each.trial for each in schedule(plan, folder).planned][:: max(1, expected.trials // arguments.alone)]
    cpu = cpu_seconds()
    for trial in trials[: arguments.alone]:
        _ = Pipeline(trial.config, trial.seed).verdict
    print(f"one run alone: {(cpu_seconds() - cpu) / arguments.alone:.1f} CPU s (mean of {arguments.alone})")


if __name__ == "__main__":
    main()
