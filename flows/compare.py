"""Comparison flow: one flow for a whole plan.

python flows/compare.py configs/compare.yaml
"""

import argparse
from pathlib import Path

from flows.stages import flow, publish_artifacts, script, stage_task
from hybrid.comparison import compare as run_plan
from hybrid.comparison import load_plan
from hybrid.comparison.write import REPORT


@stage_task("run")
def run(plan: str, out: str, jobs: int, scale: str | None, scheduler: str | None) -> str:
    """Run every trial of the plan; return the path of the report.

    Trials are too many and too small to be tasks.
    """
    loaded = load_plan(Path(plan), scale)
    table = run_plan(loaded, Path(plan).parent, Path(out), jobs, scheduler=scheduler)
    report = Path(out) / REPORT
    failed = int((table["status"] == "failed").sum())
    publish_artifacts("comparison", f"{len(table) - failed} runs done, {failed} failed", report)
    return str(report)


@flow(name="compare")
def compare(
    plan: str, out: str = "runs/comparison", jobs: int = 1, scale: str | None = None, scheduler: str | None = None
) -> str:
    """Compare a plan's configurations, locally or on a Dask scheduler."""
    return run(plan, out, jobs, scale, scheduler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--out", default="runs/comparison")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scale")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    script(compare, **vars(parser.parse_args()))
