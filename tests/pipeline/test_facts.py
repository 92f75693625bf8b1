"""Facts about the tables of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.pipeline.config import load_config
from hybrid.pipeline.facts import joint_facts, joint_protection
from hybrid.pipeline.pipeline import Pipeline
from tests.jobs.small_job import write_small_job
from tests.pipeline.tables.hospital import write


@pytest.mark.parametrize("linked", [False, True])
def test_every_column_that_is_not_generalized_is_named_as_protected(tmp_path: Path, linked: bool) -> None:
    """The first page once said of replaced columns that their real values can come out."""
    run = Pipeline(load_config(write(tmp_path) if linked else write_small_job(tmp_path)))
    found, facts = joint_protection(run), joint_facts(run)
    assert found is not None and found["min_count"] == 5
    assert facts.as_they_are and set(facts.as_they_are) <= {column["column"] for column in found["columns"]}
    assert {frozenset(column) for column in found["columns"]} == {frozenset(["column", "method"])}


def test_a_run_without_protection_has_none(tmp_path: Path) -> None:
    assert joint_protection(Pipeline(load_config(write_small_job(tmp_path, protect="off")))) is None
