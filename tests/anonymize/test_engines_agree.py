"""Small tables of awkward names and values are labelled by DuckDB as in memory, or refused in the same words."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.base.errors import HybridError
from hybrid.jobs.anonymize_file import write_from_files
from hybrid.jobs.run import write_anonymized
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.anonymize.people_job import labels_of, result_of

NAMES = ["order", "Größe", 'a"b', "x'y", "two words", "100%", "semi;colon", "SELECT", "tab.le", "[x]", "?", "ß", "-1"]
MASK, PARTS = "type: mask\n", "type: intervals\nwidths: [2, 10]\n"
KINDS: dict[str, tuple[pa.DataType, list[Any], str]] = {
    "text": (pa.string(), ["ab", "aB", "a", "ä", "", " ", "?", "NaN", "null", "a'b", None], MASK),
    "one level": (pa.string(), ["x", "y", None], "x\ny\n"),
    "not monotone": (pa.string(), ["x", "y", "z", None], "x;p;a;*\ny;p;a;*\nz;q;a;*\n"),
    "whole": (pa.int32(), [-3, 0, 1, 7, 40, None], PARTS),
    "decimal": (pa.float64(), [-0.0, 0.0, 0.5, 1e-7, 33.25, float("nan"), None], PARTS),
    "boolean": (pa.bool_(), [True, False, None], "true;*\nfalse;*\n"),
    "day": (
        pa.date32(),
        [date(1970, 1, 1), date(2000, 2, 29), date(2001, 3, 1), None],
        "type: dates\nlevels: [year]\n",
    ),
    "moment": (
        pa.timestamp("us"),
        [datetime(1999, 12, 31, 23, 59, 59), datetime(2000, 1, 1), None],
        "type: dates\nlevels: [day, year]\n",
    ),
}
SECRET = ["flu", "Flu", "", "o'k", "?", None]
MODELS: list[dict[str, Any]] = [
    {"model": "l_diversity", "kind": "distinct", "l": 2},
    {"model": "l_diversity", "kind": "entropy", "l": 1.3},
    {"model": "l_diversity", "kind": "recursive", "l": 2, "c": 3},
    {"model": "t_closeness", "t": 0.5, "distance": "equal"},
    {"model": "alpha_k", "alpha": 0.8},
    {"model": "beta_likeness", "beta": 2},
]
LOSSES = [{"name": "loss"}, {"name": "precision"}, {"name": "entropy"}, {"name": "aecs"}, {"name": "discernibility"}]


@dataclass(frozen=True)
class Job:
    """A table and what is asked of it."""

    table: pa.Table
    content: dict[str, Any]
    hierarchies: dict[str, str]


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    n = draw(st.integers(1, 14))
    names = draw(st.permutations(NAMES))
    columns: dict[str, Any] = {}
    arrays, files = {}, {}
    for at, kind in enumerate(draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))):
        arrow, values, hierarchy = KINDS[kind]
        cells = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        arrays[names[at]] = pa.array(cells, arrow)
        files[f"h{at}.{'yaml' if hierarchy.startswith('type') else 'csv'}"] = hierarchy
        columns[names[at]] = {"role": "quasi_identifier", "hierarchy": list(files)[-1]}
    arrays[names[-1]] = pa.array(draw(st.lists(st.sampled_from(SECRET), min_size=n, max_size=n)), pa.string())
    columns[names[-1]] = {"role": "sensitive"}
    model = draw(st.sampled_from([None, *MODELS]))
    options: dict[str, Any] = {
        "k": draw(st.sampled_from([1, 2, 3, 5, n, n + 1])),
        "suppression_limit": draw(st.sampled_from([0, 0.1, 0.34, 1])),
        "recoding": draw(st.sampled_from(["global", "global", "local"])),
        "models": [] if model is None else [{**model, "attribute": names[-1]}],
    }
    if options["recoding"] == "global":
        options["loss"] = draw(st.sampled_from(LOSSES))
    elif draw(st.booleans()):
        options["loss"] = {"weights": {names[0]: 2.5}}
    missing = draw(st.sampled_from([[""], ["", "?"], ["NaN"]]))
    content = {
        "seed": 1,
        "data": {"path": "people.parquet", "missing": missing, "columns": columns},
        "split": {"control": 0},
        "protect": "off",
        "anonymize": options,
    }
    return Job(pa.table(arrays), content, files)


def outcome(write: Callable[[], object], folder: Path) -> tuple[Any, ...]:
    """Aggregates and the file of labels, or the problems."""
    try:
        write()
    except HybridError as error:
        return (type(error), sorted((problem.message, problem.hint) for problem in error.problems))
    return result_of(folder), labels_of(folder)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(jobs())
def test_as_in_memory(job: Job) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        pq.write_table(job.table, folder / "people.parquet", row_group_size=5)
        for name, text in job.hierarchies.items():
            (folder / name).write_text(text)
        (folder / "config.yaml").write_text(yaml.safe_dump(job.content, allow_unicode=True))
        config = load_config(folder / "config.yaml")
        there = outcome(lambda: write_from_files(config, folder / "files", seed=None), folder / "files")
        here = outcome(lambda: write_anonymized(Pipeline(config), folder / "memory"), folder / "memory")
        assert there == here
