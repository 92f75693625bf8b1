"""Planted values of single people: none comes out of any setting, through the command line and the pipeline."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hybrid.cli import app
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.table_run import TableRun
from tests.helpers.pages import report_text

REMARK, DIAGNOSIS, INCOME, WARD = "Erika Mustermann 0171 2345678", "Kuru", 77_000_000, "Ward of one"


def visits(n: int = 300) -> pd.DataFrame:
    """Visits, with a remark, a diagnosis, a ward and an income that one training person each has."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "ward": rng.choice(["north", "south", "east"], n),
            "diagnosis": rng.choice(["flu", "cold", "burn", "cut"], n),
            "remark": rng.choice(["none", "came back", "by ambulance"], n),
            "income": rng.lognormal(10.3, 0.4, n).round().astype(int),
        }
    )
    for at, (name, value) in enumerate(
        [("remark", REMARK), ("diagnosis", DIAGNOSIS), ("income", INCOME), ("ward", WARD)]
    ):
        frame.loc[at * 10, name] = value
    return frame


def config(folder: Path, **sections: Any) -> dict[str, Any]:
    """Everybody is a training record, so that all canaries are; age and ward are generalized."""
    (folder / "age.yaml").write_text("type: intervals\nwidths: [10, 20]\n")
    (folder / "ward.csv").write_text(f"north;side;*\nsouth;side;*\neast;side;*\n{WARD};side;*\n", encoding="utf-8")
    columns = {
        "age": {"role": "quasi_identifier", "kind": "integer", "hierarchy": str(folder / "age.yaml")},
        "ward": {"role": "quasi_identifier", "kind": "categorical", "hierarchy": str(folder / "ward.csv")},
        "diagnosis": {"role": "sensitive", "kind": "categorical"},
        "remark": {"role": "insensitive", "kind": "categorical"},
        "income": {"role": "sensitive", "kind": "integer"},
    }
    return {
        "seed": 3,
        "data": {"path": "visits.csv", "columns": columns},
        "split": {"control": 0},
        "evaluate": {"baseline": False, "metrics": ["total_variation"]},
        **sections,
    }


def came_out(table: pd.DataFrame) -> list[str]:
    cells = set(table.astype(object).to_numpy().ravel())
    beyond = ["income"] if table["income"].max() > 1_000_000 else []
    return beyond + [name for name in (REMARK, DIAGNOSIS, WARD) if name in cells]


METHODS = ["uniform", "tree", "conditional", "noisy", "marginal"]


@pytest.mark.parametrize("generator", ["none", "cart"])
@pytest.mark.parametrize(
    "walk",
    [None, *((method, order) for method in METHODS for order in ("pre", "post"))],
    ids=lambda walk: "alone" if walk is None else "-".join(walk),
)
def test_no_planted_value_comes_out(tmp_path: Path, walk: tuple[str, str] | None, generator: str) -> None:
    sections: dict[str, Any] = {"synthesize": {"generator": generator}}
    if generator == "cart":
        sections["synthesize"]["options"] = {"min_leaf": 1, "smoothing": 0}
    if walk is not None:
        sections |= {"anonymize": {"k": 2}, "transition": {"method": walk[0], "order": walk[1]}}
    loaded = parse_config(config(tmp_path, **sections)).with_frame(visits())
    pipeline = TableRun(loaded)
    assert came_out(pipeline.synthetic.frame) == []
    assert set(pipeline.protected.table.frame.columns) == set(visits().columns)  # type: ignore[union-attr]


def test_without_protection_they_come_out(tmp_path: Path) -> None:
    """The check above can fail."""
    off = parse_config(config(tmp_path, protect="off", synthesize={"generator": "none"}))
    pipeline = TableRun(off.with_frame(visits()))
    assert came_out(pipeline.synthetic.frame) == ["income", REMARK, DIAGNOSIS, WARD]
    assert pipeline.protected is None


def test_through_the_command_line(tmp_path: Path) -> None:
    """run writes what was protected, and neither report nor any other file holds a planted value."""
    visits().to_csv(tmp_path / "visits.csv", index=False, quoting=csv.QUOTE_MINIMAL)
    sections = {"anonymize": {"k": 3}, "synthesize": {"generator": "cart", "options": {"min_leaf": 1}}}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config(tmp_path, **sections)), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "run")])
    assert (tmp_path / "run" / "synthetic.csv").is_file(), done.output
    found = json.loads((tmp_path / "run" / "protection.json").read_text())
    assert found["min_count"] == 5
    said = {column["column"]: column for column in found["columns"]}
    assert said["remark"]["values"] == 4 and said["remark"]["rare"] is None
    report = report_text(tmp_path / "run")
    assert "Protection of values" in report and "a few of 4 values were rare" in report
    for file in (tmp_path / "run").iterdir():
        content = file.read_bytes()
        assert not any(value.encode() in content for value in (REMARK, DIAGNOSIS, WARD)), file.name
    assert "Before anything was learned" in report


def test_check_asks_for_a_decision_about_texts(tmp_path: Path) -> None:
    frame = visits()
    frame["remark"] = [f"note {at}" for at in range(len(frame))]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config(tmp_path)), encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(path)])
    assert done.exit_code == 2 and "protect.columns.remark" in " ".join(done.output.split())
    path.write_text(yaml.safe_dump(config(tmp_path, protect={"columns": {"remark": "missing"}})), encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(path)])
    assert done.exit_code == 0, done.output
