"""Commands that look at what is there: metrics, verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hybrid.base.errors import VerificationError
from hybrid.cli import console
from hybrid.cli.run import ConfigPath, Settings, overrides

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (explain, metrics, verify):
        app.command()(command)


def verify(release: Annotated[Path, typer.Argument(metavar="DIR", help="A published release.")]) -> None:
    """Check a release against its certificate, offline: every file present, unchanged, and nothing added."""
    from hybrid.publication.verify import verify as check

    problems = check(release)
    if problems:
        raise VerificationError(problems)
    console.line("ok", f"{release}: every file is as it was published")


def explain(config: ConfigPath, set_: Settings = None) -> None:
    """What may honestly be said of a configuration's guarantee: the sampling theorem, its conditions, what is left."""
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline

    explanation = Pipeline(load_config(config, overrides(set_)), seed=0).explanation
    for condition in explanation.conditions:
        console.line("ok" if condition.met else "note", f"{'met' if condition.met else 'not met'}: {condition.text}")
    console.out.print(f"\n{explanation.text}", markup=False)


def metrics(as_json: AsJson = False) -> None:
    """Metrics: what each says, which direction is good, and what it needs."""
    from hybrid.evaluation import REGISTRY

    if as_json:
        console.out.print_json(json.dumps([metric.to_json() for metric in REGISTRY.values()]))
        return
    for metric in REGISTRY.values():
        needs = f"  (needs {', '.join(metric.needs)})" if metric.needs else ""
        console.out.print(
            f"{metric.family:<9}{metric.name:<26}{metric.direction:<7} is better   {metric.sentence}{needs}"
        )
