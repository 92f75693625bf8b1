"""A desk with one finished run that people must decide on."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

import hybrid
from tests.cli.conftest import POLICY
from tests.desk.open_desk import OpenDesk, Visitor, opened, opened_copy
from tests.helpers.whole_demo import write_whole_demo
from tests.publication.conftest import make_run

__all__ = ["make_run"]

HOSTILE = '"><script>alert(1)</script>'
"""Name of a column that breaks out of a page which does not escape it."""


@pytest.fixture(scope="package")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("demo")
    write_whole_demo(folder, rows=300, seed=3, several=False)
    frame = pd.read_csv(folder / "admissions.csv").rename(columns={"ward": HOSTILE})
    return frame[["patient_id", "age", "sex", "diagnosis", HOSTILE, "readmitted"]]


@pytest.fixture(scope="package")
def folder(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its configuration, and a run whose verdict is review for two people."""
    folder = tmp_path_factory.mktemp("desk")
    table.to_csv(folder / "people.csv", index=False)
    policy = copy.deepcopy(POLICY) | {"approvals": 2, "separate_duties": False}
    policy["rules"][0]["review"] = -1.0  # type: ignore[index]
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    draft = hybrid.guess(folder / "people.csv")
    draft["seed"] = 1
    draft["protect"] = {"columns": {"diagnosis": "sample"}}
    draft["evaluate.metrics"] = ["identical_match", "k_reached"]
    draft["anonymize.recoding"] = "global"
    draft["anonymize.suppression_limit"] = 0.05
    draft["policy"] = "policy.yaml"
    config = draft.write(folder / "config.yaml")[-1]
    for name in draft.undecided:
        if draft.columns[name].role == "undecided":
            draft.columns[name].role = "insensitive"
    draft.sign("A. Meier", datetime.date(2026, 11, 22))
    draft.write(folder / "signed.yaml", force=True)
    hybrid.run(folder / "signed.yaml", out=folder / "runs" / "first", work=folder / "work")
    assert config.is_file()
    return folder


@pytest.fixture(scope="module")
def open_desk(folder: Path) -> Iterator[OpenDesk]:
    with opened(folder / "config.yaml", folder) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(open_desk: OpenDesk) -> Visitor:
    """The person who has opened the desk."""
    found = open_desk.visitor()
    assert found.enter(open_desk.address).status == 200
    return found


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Iterator[tuple[Visitor, OpenDesk, Path]]:
    """A desk on a copy of the folder, and the person who has opened it."""
    with opened_copy(folder, tmp_path) as found:
        yield found
