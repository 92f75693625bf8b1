"""Comparison flow: one flow for a whole plan.

python flows/compare.py configs/compare.yaml
"""

from pathlib import Path

from flows.stages import flow, plan_script, publish_artifacts, stage_task
from hybrid.comparison import compare as run_plan
from hybrid.comparison import load_plan
from hybrid.comparison.write import REPORT

OUT = "runs/comparison"


@stage_task("run")
def run(plan: str, out: str, jobs: int, scale: str | None, scheduler: str | None) -> str:
    """Run every trial of the plan, too many and too small to be tasks; return the path of the report."""
    loaded = load_plan(Path(plan), scale)
    table = run_plan(loaded, Path(plan).parent, Path(out), jobs, scheduler=scheduler)
    report = Path(out) / REPORT
    failed = int((table["status"] == "failed").sum())
    publish_artifacts("comparison", f"{len(table) - failed} runs done, {failed} failed", report)
    return str(report)


@flow(name="compare")
def compare(plan: str, out: str = OUT, jobs: int = 1, scale: str | None = None, scheduler: str | None = None) -> str:
    """Compare a plan's configurations, locally or on a Dask scheduler."""
    return run(plan, out, jobs, scale, scheduler)


if __name__ == "__main__":
    plan_script(compare, __doc__, OUT)
