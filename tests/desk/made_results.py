"""Folders of a comparison and of a laboratory, with hostile names."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from hybrid.analysis import answer, results
from hybrid.base.ownership import seal
from hybrid.evaluation import REGISTRY
from hybrid.lab.files import league_json
from hybrid.lab.league import league
from hybrid.report import comparison_json, describe, render_comparison
from tests.lab.conftest import PLAN
from tests.lab.simulated import METRICS, simulated

HOSTILE = '"><script>alert(1)<'
SCRIPT = "<script>document.title = 1</script>"


def a_comparison(folder: Path, name: str) -> None:
    """Three configurations with two seeds; one setting is hostile."""
    rows = [
        {"configuration": one, "anonymize.k": k, "seed": seed, "status": "ok", "reason": "", "verdict": "review"}
        | {"synthetic.identical_match": copies + seed / 1e3, "synthetic.identical_match_reference": 0.0}
        | {"synthetic.tstr.income": utility + seed / 1e3}
        for one, k, copies, utility in (("c1", 5, 0.01, 0.8), ("c2", HOSTILE, 0.05, 0.88), ("c3", 20, 0.02, 0.79))
        for seed in (1, 2)
    ]
    table, texts = pd.DataFrame(rows), describe(REGISTRY.values())
    answers = answer(results(table, ["anonymize.k"]))
    (folder / name).mkdir(parents=True)
    table.to_csv(folder / name / "comparison.csv", index=False)
    (folder / name / "comparison.json").write_text(json.dumps(comparison_json(HOSTILE, answers, texts)))
    (folder / name / "comparison.html").write_text(render_comparison(HOSTILE, answers, texts) + SCRIPT)
    (folder / name / "rows.jsonl").write_text("")
    seal(folder / name, name, "comparison")


def a_laboratory(folder: Path, name: str) -> None:
    trials, rows = simulated({"identical_match": METRICS["sharp"], "dcr_share": METRICS["alarmist"]})
    (folder / name).mkdir(parents=True)
    (folder / name / "league.json").write_text(json.dumps(league_json(PLAN, league(trials, rows))))
    (folder / name / "rows.jsonl").write_text("")
    (folder / name / "lab.html").write_text(f"<h1>lab</h1>{SCRIPT}")
    seal(folder / name, name, "laboratory")
