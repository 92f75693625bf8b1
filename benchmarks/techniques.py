"""Tables behind docs/evidence/techniques.md, from the results of configs/techniques.yaml and of benchmarks/masking.py.

    python benchmarks/techniques.py
    python benchmarks/techniques.py --keep adult=runs/adult/comparison.csv bank=runs/bank/comparison.csv

The second call puts the columns of new comparisons into benchmarks/results/techniques/, a file per scale.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

KEPT = Path(__file__).parent / "results" / "techniques"
SCALES = {
    "adult": "Adult, nine quasi-identifiers and income",
    "bank": "Bank Marketing, 17 columns",
    "diabetes130": "Diabetes-130, 48 columns",
}
EXPOSED, RANDOM = "synthetic.membership_trained", "synthetic.membership_trained_random"
FOUND = f"printed.TPR at 0.01 FPR.{EXPOSED}"
HEAD = (
    "| technique | most exposed: AUC (95 %) | found at 1 % | random: AUC | TSTR | discriminator | shapes |\n"
    "|---|---|---|---|---|---|---|"
)
COSTS = (
    "| technique, k = 5 | rows | CPU s | peak GB | loss | IL1s | smallest group | parts |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|"
)


def keep(scale: str, path: Path) -> None:
    """Store the columns of a comparison that the tables need, with the rows that are stored already."""
    found, kept = pd.read_csv(path), KEPT / f"{scale}.csv"
    wanted = ("printed.TPR at 0.01", EXPOSED, "synthetic.tstr", "synthetic.discriminator", "synthetic.column_shapes")
    wanted = (*wanted, "information_loss", f"cpu.{EXPOSED}")
    names = [name for name in found if name.startswith(wanted) and "_excess" not in name and "_total" not in name]
    found = found[["generator", "technique", "seed", "status", "reason", *names]]
    before = [pd.read_csv(kept)] if kept.exists() else []
    whole = pd.concat([found, *before]).drop_duplicates(["generator", "technique", "seed"])
    whole.to_csv(kept, index=False, float_format="%.5g")


def tables(scale: str) -> str:
    """Markdown of one scale, a table per generator: means over the pools, of bounds, too."""
    rows = pd.read_csv(KEPT / f"{scale}.csv")
    target = next(name for name in rows if name.startswith("synthetic.tstr.") and name.count("_") == 0)
    parts = [f"### {SCALES[scale]}"]
    for generator, part in rows.groupby("generator", sort=False):
        lines = [f"**{'No generator: the masked table' if generator == 'none' else f'cart, {generator}'}**", "", HEAD]
        for name, runs in part.groupby("technique", sort=False):
            lines.append(_row(str(name), runs[runs["status"] == "ok"], target))
        parts.append("\n".join(lines))
    parts.append(f"TSTR of the training records themselves: {rows[f'{target}_reference'].mean():.3f}.")
    return "\n\n".join(parts)


def _row(name: str, runs: pd.DataFrame, target: str) -> str:
    if runs.empty:
        return f"| {name} | not possible | | | | | |"
    one = runs.mean(numeric_only=True)
    cells = [name, f"{one[EXPOSED]:.3f} ({one[f'{EXPOSED}_low']:.3f} to {one[f'{EXPOSED}_high']:.3f})"]
    cells += [f"{one[FOUND]:.0%}"]
    cells += [f"{one[key]:.3f}" for key in (RANDOM, target, "synthetic.discriminator", "synthetic.column_shapes")]
    return f"| {' | '.join(cells)} |"


def costs() -> str:
    """Markdown of CPU time, memory and information loss."""
    lines = ["### What masking costs", "", COSTS]
    for one in pd.read_csv(KEPT / "costs.csv").to_dict("records"):
        parts = "" if pd.isna(one["parts"]) else f"{one['parts']:.0f}"
        cells = [one["technique"], f"{one['rows']:,}", f"{one['cpu']:.1f}", f"{one['peak_gb']:.2f}"]
        cells += [f"{one['loss']:.3f}", f"{one['il1s']:.3f}", f"{one['smallest']}", parts]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", nargs="+", default=[], metavar="SCALE=FILE")
    chosen = parser.parse_args()
    for each in chosen.keep:
        scale, _, path = each.partition("=")
        keep(scale, Path(path))
    print("\n\n".join([*(tables(scale) for scale in SCALES if (KEPT / f"{scale}.csv").exists()), costs()]))


if __name__ == "__main__":
    main()
