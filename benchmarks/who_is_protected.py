"""Tables behind docs/evidence/who-is-protected.md, from the results of configs/who_is_protected.yaml.

    python benchmarks/who_is_protected.py
    python benchmarks/who_is_protected.py --keep adult=runs/adult/comparison.csv bank=runs/bank/comparison.csv
    python benchmarks/who_is_protected.py --keep-groups runs/missing

The second call puts the columns of new comparisons into benchmarks/results/who_is_protected/, a file per scale; the
third the groups of `group_exclusion` of a comparison with a folder per run (`runs: all`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from hybrid.comparison import load_plan

KEPT = Path(__file__).parent / "results" / "who_is_protected"
SCALES = {
    "adult": "Adult, eight quasi-identifiers and income",
    "missing": "Adult as in the first table, leaves of 200, other ways than suppression",
    "adult_all": "Adult, all columns but the weight",
    "bank": "Bank Marketing, four of 17 columns are quasi-identifiers",
    "diabetes130": "Diabetes-130, four of 48 columns are quasi-identifiers",
    "demo": "The demo, six of 15 columns are quasi-identifiers",
    "tabddpm": "Adult as in the first table, tabddpm of 400 steps, 64 trainings",
    "learned": "Adult as in the first table, k 5, transition learned beside others, 3,000 people, 32 trainings",
}
LARGE = 200
"""Training people of a group that is not small."""
EXPOSED, RANDOM = "synthetic.membership_trained", "synthetic.membership_trained_random"
HEAD = (
    "| strategy | pools | most exposed: AUC (95 %) | found at 1 % / 0.1 % false alarms | random: AUC (95 %) "
    "| found at 1 % | TSTR | discriminator | shapes |\n|---|---|---|---|---|---|---|---|---|"
)


def keep(scale: str, path: Path) -> None:
    """Store the columns of a comparison that the tables need, with the rows that are stored already."""
    found, kept = pd.read_csv(path), KEPT / f"{scale}.csv"
    wanted = ("printed.TPR", EXPOSED, "synthetic.tstr", "synthetic.discriminator", "synthetic.column_shapes", "cpu.syn")
    names = [name for name in found if name.startswith(wanted) and "_excess" not in name and "_total" not in name]
    found = found[["strategy", "seed", "status", "reason", *names]]
    before = [pd.read_csv(kept)] if kept.exists() else []
    whole = pd.concat([found, *before]).drop_duplicates(["strategy", "seed"])
    whole.sort_values("seed", kind="stable").to_csv(kept, index=False, float_format="%.5g")


def keep_groups(folder: Path) -> None:
    """Store shares of groups in the real and the synthetic table of every run."""
    runs = pd.read_csv(folder / "comparison.csv")
    rows = []
    for run in runs[runs["status"] == "ok"].to_dict("records"):
        metrics = json.loads((folder / f"{run['configuration']}-seed{run['seed']}" / "evaluation.json").read_text())[
            "metrics"
        ]
        (found,) = [one for one in metrics if (one["name"], one["stage"]) == ("group_exclusion", "synthetic")]
        about = {"strategy": run["strategy"], "seed": run["seed"]}
        names = ("column", "group", "people", "share", "share_there")
        rows += [about | {name: group[name] for name in names} for group in found["details"]["groups"]]
    pd.DataFrame(rows).to_csv(KEPT / "groups.csv", index=False, float_format="%.5g")


def shortfalls(order: list[str]) -> str:
    """Markdown of the groups that lose most of their share, over all pools together."""
    rows = pd.read_csv(KEPT / "groups.csv")
    sums = rows.groupby(["strategy", "column", "group"]).agg(
        people=("people", "mean"), share=("share", "sum"), there=("share_there", "sum"), pools=("seed", "nunique")
    )
    sums["lost"] = 1 - sums["there"] / sums["share"]
    sums = sums[sums["pools"] == rows["seed"].nunique()].reset_index()
    lines = [
        f"### Groups that lose most of their share, {rows['seed'].nunique()} pools together",
        "",
        f"| strategy | group: people, lost | second | of at least {LARGE} people |",
        "|---|---|---|---|",
    ]
    for name in sorted(set(sums["strategy"]), key=order.index):
        mine = sums[sums["strategy"] == name].sort_values("lost", ascending=False)
        chosen = [mine.iloc[0], mine.iloc[1], mine[mine["people"] >= LARGE].iloc[0]]
        cells = [f"{one['column']} {one['group']}: {one['people']:.0f}, {one['lost']:.0%}" for one in chosen]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def table(scale: str, order: list[str]) -> str:
    """Markdown of one scale: means over the pools, of bounds, too."""
    rows = pd.read_csv(KEPT / f"{scale}.csv")
    rows = rows[rows["status"] == "ok"]
    groups = rows.groupby("strategy", sort=False)
    mean, pools = groups.mean(numeric_only=True), groups.size()
    target = next(name for name in mean if name.startswith("synthetic.tstr.") and name.count("_") == 0)
    lines = [f"### {SCALES[scale]}", "", HEAD]
    for name in sorted(mean.index, key=lambda one: order.index(one) if one in order else len(order)):
        one = mean.loc[name]
        auc = [f"{one[key]:.3f} ({one[f'{key}_low']:.3f} to {one[f'{key}_high']:.3f})" for key in (EXPOSED, RANDOM)]
        found = [f"{one[f'printed.TPR at {rate} FPR.{EXPOSED}']:.1%}" for rate in ("0.01", "0.001")]
        cells = [name, str(pools[name]), auc[0], " / ".join(found), auc[1]]
        cells += [f"{one[f'printed.TPR at 0.01 FPR.{RANDOM}']:.1%}", f"{one[target]:.3f}"]
        cells += [f"{one['synthetic.discriminator']:.3f}", f"{one['synthetic.column_shapes']:.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    best = float(mean[f"{target}_reference"].mean())
    lines += ["", f"TSTR of the training records themselves: {best:.3f}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", nargs="+", default=[], metavar="SCALE=FILE")
    parser.add_argument("--keep-groups", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    for each in chosen.keep:
        scale, _, path = each.partition("=")
        keep(scale, Path(path))
    if chosen.keep_groups is not None:
        keep_groups(chosen.keep_groups)
    plan = load_plan(Path(__file__).parents[1] / "configs" / "who_is_protected.yaml")
    order = list(plan.factors["strategy"])
    missing = list(plan.scales["missing"].factors["strategy"])
    text = "\n\n".join(table(scale, missing if scale == "missing" else order) for scale in SCALES)
    print(f"{text}\n\n{shortfalls(missing)}")


if __name__ == "__main__":
    main()
