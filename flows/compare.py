"""Compare strategies: one flow for a whole plan.

python flows/compare.py configs/compare.yaml
"""

import argparse
from pathlib import Path

from flows.stages import flow, publish_artifacts, script, stage_task
from hybrid.compare import compare as run_plan
from hybrid.compare import load_plan, write_comparison


@stage_task("run")
def run(plan: str, out: str, jobs: int) -> str:
    """Run every trial of the plan; gives the report's path. Trials are too many and too small to be tasks."""
    loaded = load_plan(Path(plan))
    table = run_plan(loaded, Path(plan).parent, Path(out), jobs)
    report = write_comparison(loaded, table, Path(out))
    failed = int((table["status"] == "failed").sum())
    publish_artifacts("comparison", f"{len(table) - failed} runs done, {failed} failed", report)
    return str(report)


@flow(name="compare")
def compare(plan: str, out: str = "runs/comparison", jobs: int = 1) -> str:
    """Compare the configurations of a plan side by side."""
    return run(plan, out, jobs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--out", default="runs/comparison")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    script(compare, arguments.plan, arguments.out, arguments.jobs)
