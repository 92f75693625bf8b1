"""What goes wrong with generators ends in one clear error or in a table, and leaves earlier results alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import GeneratorError
from hybrid.base.ownership import claim
from hybrid.jobs.run import write_run
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import Store
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Kind
from tests.helpers.whole_demo import write_whole_demo
from tests.synthesize.killed_worker import kill_worker_at
from tests.synthesize.synthesize_tables import people, table_of

DEEP = {
    "tabddpm": {"steps": 3, "sampling_steps": 3, "layers": [16]},
    "tvae": {"epochs": 1, "batch_size": 50},
    "ctgan": {"epochs": 1, "batch_size": 50},
}
SMALL = [
    pytest.param("cart", {}),
    *(pytest.param(name, own, marks=pytest.mark.generators) for name, own in DEEP.items()),
]


NEEDS = {"tabddpm": ("torch", "tabddpm"), "tvae": ("sdv", "ctgan"), "ctgan": ("sdv", "ctgan")}


def options(name: str, own: dict[str, object]) -> SynthesizeOptions:
    if name in NEEDS:
        library, extra = NEEDS[name]
        pytest.importorskip(library, reason=f"needs the extra [{extra}]")
    return SynthesizeOptions(generator=name, options=own, isolate=False)


@pytest.mark.parametrize(("name", "own"), SMALL)
def test_five_hundred_columns(name, own):
    rng = np.random.default_rng(0)
    flags = {f"flag {at}": (Kind.BOOLEAN, pd.Series(rng.random(60) < 0.3)) for at in range(497)}
    amounts = {f"amount {at}": (Kind.DECIMAL, pd.Series(rng.normal(size=60))) for at in range(3)}
    table = table_of({**flags, **amounts})
    drawn = fit(table, options(name, own), 1).sample(30, 1)
    assert drawn.schema == table.schema and len(drawn) == 30


@pytest.mark.parametrize(("name", "own"), SMALL)
def test_a_category_with_20000_values(name, own):
    codes = pd.Series(np.arange(20_000).astype(str))
    table = table_of({"code": (Kind.CATEGORICAL, codes), "age": (Kind.INTEGER, np.arange(20_000) % 90)})
    if name in ("ctgan", "tvae"):
        with pytest.raises(GeneratorError, match=r"20011 inputs .*'code' \(20000 states\)"):
            fit(table, options(name, own), 1)
    else:
        assert len(fit(table, options(name, own), 1).sample(100, 1)) == 100


@pytest.mark.parametrize(("name", "own"), SMALL)
def test_three_rows_and_one_column(name, own):
    three = people(60, seed=2).only(["age", "job", "cost"]).take(np.array([0, 1, 2]))
    assert len(fit(three, options(name, own), 1).sample(20, 1)) == 20
    assert len(fit(people(60).only(["job"]), options(name, own), 1).sample(20, 1)) == 20


@pytest.mark.generators
def test_a_worker_killed_in_the_night_leaves_the_last_run_and_the_next_one_goes_on(tmp_path):
    pytest.importorskip("torch", reason="needs the extra [tabddpm]")
    path = write_whole_demo(tmp_path / "demo", rows=300, seed=3)
    content = yaml.safe_load(path.read_text())
    content["synthesize"] = {"generator": "tabddpm", "options": {**DEEP["tabddpm"], "steps": 2000, "batch_size": 64}}
    content["evaluate"] = {"metrics": ["total_variation"], "targets": ["readmitted"], "baseline": False}
    path.write_text(yaml.safe_dump(content))
    run, store = tmp_path / "run", Store(tmp_path / "store")
    claim(run, "last", "run")
    with pytest.raises(GeneratorError, match=r"worker of tabddpm \(learn\) was killed by SIGKILL"):
        write_run(Pipeline(load_config(path), seed=5, store=store, progress=kill_worker_at("fit tabddpm", 600)), run)
    assert [file.name for file in run.iterdir()] == ["manifest.json"]
    assert [file.name for file in tmp_path.glob(".run*")] == []
    pipeline = Pipeline(load_config(path), seed=5, store=store)
    write_run(pipeline, run)
    assert {"synthetic.csv", "report.html", "evaluation.json"} <= {file.name for file in run.iterdir()}
    assert [point.done for point in pipeline.person.generated.losses] == [*range(50, 2001, 50)]
    assert "Training of the generator" in (run / "report-details.html").read_text()
    assert json.loads((run / "manifest.json").read_text())["differential_privacy"] is False
