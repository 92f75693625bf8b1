"""What a comparison says, written beside its results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from hybrid.analysis import answer, results
from hybrid.base.atomic import write_text
from hybrid.base.ownership import seal
from hybrid.comparison.expand import expand
from hybrid.comparison.facets import facets
from hybrid.comparison.plan import ComparePlan
from hybrid.comparison.recommended import recommended_yaml
from hybrid.comparison.run_trials import KIND
from hybrid.evaluation import REGISTRY
from hybrid.report import comparison_json, describe, render_comparison

RECOMMENDED = "recommended.yaml"


def write_comparison(plan: ComparePlan, folder: Path, comparison: pd.DataFrame, out: Path) -> Path:
    """Write ``comparison.html``, ``comparison.json`` and, if there is one to recommend, ``recommended.yaml``.

    Parameters
    ----------
    plan : ComparePlan
        What was run.
    folder : Path
        Where ``plan.base`` is relative to.
    comparison : pandas.DataFrame
        The results; see :mod:`hybrid.comparison.table`.
    out : Path
        The folder of the results.

    Returns
    -------
    Path
        Of the report.
    """
    expansion = expand(plan, folder)
    configurations = {each.name: each for each in expansion.configurations}
    answers = answer(results(comparison, plan.factor_names, facets(expansion.configurations)))
    texts = describe(REGISTRY.values())
    found = json.dumps(comparison_json(plan.name, answers, texts), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(out / "comparison.json", found + "\n")
    chosen = answers.recommendation and answers.recommendation.chosen
    config = configurations[chosen.configuration].config if chosen else None
    (out / RECOMMENDED).unlink(missing_ok=True)
    if chosen and config is not None:
        write_text(out / RECOMMENDED, recommended_yaml(plan.name, chosen.configuration, config, out))
    report = out / "comparison.html"
    write_text(report, render_comparison(plan.name, answers, texts, [each.reason for each in expansion.left_out]))
    seal(out, plan.name, KIND)
    return report
