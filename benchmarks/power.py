"""Smallest leaks that verdicts on honest tables notice, and whether the statement holds for fresh leaks.

    python benchmarks/power.py curve RESULTS.jsonl [--tables FOLDER] [--rows 5000] [--trials 10] [--only demo]
    python benchmarks/power.py verdict RESULTS.jsonl [--tables FOLDER] [--rows 10000] [--seed 1] [--only demo]
        [--set "[synthesize.options.min_leaf, 50]"]
    python benchmarks/power.py fresh RESULTS.jsonl [--tables FOLDER] [--rows 5000] [--trials 25] [--only demo]

``curve`` runs the recommended defaults on benchmarks/four_tables.py's tables, plants leaks of growing size until all
trials of a kind are noticed, and prints the seconds beside those of the evaluation. ``verdict`` prints the whole
verdict of the recommended defaults. ``fresh`` plants leaks of the policy's ``must_detect`` sizes into other draws of
these tables (training records, control records and synthetic rows of other people each time) and counts how often the
gate's rules notice them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from choices import COMMON
from four_tables import configurations

from hybrid.evaluation.planted_leaks import LeakName
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.power import judged_table, measure_power
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.policy import Policy, load_policy, packaged_policy

CURVES: dict[LeakName, tuple[float, ...]] = {
    "copy": (0.01, 0.02, 0.05, 0.1),
    "near": (0.02, 0.05, 0.1, 0.2),
    "changed": (0.05, 0.1, 0.2),
    "splice": (0.02, 0.05, 0.1, 0.2, 0.5),
    "half": (0.05, 0.1, 0.2, 0.5),
    "recoded": (0.02, 0.05, 0.1, 0.2),
    "exposed": (1.0,),
    "group": (1.0,),
    "histories": (0.02, 0.05),
    "secrets": (0.02, 0.05, 0.1, 0.2),
}


def pipeline(config: Path, seed: int, judge_power: bool, changes: dict[str, Any]) -> Pipeline:
    """A run of the recommended defaults that measures what its policy reads."""
    options = load_config(config, COMMON)
    names = tuple(dict.fromkeys(rule.metric for rule in load_policy(options.policy_path).rules))
    changed = {**COMMON, "evaluate.metrics": list(names), **changes}
    return Pipeline(load_config(config, changed), seed=seed, judge_power=judge_power)


def verdict(config: Path, seed: int, changes: dict[str, Any]) -> dict[str, Any]:
    """The whole verdict of a run, with what it says of planted leaks and what it does not pass."""
    run = pipeline(config, seed, True, changes)
    found, power = run.verdict, run.power
    assert power is not None
    return {
        "rows": len(run.person.train),
        "verdict": found.status,
        "open": [check.message for check in found.open_checks],
        "leaks": [leak.__dict__ for leak in power.leaks],
        "seconds": {stage.name: round(stage.seconds, 1) for stage in run.stages},
    }


def ready(config: Path, seed: int) -> tuple[TableRun, float]:
    """A run up to its evaluation, and the seconds of the latter."""
    run = pipeline(config, seed, False, {}).person
    _ = run.generated
    started = time.process_time()
    _ = run.evaluated("synthetic")
    return run, time.process_time() - started


def trials(run: TableRun, policy: Policy, sizes: dict[LeakName, float], number: int) -> dict[str, Any]:
    """Trials of leaks of these sizes."""
    options = {"must_detect": sizes, "power": policy.power.model_copy(update={"trials": number, "skip": None})}
    wanted = policy.model_copy(update=options)
    started = time.process_time()
    judged = judged_table(run.train, run.control, run.generated.table, run.config.evaluate, run.seed)
    found = measure_power([judged], run.evaluated("synthetic"), wanted, run.seed)
    leaks = [leak.__dict__ for leak in found.leaks]
    return {"leaks": leaks, "seconds": round(time.process_time() - started, 1)}


def curve(run: TableRun, policy: Policy, number: int) -> list[dict[str, Any]]:
    """Trials of each kind, of growing sizes until all are noticed."""
    found = []
    for kind, sizes in CURVES.items():
        for size in sizes:
            tried = trials(run, policy, {kind: size}, number)
            found.append(tried)
            print(kind, size, tried, flush=True)
            (leak,) = tried["leaks"]
            if not leak["made"] or leak["noticed"] == number:
                break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("curve", "fresh", "verdict"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="[KEY, VALUE]")
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--only", action="append")
    parser.add_argument("--policy", default="default")
    chosen = parser.parse_args()
    policy = load_policy(packaged_policy(chosen.policy) or Path(chosen.policy))
    with tempfile.TemporaryDirectory() as work, chosen.results.open("a", encoding="utf-8") as out:
        for source, config in configurations(chosen.tables, Path(work), chosen.rows).items():
            if source not in (chosen.only or [source]):
                continue
            if chosen.what == "verdict":
                judged = verdict(config, chosen.seed, dict(yaml.safe_load(text) for text in chosen.set))
                print(source, json.dumps(judged, indent=1), flush=True)
                out.write(json.dumps({"source": source, "seed": chosen.seed, **judged}) + "\n")
                continue
            if chosen.what == "curve":
                run, seconds = ready(config, 1)
                print(source, len(run.train), "evaluation", round(seconds, 1), flush=True)
                found = curve(run, policy, chosen.trials)
                out.write(json.dumps({"source": source, "evaluation": round(seconds, 1), "trials": found}) + "\n")
                continue
            for seed in range(100, 100 + chosen.trials):
                run, _ = ready(config, seed)
                tried = trials(run, policy, dict(policy.must_detect), 3)
                print(source, seed, tried, flush=True)
                out.write(json.dumps({"source": source, "seed": seed, **tried}) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
