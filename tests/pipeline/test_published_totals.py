"""Weights raked to published totals: what comes out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError, VerificationError
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.published_totals import PublishedTotals, published_totals
from hybrid.pipeline.stages import stage_records
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.table import Column, Kind, Role, Schema, Table

COLUMNS = {"sex": {"kind": "categorical"}, "work": {"kind": "categorical"}, "w": {"role": "weight", "kind": "decimal"}}


def _config(folder: Path, totals: dict[str, str], **margins: Any) -> RunConfig:
    for name, text in totals.items():
        (folder / f"{name}.csv").write_text(text)
    content = {
        "data": {"path": "survey.csv", "columns": COLUMNS},
        "margins": {"totals": {name: f"{name}.csv" for name in totals}, **margins},
        "synthesize": {"generator": "cart"},
        "seed": 4,
    }
    return configured(content, {}, folder / "config.yaml")


def _survey(folder: Path, n: int = 600) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "work": rng.choice(["clerk", "nurse", "smith"], n)})
    frame.assign(w=rng.integers(40, 90, n) / 2).to_csv(folder / "survey.csv", index=False)


SEX, WORK = "sex,total\nf,52000\nm,48000\n", "work,people\nclerk,20000\nnurse,50000\nsmith,30000\n"


def test_weighted_totals_of_the_released_table_are_the_published_ones(tmp_path: Path) -> None:
    _survey(tmp_path)
    pipeline = TableRun(_config(tmp_path, {"sex": SEX, "work": WORK}))
    frame = pipeline.synthetic.frame
    sums = frame.groupby("work", observed=True)["w"].sum()
    assert sums.to_dict() == pytest.approx({"clerk": 20000, "nurse": 50000, "smith": 30000}, rel=0.002)
    assert frame.groupby("sex", observed=True)["w"].sum()["f"] == pytest.approx(52000, rel=0.002)
    totals = published_totals(pipeline.config)
    assert totals is not None and totals.deviation(pipeline.synthetic)[1] < 0.002
    said = guarantee_sentence(None, pipeline.config.model_dump(mode="json"), Evaluation(()))
    assert "published totals of sex, work" in said and "more than 1 %" in said


def test_the_files_of_totals_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _survey(tmp_path)
    pipeline = TableRun(_config(tmp_path, {"sex": SEX}))
    keys = pipeline.keys
    (tmp_path / "sex.csv").write_text("sex,total\nf,1000\nm,99000\n")
    assert pipeline.synthetic.frame.groupby("sex", observed=True)["w"].sum()["f"] == pytest.approx(52000, rel=0.002)
    assert pipeline.keys == keys and any(
        "totals of sex, from which they differ by" in stage.note for stage in stage_records(pipeline)
    )


def test_other_totals_are_another_table_and_those_that_no_row_can_meet_an_error(tmp_path: Path) -> None:
    _survey(tmp_path, 200)
    first = TableRun(_config(tmp_path, {"sex": SEX})).keys["synthesize"]
    second = TableRun(_config(tmp_path, {"sex": "sex,total\nf,60000\nm,40000\n"})).keys["synthesize"]
    assert first != second
    absent = TableRun(_config(tmp_path, {"sex": "sex,total\nf,52000\nm,48000\nx,9000\n"}))
    with pytest.raises(VerificationError, match="a weighted total of sex differs from the published one by 1e"):
        _ = absent.synthetic


def test_a_deviation_by_hand() -> None:
    """Weights 30 and 70 of totals 40 and 60: 10/40 = .25 is the largest."""
    schema = Schema((Column("a", Role.INSENSITIVE, Kind.CATEGORICAL), Column("w", Role.WEIGHT, Kind.DECIMAL)))
    table = Table(pd.DataFrame({"a": pd.Categorical(["x", "y", "y"]), "w": [30.0, 30.0, 40.0]}), schema)
    totals = PublishedTotals({"a": {"x": 40.0, "y": 60.0}})
    assert totals.deviation(table) == ("a", pytest.approx(0.25)) and totals.total == 100
    with pytest.raises(VerificationError, match="25 %, more than 1 %"):
        totals.verify(table, 0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sex,total\nf,52000\nm,7\n", "1 totals are below 10"),
        ("sex,total\nf,52000\nm\n", "lines 3 are no category"),
        ("sex,total\nf,52000\nf,1000\n", "lines 3 are no category"),
        ("sex,total\nf,many\nm,nan\n", "lines 2, 3 are no category"),
        ("sex,total\n", "lines all are no category"),
        ("sex,total\nf,20000\nm,30000\n", "the totals of sex sum to 50,000, those of work to 100,000"),
    ],
)
def test_totals_that_cannot_be_used_are_refused_without_a_category(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        published_totals(_config(tmp_path, {"sex": text, "work": WORK}))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = _config(tmp_path, {"sex": SEX})
    (tmp_path / "sex.csv").unlink()
    with pytest.raises(ConfigError, match=r"margins\.totals\.sex: .*sex\.csv: the file cannot be read"):
        published_totals(config)


def test_margins_need_weights_and_the_whole_population(tmp_path: Path) -> None:
    plain = {
        "data": {"path": "s.csv", "columns": {"a": {"kind": "categorical"}}},
        "margins": {"totals": {"a": "a.csv"}},
    }
    with pytest.raises(ConfigError, match="no column has the role weight"):
        configured(plain, {}, tmp_path / "c.yaml")
    weighted = {"data": {"path": "s.csv", "columns": COLUMNS}, "margins": {"totals": {"w": "a.csv"}}}
    with pytest.raises(ConfigError, match="'w' is no column of categories"):
        configured(weighted, {}, tmp_path / "c.yaml")
    some = weighted | {"margins": {"totals": {"sex": "a.csv"}}, "synthesize": {"where": "sex = 'f'"}}
    with pytest.raises(ConfigError, match="not drawn for the whole population"):
        configured(some, {}, tmp_path / "c.yaml")
