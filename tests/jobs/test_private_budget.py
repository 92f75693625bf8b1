"""Every draw with privacy.mode dp pays into the ledger before it reads records, whatever becomes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from hybrid.base.errors import GateRefused
from hybrid.cli import app
from hybrid.comparison import compare
from hybrid.comparison.plan import ComparePlan
from hybrid.jobs.nightly import Night
from hybrid.jobs.places import Places
from hybrid.jobs.release import release
from hybrid.jobs.start import configuration, run
from hybrid.pipeline import table_run
from hybrid.pipeline.assessment import Assessment
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy.accounting import rho_for
from hybrid.publication.ledger import Ledger
from hybrid.publication.privacy_account import PaidDraws, SpentBudget
from tests.jobs.private_clinic import content, people, write_clinic

WORK = Path("work")
TWICE = {"yearly_budget": {"epsilon": 3.2, "delta": 1e-5}}
"""Two draws of epsilon 2 are within it, three are not."""
CHEAP = {"metrics": ["column_shapes"]}


@pytest.fixture(scope="module")
def drawn() -> Generated:
    found = TableRun(configuration({**content(), "policy": None}, people(300, 1))).drawn
    assert found.budget is not None
    return found


@pytest.fixture
def clinic(tmp_path: Path, drawn: Generated, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clinic in the working directory, whose draws take no time."""
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path, people(300, 1), TWICE, evaluate=CHEAP)
    monkeypatch.setattr(table_run, "drawn_privately", lambda *_: drawn)
    return tmp_path


def spent() -> SpentBudget:
    (found,) = PaidDraws(WORK).spent(datetime.now(UTC))
    return found


def test_each_draw_pays_and_the_next_is_refused_before_it_reads(clinic: Path) -> None:
    run("config.yaml", out="one")
    run("config.yaml")
    assert (spent().draws, spent().unit) == (2, "person: id")
    assert spent().rho == pytest.approx(2 * rho_for(2.0, 0.9e-5))
    assert spent().epsilon < 3.2
    (clinic / "people.csv").unlink()
    for attempt in (lambda: run("config.yaml", out="two"), lambda: run("config.yaml"), lambda: release("config.yaml")):
        with pytest.raises(GateRefused, match=r"yearly privacy budget of people clinic is epsilon = 3\.2"):
            attempt()
    assert spent().draws == 2
    assert not Path("two").exists() and not Path("runs").exists()


def test_refused_failed_and_interrupted_draws_have_paid(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_clinic(clinic, people(300, 1), {"rules": [blocking()]}, evaluate=CHEAP)
    with pytest.raises(GateRefused, match="block"):
        release("config.yaml")
    assert spent().draws == 1

    def broken(*_: Any) -> NoReturn:
        assert spent().draws == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(table_run, "drawn_privately", broken)
    with pytest.raises(KeyboardInterrupt):
        run("config.yaml", out="one")
    assert spent().draws == 2


def blocking() -> dict[str, Any]:
    about = {"name": "shapes", "metric": "column_shapes", "direction": "higher", "reason": "Never."}
    return about | {"review": 0.9999, "block": 0.9998}


def test_run_that_continues_from_its_store_pays_once(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    write_clinic(clinic, people(300, 1), {"yearly_budget": {"epsilon": 2.0, "delta": 1e-5}}, evaluate=CHEAP)
    with monkeypatch.context() as patch:
        patch.setattr(Assessment, "_evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run("config.yaml", out="one", store="kept")
    run("config.yaml", out="one", store="kept")
    assert spent().draws == 1
    run("config.yaml", out="two", store="kept", work="elsewhere")
    assert len(PaidDraws(Path("elsewhere")).payments("people clinic")) == 1
    with pytest.raises(GateRefused):
        run("config.yaml", out="three")


def test_other_name_file_or_unit_is_no_way_around(clinic: Path) -> None:
    for name in ("one", "two"):
        run("config.yaml", out=name)
    renamed = {"name": "another", "evaluate": CHEAP}
    write_clinic(clinic, people(300, 1), TWICE, **renamed)
    with pytest.raises(GateRefused, match=r"budget of file .*people\.csv"):
        run("config.yaml")
    (clinic / "people.csv").rename(clinic / "copy.csv")
    moved = content()["data"] | {"path": "copy.csv"}
    write_clinic(clinic, people(2, 1), TWICE, data=moved, **renamed)
    with pytest.raises(GateRefused, match="budget of content"):
        run("config.yaml")
    other = content()["privacy"] | {"people": "clinic"}
    write_clinic(clinic / "elsewhere", people(100, 3), TWICE, privacy=other, **renamed)
    with pytest.raises(GateRefused, match="budget of people clinic"):
        run("elsewhere/config.yaml")


def test_night_without_budget_stops_and_status_shows_what_is_spent(clinic: Path) -> None:
    places = Places(WORK, Path("runs"), Path("releases"))

    def night() -> Any:
        return Night(Pipeline(configuration("config.yaml"), None, places.store, ledger_dir=WORK), places).run(
            accept_drift=True
        )

    for seed in (1, 2):
        people(300, seed).to_csv("people.csv", index=False)
        assert night().outcome == "released"
    assert night().outcome == "kept"
    people(300, 3).to_csv("people.csv", index=False)
    with pytest.raises(GateRefused, match="nothing was drawn"):
        night()
    assert Ledger(WORK).events()[-1].outcome == "stopped"
    shown = CliRunner().invoke(app, ["status"])
    text = " ".join(shown.output.split())
    assert "privacy budget of clinic (person: id): 2 draws in 365 days spent rho" in text


def test_comparison_pays_for_each_draw_and_fails_what_the_budget_does_not_allow(clinic: Path) -> None:
    plan = ComparePlan.model_validate(
        {
            "base": "config.yaml",
            "factors": {"evaluate.metrics": [["column_shapes"], ["tstr"]]},
            "seeds": [1, 2, 3],
            "runs": "none",
        }
    )
    table = compare(plan, clinic, clinic / "compared", work=WORK)
    assert spent().draws == 2
    assert table.groupby("seed")["status"].agg(set).tolist() == [{"ok"}, {"ok"}, {"failed"}]
    assert table["reason"].str.contains("yearly privacy budget of people clinic").sum() == 2
    compare(plan, clinic, clinic / "compared", work=WORK)
    assert spent().draws == 2
