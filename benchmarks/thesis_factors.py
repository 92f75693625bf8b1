"""What the thesis held constant: tables of the scales `models` and `linkability` of configs/thesis_ch5.yaml.

    python benchmarks/thesis_factors.py --write docs/evidence/chapter5.md

From benchmarks/results/thesis_ch5/, where each scale has the comparison.csv of `hybrid compare`; means over the seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from made_part import write_part

KEPT = Path(__file__).parent / "results" / "thesis_ch5"
GENERATORS = ("anonymization alone", "cart")
SHOWN = {
    "inference": "synthetic.inference.occupation",
    "singling out": "synthetic.singling_out",
    "TSTR": "synthetic.tstr.income",
    "total variation": "synthetic.total_variation",
}


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
    value, low, high = groups.loc[key]
    return "–" if pd.isna(value) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    page = parser.parse_args().write
    text = f"{models()}\n\n{linkability()}"
    if page is None:
        print(text)
    else:
        write_part(page, "thesis_factors", text)


if __name__ == "__main__":
    main()
