"""Tables A.1 to A.4 of the thesis beside ours: scales `a1-a3`, `a2-small` and `a4` of configs/thesis_ch5.yaml.

    python benchmarks/thesis_tables.py

The thesis' numbers are in tests/data/thesis_ch5.yaml, ours in benchmarks/results/thesis_ch5/, where each scale has the
comparison.csv of `hybrid compare`. Its eq. 5.3 is the change against the generator alone in per cent, R = (R_pipeline -
R_SDG) / R_SDG; as in its tables, positive is better here.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import yaml

KEPT = Path(__file__).parent / "results" / "thesis_ch5"
PRINTED = Path(__file__).parents[1] / "tests" / "data" / "thesis_ch5.yaml"
COLUMNS = {
    "singling_out": ("singling out", "singling_out"),
    "inference": ("inference", "inference.occupation"),
    "discriminator": ("ML efficacy (discriminator)", "discriminator"),
    "total_variation": ("total variation", "total_variation"),
    "wasserstein": ("Wasserstein", "wasserstein"),
}
"""Per metric of the thesis: what it is called here, and the column of ours. All of them are better when lower."""


def tables() -> str:
    """Markdown: every printed number beside ours."""
    head = "| table | metric | thesis | ours | seed by seed | alone | pipeline |"
    lines = [head, "|---" * head.count(" | ") + "|---|"]
    missing = []
    for name, table in yaml.safe_load(PRINTED.read_text())["tables"].items():
        rows, small = ours(table["scale"], table["k"]), False
        if rows is None:
            rows, small = ours(f"{table['scale']}-small", table["k"]), True
        if rows is None:
            missing.append(name)
            continue
        for metric, printed in table["change"].items():
            title, column = COLUMNS[metric]
            pipeline, alone = rows[f"synthetic.{column}"], rows[f"baseline.{column}"]
            seeds = ", ".join(f"{change(p, a):+.0f}" for p, a in zip(pipeline, alone, strict=True))
            whole = change(pipeline.mean(), alone.mean())
            cells = [
                f"{name}, small" if small else name,
                title,
                f"{printed:+.1f}",
                f"{whole:+.0f}",
                seeds,
                f"{alone.mean():.4f}",
                f"{pipeline.mean():.4f}",
            ]
            lines.append(f"| {' | '.join(cells)} |".replace("-", "−").replace("|−−−", "|---"))
    if missing:
        lines += ["", f"Not run: {', '.join(missing)}."]
    return "\n".join(lines)


def ours(scale: str, k: int) -> pd.DataFrame | None:
    """Runs of one printed configuration that ended, a row per seed; None if there are none."""
    path = KEPT / scale / "comparison.csv"
    if not path.exists():
        return None
    rows = pd.read_csv(path)
    return rows[(rows["status"] == "ok") & (rows["anonymize.k"] == k)].sort_values("seed")


def change(pipeline: float, alone: float) -> float:
    """Change against the generator alone in per cent, positive being better (eq. 5.3)."""
    return 100 * (alone - pipeline) / alone


if __name__ == "__main__":
    print(tables())
