"""Several tables of one release: drawn from one model, judged together, numbered in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation import EvaluateOptions, NotComputable, evaluate
from hybrid.jobs.run import write_run
from hybrid.pipeline.config import load_config, parse_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.released_rows import said
from hybrid.publication.finished_run import read_run
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.surrogates import TABLE_NUMBER, with_table_numbers
from tests.helpers.pages import report_text
from tests.jobs.small_job import write_small_job

EVALUATE = {
    "targets": ["readmitted"],
    "metrics": ["identical_match", "interval_overlap", "conclusions_kept"],
    "baseline": False,
    "analyses": ["readmitted ~ age + sex", "age ~ 1"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pipeline]:
    folder = tmp_path_factory.mktemp("several")
    config = load_config(
        write_small_job(folder, evaluate=EVALUATE), {"synthesize.tables": 3, "synthesize.generator": "cart"}
    )
    pipeline = Pipeline(config)
    write_run(pipeline, folder / "run")
    return folder / "run", pipeline


def test_the_file_has_equally_many_rows_of_each_table(run: tuple[Path, Pipeline]) -> None:
    folder, pipeline = run
    frame = pd.read_csv(folder / "synthetic.csv")
    assert frame[TABLE_NUMBER].value_counts().to_dict() == dict.fromkeys((1, 2, 3), len(frame) // 3)
    assert list(frame)[:-1] == list(pipeline.table.frame)
    one = Pipeline(pipeline.config.with_values({"synthesize.tables": 1}))
    assert len(one.synthetic) * 3 == len(frame) == len(pipeline.person.generated.table)
    assert TABLE_NUMBER not in one.synthetic.frame


def test_all_tables_are_judged_and_said(run: tuple[Path, Pipeline]) -> None:
    folder, pipeline = run
    copies = pipeline.evaluation.find("identical_match", "synthetic")
    assert copies is not None and copies.outcome.n == len(pipeline.synthetic)  # type: ignore[union-attr]
    manifest = read_run(folder).manifest
    assert manifest["table"]["learned"] == 10 * round(len(pipeline.person.values) / 10)
    text = report_text(folder)
    assert "3 tables of one trained generator" in said(pipeline.person)
    assert f"The generator learned from about {manifest['table']['learned']:,} records." in text
    assert "What an analyst may conclude" in text and "readmitted ~ age + sex" in text
    assert "coefficients lead to the same conclusion as those from real people" in text


def test_a_training_on_others_draws_as_many_tables(run: tuple[Path, Pipeline]) -> None:
    pipeline = run[1].person
    some = pipeline.train.take(np.arange(150))
    assert len(pipeline.with_training(some, 5).generated.table) == 3 * 150
    assert len(pipeline.with_training(some, 5, drawn=2.0).generated.table) == 300


def test_more_tables_copy_more_people_and_that_is_measured() -> None:
    """A generator that repeats a tenth of the people in each table: ten tables hold two thirds of them."""
    rng = np.random.default_rng(2)
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.DECIMAL) for name in "ab"))

    def people(values: np.ndarray) -> Table:
        return Table(pd.DataFrame(values, columns=["a", "b"]), schema)

    train, control = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    tables = [np.concatenate([rng.permutation(train)[:30], rng.normal(size=(270, 2))]) for _ in range(10)]
    options, found = EvaluateOptions(metrics=("identical_match", "persons_copied")), {}
    for m in (1, 10):
        stages: Any = {"synthetic": people(np.concatenate(tables[:m]))}
        measured = evaluate(people(train), people(control), stages, options, np.random.default_rng(1))
        found[m] = {one.name: one.outcome for one in measured.metrics}
    assert found[1]["identical_match"].value == found[10]["identical_match"].value == 0.1  # type: ignore[union-attr]
    assert isinstance(found[1]["persons_copied"], NotComputable)
    assert found[10]["persons_copied"].value == pytest.approx(1 - 0.9**10, abs=0.06)  # type: ignore[union-attr]


def test_persons_stay_in_one_table() -> None:
    schema = Schema((Column("age", Role.INSENSITIVE, Kind.INTEGER),))
    persons = np.repeat(np.arange(6), [1, 3, 2, 2, 1, 4])
    found = with_table_numbers(Table(pd.DataFrame({"age": pd.array(range(13), dtype="Int64")}), schema, persons), 3)
    assert found.frame[TABLE_NUMBER].tolist() == [1] * 4 + [2] * 4 + [3] * 5


def test_what_does_not_go_together_is_refused_at_once(tmp_path: Path) -> None:
    columns = {"w": {"role": "weight", "kind": "decimal"}}
    content = {"data": {"path": "a.csv", "columns": columns}, "synthesize": {"tables": 2, "filter": {}}}
    with pytest.raises(ConfigError) as caught:
        parse_config(content)
    assert sum("synthesize.tables" in problem.message for problem in caught.value.problems) == 2
    with pytest.raises(ConfigError, match="tables: set, but generator is none"):
        parse_config({"data": {"path": "a.csv"}, "synthesize": {"generator": "none", "tables": 2}})
    frame = pd.DataFrame({TABLE_NUMBER: [1, 2] * 20, "age": range(40)})
    config = parse_config({"data": {"path": "a.csv", "unlisted": "insensitive"}, "synthesize": {"tables": 2}})
    with pytest.raises(ConfigError, match="numbers its tables in a column synthetic_table"):
        Pipeline(config.with_frame(frame)).check()
