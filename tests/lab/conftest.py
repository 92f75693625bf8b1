"""A league of simulated metrics, its page, and the small plan of real trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.lab.league import League, league
from hybrid.lab.measurements import correlations
from hybrid.lab.page import render_lab
from hybrid.lab.plan import LabPlan
from hybrid.lab.trials import LabTrials
from tests.lab.lab_jobs import write_lab
from tests.lab.simulated import METRICS, simulated

NAMED = {
    "identical_match": METRICS["sharp"],
    "dcr_share": METRICS["alarmist"],
    "gtcap.illness": METRICS["constant"],
    "linkability": METRICS["late"],
}
PLAN = LabPlan.model_validate(
    {
        "data": {"people": {"base": "config.yaml", "rows": 3000}},
        "risk": {"leaky": {}, "overfit": {}, "size": {}},
        "seeds": [1, 2, 3, 4, 5],
        "null_seeds": 40,
    }
)


@pytest.fixture(scope="session")
def tried() -> tuple[LabTrials, League]:
    trials, rows = simulated(NAMED)
    return trials, league(trials, rows)


@pytest.fixture(scope="session")
def page(tried: tuple[LabTrials, League]) -> str:
    related = correlations(simulated(NAMED)[1])
    return render_lab(PLAN, *tried, {"too few <records>": 2}, related)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    write_lab(folder)
    return folder
