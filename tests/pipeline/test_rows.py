"""How many rows come out: as many as training people, as people sampled, or as a number says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from tests.helpers.whole_demo import write_whole_demo


def run(folder: Path, rows: Any, beta: float, condition: str | None = None) -> TableRun:
    write_whole_demo(folder, 800)
    values = {"synthesize.rows": rows, "sample.method": "beta", "sample.beta": beta, "synthesize.where": condition}
    return TableRun(load_config(folder / "config.yaml").with_values(values), seed=1)


@pytest.mark.parametrize(
    ("rows", "beta", "expected"), [("same", 0.4, 560), ("sampled", 0.4, 220), ("sampled", 1.0, 560), (123, 0.4, 123)]
)
def test_rows_are_those_of_training_people_or_of_the_sample_in_tens(
    tmp_path: Path, rows: Any, beta: float, expected: int
) -> None:
    made = run(tmp_path, rows, beta)
    assert len(made.train) == 560 and len(made.synthetic) == expected


def test_a_condition_is_met_by_a_share_of_those_who_meet_it(tmp_path: Path) -> None:
    made = run(tmp_path, "sampled", 0.4, "age >= 60")
    meeting = int((made.train.frame["age"] >= 60).sum())
    assert (made.synthetic.frame["age"] >= 60).all()
    assert len(made.synthetic) == pytest.approx(0.4 * meeting, abs=10)


def test_an_attacker_who_trains_again_draws_as_many_rows_for_fewer_people(tmp_path: Path) -> None:
    made = run(tmp_path, "sampled", 0.4)
    again = made.with_training(made.train.take(np.arange(300)), seed=2)
    assert len(again.generated.table) == 120
