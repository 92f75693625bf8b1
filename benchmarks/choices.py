"""Default choices: what each does to the verdict and to usefulness, on benchmarks/four_tables.py's tables.

    python benchmarks/choices.py run RESULTS.jsonl [--tables FOLDER] [--rows 5000] [--seeds 1] [--only demo]
    python benchmarks/choices.py show RESULTS.jsonl... [--policy NAME]

Everything that a choice does not name is what `hybrid init` writes, with the roles decided. Only the released table is
measured, with the metrics that the policy reads; ``show`` judges the stored numbers again, under any policy, so that
limits can be chosen without running again. Without ``--tables`` the demo alone is run: a minute.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from four_tables import configurations, lines

from hybrid.evaluation.measure import Measure
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.finished_run import evaluation_from_json
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy, packaged_policy

LEAF = "synthesize.options.min_leaf"
CHOICES: dict[str, dict[str, Any]] = {
    "min_leaf 5": {LEAF: 5},
    "min_leaf 20": {LEAF: 20},
    "min_leaf 50": {LEAF: 50},
    "min_leaf 100": {LEAF: 100},
    "conditional": {LEAF: 50, "transition": {"method": "conditional", "estimator": "histogram", "order": "pre"}},
    "uniform": {LEAF: 50, "transition": {"method": "uniform", "order": "pre"}},
    "protect off": {LEAF: 50, "protect": "off"},
}
"""Settings by name; the first four differ in the leaves alone, the others from ``min_leaf 50``."""
COMMON: dict[str, Any] = {
    "transition": {"method": "tree", "order": "pre"},
    "evaluate.baseline": False,
    "split.stable": False,
}
SHOWN = {
    "tstr": "TSTR",
    "discriminator": "discriminator",
    "dcr_share": "dcr",
    "nndr_share": "pointing",
    "membership": "membership",
    "identical_match": "copies",
}


def measured(config: Path, changes: dict[str, Any], seed: int) -> dict[str, Any]:
    """The evaluation of one run, and the statuses of the rules that read no metric."""
    options = load_config(config, {**COMMON, **changes})
    names = tuple(dict.fromkeys(rule.metric for rule in load_policy(options.policy_path).rules))
    options = load_config(config, {**COMMON, **changes, "evaluate.metrics": list(names)})
    run = TableRun(options, seed=seed, judge_power=False)
    found = run.evaluated("synthetic").to_json()["metrics"]
    for metric in found:
        metric["details"] = {name: metric["details"][name] for name in ("reason", "lacks") if name in metric["details"]}
    about_metrics = {rule.name for rule in run.policy.rules}
    others = {
        check.rule: check.decision
        for check in judge(run.policy.without_detection(), run.evaluated("synthetic"), run.anonymized.result).checks
        if check.rule not in about_metrics
    }
    suppressed = run.anonymized.result.suppressed / len(run.train)
    return {"metrics": found, "others": others, "suppressed": suppressed}


def run(choices: argparse.Namespace, results: Path) -> None:
    done = {line["key"] for line in lines([results])}
    with tempfile.TemporaryDirectory() as work, results.open("a", encoding="utf-8") as out:
        configs = configurations(choices.tables, Path(work), choices.rows)
        for seed in range(1, choices.seeds + 1):
            for choice, changes in CHOICES.items():
                for source, config in configs.items():
                    key = f"{source}, {choice}, {seed}"
                    if key in done or source not in (choices.only or configs):
                        continue
                    found = measured(config, changes, seed)
                    out.write(json.dumps({"key": key, "source": source, "choice": choice, **found}) + "\n")
                    out.flush()


def show(files: list[Path], policy: Policy) -> None:
    """One row per run: its verdict without power, the numbers that matter, and the rules that are not met."""
    rows = []
    for line in lines(files):
        found = evaluation_from_json(line)
        measured = {metric.name for metric in found.metrics}
        rules = tuple(rule for rule in policy.rules if rule.metric in measured)
        bare = policy.model_copy(update={"rules": rules, "anonymity": (), "history": ()}).without_detection()
        verdict = judge(bare, found, None)
        failed = [check for check in verdict.checks if check.decision != "pass" and check.applies]
        worst = {check.decision for check in failed} | set(line["others"].values())
        row: dict[str, Any] = {"table": line["source"], "choice": line["choice"]}
        for name, title in SHOWN.items():
            metric = found.find(name, "synthetic")
            outcome = None if metric is None else metric.outcome
            if isinstance(outcome, Measure):
                row[title] = round(outcome.value - (outcome.reference or 0.0) * (name == "tstr"), 3)
        row["suppressed"] = round(line["suppressed"], 3)
        row["verdict"] = next((status for status in ("block", "review") if status in worst), "pass")
        row["not met"] = ", ".join(dict.fromkeys(check.rule for check in failed)) + "".join(
            f", {name}" for name, decision in line["others"].items() if decision != "pass"
        )
        rows.append(row)
    print(pd.DataFrame(rows).sort_values(["table", "choice"]).to_string(index=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--policy", default="default")
    chosen = parser.parse_args()
    if chosen.what == "run":
        run(chosen, chosen.results[0])
    else:
        show(chosen.results, load_policy(packaged_policy(chosen.policy) or Path(chosen.policy)))


if __name__ == "__main__":
    main()
