"""What the thesis held constant: privacy models, neighbours of linkability, and the order of the stages.

    python benchmarks/thesis_factors.py

From benchmarks/results/: the comparison.csv of `hybrid compare` for the scales `models` and `linkability` of
configs/thesis_ch5.yaml, and for configs/research_order.yaml; means over the seeds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.analysis import results
from hybrid.analysis.contrasts import estimates
from hybrid.comparison import load_plan
from hybrid.comparison.schedule import expand
from hybrid.comparison.write import facets
from hybrid.report.comparison.words import with_interval

RESULTS = Path(__file__).parent / "results"
KEPT = RESULTS / "thesis_ch5"
ORDERS = Path(__file__).parents[1] / "configs" / "research_order.yaml"
GENERATORS = ("anonymization alone", "cart")
SHOWN = {
    "inference": "synthetic.inference.occupation",
    "singling out": "synthetic.singling_out",
    "TSTR": "synthetic.tstr.income",
    "total variation": "synthetic.total_variation",
}

MORE = {
    "linkability": "synthetic.linkability",
    "membership": "synthetic.membership",
    "discriminator": "synthetic.discriminator",
}
"""Shown of the orders, too."""


def ended(scale: str) -> tuple[pd.DataFrame, str]:
    """Runs that ended, and a sentence about which they are."""
    rows = pd.read_csv(KEPT / scale / "comparison.csv")
    done = rows[rows["status"] == "ok"]
    return done, f"{len(done)} of {len(rows)} runs ended; seeds {', '.join(map(str, sorted(rows['seed'].unique())))}."


def models() -> str:
    """Markdown: every privacy model and transition, without and with a generator."""
    rows, said = ended("models")
    heads = [f"{name}, {generator}" for generator in ("alone", "cart") for name in SHOWN]
    lines = ["### Privacy models", "", said, "", f"| model | transition | {' | '.join(heads)} |"]
    lines.append("|---" * (2 + len(heads)) + "|")
    groups = rows.groupby(["transition", "privacy model", "generator"], sort=False)[list(SHOWN.values())].mean()
    for transition in rows["transition"].unique():
        for model in rows["privacy model"].unique():
            cells = [f"{value:.3f}" for generator in GENERATORS for value in groups.loc[transition, model, generator]]
            lines.append(f"| {' | '.join([model, transition, *cells])} |")
    return "\n".join(lines)


def linkability() -> str:
    """Markdown: linkability by number of neighbours, of each table."""
    rows, said = ended("linkability")
    asked, found = "evaluate.linkability_neighbours", "synthetic.linkability"
    whole = rows.groupby(asked)["original.linkability"].mean()
    bounds = [found, f"{found}_low", f"{found}_high"]
    groups = rows.groupby(["transition", asked, "generator"], sort=False)[bounds].mean()
    lines = ["### Linkability", "", said, "", f"| transition | neighbours | the records | {' | '.join(GENERATORS)} |"]
    lines.append("|---" * 5 + "|")
    for transition in rows["transition"].unique():
        for count in sorted(rows[asked].unique()):
            shown = [_told(groups, (transition, count, generator)) for generator in GENERATORS]
            lines.append(f"| {transition} | {count} | {whole[count]:.3f} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _told(groups: pd.DataFrame, key: tuple[str, int, str]) -> str:
    """Mean with its mean bounds; a dash where no run has a value."""
    value, low, high = groups.loc[key] if key in groups.index else (float("nan"),) * 3
    return "–" if pd.isna(value) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def orders() -> str:
    """Markdown: anonymized last against anonymized first, over both k, with the generator alone beside it."""
    plan = load_plan(ORDERS)
    configurations = expand(plan, ORDERS.parent).configurations
    table = pd.read_csv(RESULTS / "research_order" / "comparison.csv")
    found = results(table, plan.factor_names, facets(configurations))
    lines = [
        "### Order of the stages",
        "",
        f"{len(table)} runs; seeds {', '.join(map(str, sorted(table['seed'].unique())))}; k = 5 and 50 together.",
        "",
        "| transition | metric | alone | anonymized first | anonymized last | last minus first (95 %) |",
        "|---|---|---|---|---|---|",
    ]
    for transition in plan.factors["transition"]:
        sides = [
            np.array([c.factors["transition"] == transition and c.factors["order"] == order for c in configurations])
            for order in plan.factors["order"]
        ]
        weights = (sides[1] / sides[1].sum() - sides[0] / sides[0].sum())[None]
        for name, column in (SHOWN | MORE).items():
            values = found.matrix(column)
            difference = estimates(weights, values, len(SHOWN | MORE) * 2, overlap=found.overlap)[0]
            alone = found.matrix(column.replace("synthetic", "baseline"))
            means = [f"{each.mean():.3f}" for each in (alone, values[sides[0]], values[sides[1]])]
            lines.append(f"| {' | '.join([transition, name, *means, with_interval(difference, signed=True)])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"{models()}\n\n{linkability()}\n\n{orders()}")
