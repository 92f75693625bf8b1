"""Laboratory flow: one flow for a whole plan.

python flows/lab.py configs/lab.yaml --scale quick
"""

from pathlib import Path

from flows.stages import flow, plan_script, publish_artifacts, stage_task
from hybrid.lab.plan import load_plan
from hybrid.lab.run import REPORT, run_lab

OUT = "runs/laboratory"


@stage_task("try metrics")
def try_metrics(plan: str, out: str, jobs: int, scale: str | None, scheduler: str | None) -> str:
    """Run every trial of the plan; return the path of the page."""
    loaded = load_plan(Path(plan), scale)
    found = run_lab(loaded, Path(plan).parent, Path(out), jobs, scheduler=scheduler)
    words = [f"- {word}: {', '.join(names)}" for word, names in found.league.by_word().items()]
    summary = [f"{found.ended} trials done, {found.failed} failed", "", *words]
    publish_artifacts("laboratory", "\n".join(summary), Path(out) / REPORT)
    return str(Path(out) / REPORT)


@flow(name="lab")
def lab(plan: str, out: str = OUT, jobs: int = 1, scale: str | None = None, scheduler: str | None = None) -> str:
    """Try a plan's metrics, locally or on a Dask scheduler."""
    return try_metrics(plan, out, jobs, scale, scheduler)


if __name__ == "__main__":
    plan_script(lab, __doc__, OUT)
