"""Linked tables that memory does not hold: some people are drawn, and their rows alone are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError, HybridError
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.table import csv_files, read_file
from tests.pipeline.tables.hospital import content, frames, write

PEOPLE = 60


def loaded(folder: Path, tables: dict[str, pd.DataFrame] | None = None, *, parquet: bool = False, **split: Any) -> Any:
    """A configuration that a few kilobytes must be enough for."""
    settings = content()
    settings["anonymize"] |= {"memory_limit": 1e-6}
    settings["split"] = {"control": 0.3, "rows": PEOPLE} | split
    path = write(folder, tables, settings)
    if parquet:
        for name in ("patients", "visits", "drugs"):
            (tables or frames())[name].to_parquet(folder / f"{name}.parquet")
            path.write_text(path.read_text().replace(f"{name}.csv", f"{name}.parquet"))
    return load_config(path)


@pytest.mark.parametrize("parquet", [False, True])
def test_the_people_are_read_with_all_of_their_rows_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parquet: bool
) -> None:
    monkeypatch.setattr(read_file, "_PART", 37)
    monkeypatch.setattr(csv_files, "_PART", 37)
    widest = []
    typed = read_file.typed_table

    def counted(where: str, raw: Any, *args: Any, **more: Any) -> Any:
        widest.append((raw.num_columns, raw.num_rows))
        return typed(where, raw, *args, **more)

    monkeypatch.setattr(read_file, "typed_table", counted)
    config, tables = loaded(tmp_path, parquet=parquet), frames()
    run = Pipeline(config, seed=4)
    found = run.sources.tables
    people = set(found["patients"].frame["patient"].astype(str))
    visits = tables["visits"][tables["visits"]["patient"].astype(str).isin(people)]
    drugs = tables["drugs"][tables["drugs"]["visit"].isin(visits["visit"])]
    assert len(people) == PEOPLE < len(tables["patients"])
    assert sorted(found["visits"].frame["visit"].astype(str)) == sorted(visits["visit"].astype(str))
    assert len(found["drugs"]) == len(drugs) and dict(run.rows_there) == {
        name: len(tables[name]) for name in ("patients", "visits", "drugs")
    }
    names = found["patients"].frame["patient"].astype(str).to_numpy()
    assert (names[run.sources.owners["visits"]] == found["visits"].frame["patient"].astype(str).to_numpy()).all()
    most = max(len(visits), len(drugs))
    assert all(rows <= most for columns, rows in widest if columns > 2), "of all rows only the keys are held"
    again = Pipeline(config, seed=4).sources.tables["visits"].frame
    pd.testing.assert_frame_equal(again, found["visits"].frame)
    others = set(Pipeline(config, seed=5).sources.tables["patients"].frame["patient"].astype(str))
    assert others != people


def test_a_run_on_some_people_ends_and_says_so(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    run = Pipeline(config, seed=4)
    assert len(run.released["patients"]) == len(run.person.train) == round(0.7 * PEOPLE)
    said = guarantee_sentence(run.anonymization, config.model_dump(mode="json"), Evaluation(()))
    assert "At most 60 people, with all of their rows, were drawn at random from the source" in said
    notes = [one.message for one in diagnose(config)]
    assert any(one.startswith("visits: ") and "60 people who were drawn at random" in one for one in notes)


def test_without_a_number_of_people_the_memory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tables: reading them takes about .* GiB of memory") as caught:
        _ = Pipeline(loaded(tmp_path, rows=None), seed=4).sources
    assert "split.rows" in caught.value.problems[0].hint and "of 100 people fit" in caught.value.problems[0].hint
    assert any(
        one.level == "error" and "tables: reading" in one.message for one in diagnose(loaded(tmp_path, rows=None))
    )
    accepted = loaded(tmp_path, rows=None)
    kept = {name: {"accept": ["more_than_memory"]} for name in ("patients", "visits", "drugs", "hospitals")}
    whole = accepted.with_values({f"tables.{name}.accept": one["accept"] for name, one in kept.items()})
    assert len(Pipeline(whole, seed=4).sources.tables["patients"]) == len(frames()["patients"])


def test_rows_of_people_who_are_not_read_are_checked(tmp_path: Path) -> None:
    tables = frames()
    first = set(Pipeline(loaded(tmp_path, tables), seed=4).sources.tables["patients"].frame["patient"].astype(str))
    row = int(np.flatnonzero(~tables["visits"]["patient"].astype(str).isin(first))[0])
    tables["visits"].loc[row, "patient"] = "nobody"
    with pytest.raises(HybridError, match=r"tables\.visits\.parent: 1 of"):
        _ = Pipeline(loaded(tmp_path, tables), seed=4).sources
