"""Commands that describe, and that prepare this installation: explain, metrics, warm."""

from __future__ import annotations

import json

from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import AsJson, ConfigPath, Settings, overrides


def explain(config: ConfigPath, set_: Settings = None) -> None:
    """State the guarantee of a configuration.

    The sampling theorem, its conditions, what remains open.
    """
    from hybrid.linked.config import LinkedConfig, load_any
    from hybrid.linked.run import LinkedRun
    from hybrid.pipeline.pipeline import Pipeline

    loaded = load_any(config, overrides(set_))
    pipeline = LinkedRun(loaded).person if isinstance(loaded, LinkedConfig) else Pipeline(loaded)
    explanation = pipeline.explanation
    for condition in explanation.conditions:
        console.line("ok" if condition.met else "note", f"{'met' if condition.met else 'not met'}: {condition.text}")
    console.out.print(f"\n{explanation.text}")


def metrics(as_json: AsJson = False) -> None:
    """List the metrics.

    What each measures, which direction is good, what it needs.
    """
    from hybrid.evaluation import REGISTRY
    from hybrid.publication.asked import ways_to_ask

    if as_json:
        console.out.print_json(json.dumps([metric.to_json() for metric in REGISTRY.values()]))
        return
    ways = ways_to_ask()
    for name, metric in REGISTRY.items():
        needed = [*metric.needs, *(f"{way} in evaluate.also" for way in (ways[name],) if way)]
        needs = f"  (needs {', '.join(needed)})" if needed else ""
        console.out.print(
            f"{metric.family:<9}{metric.name:<26}{metric.direction:<7} is better   {metric.sentence}{needs}"
        )


def warm() -> None:
    """Compile what long searches and metrics use, once per installation.

    Some forty processor seconds, which the first runs would spend otherwise.
    """
    from hybrid.jobs.warm import warm

    with console.progress() as progress:
        folders = warm(progress)
    for folder in folders:
        console.line("ok", f"machine code in {folder}")
    if not folders:
        console.line("note", "no folder for machine code may be written: every process compiles anew")


GROUP = Group("Look", (explain, metrics, warm))
