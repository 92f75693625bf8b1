"""A finished run, as the pipeline leaves it, small and without any model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.manifest import Recorder, build_manifest
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.column_roles import DecidedRoles
from hybrid.publication.description.description import stated_columns
from hybrid.publication.difference import verdict_of
from hybrid.publication.draws import count_draw, sealed
from hybrid.publication.facts import write_facts
from hybrid.publication.finished_run import FinishedRun, read_run
from hybrid.publication.key import record_secret, release_key
from hybrid.publication.policy import Policy
from hybrid.publication.rare_values import RareValues
from hybrid.publication.table_facts import TableFacts
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.cells import LEAST_CELL

SEED = 4_611_686_018_427_387_904
FINGERPRINT = "c0ffee" * 10 + "cafe"
CANARY_LABEL = "label-of-a-real-record"

ROLES = DecidedRoles("the tests", "2026-11-21", as_they_are=("income",)).to_json()

RunMaker = Callable[..., Path]
MEASURED = Evaluation(
    (
        MetricResult(
            "identical_match",
            "privacy",
            "synthetic",
            "lower",
            Measure(0.004, 0.002, 0.006, 0.001, 1000, excess=(0.003, 0.001, 0.005)),
        ),
        MetricResult("linkability", "privacy", "synthetic", "lower", Measure(0.21, 0.2, 0.22, 0.2, 900)),
        MetricResult("inference", "privacy", "synthetic", "lower", NotComputable("no secret varies", lacks="secret")),
    )
)
"""Two attacks with a result, and one that this table gives nothing to."""


SCHEMA = Schema(
    (Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER), Column("income", Role.SENSITIVE, Kind.CATEGORICAL))
)
SOURCE = Table(pd.DataFrame({"age": pd.Series([41] * 9, dtype="Int64"), "income": pd.Categorical(["low"] * 9)}), SCHEMA)
TABLE = TableFacts(1000, 300, 700, 3, ("name",), ("age",), ("income",))


def an_anonymization(**changes: Any) -> AnonymizationResult:
    models = ({"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": "occupation"},)
    loss = {"name": "loss", "value": 0.4, "per_attribute": {"age": 0.4}}
    result = AnonymizationResult("exact", 5, models, {"age": 2}, loss, 20, 1000, 90, 5, True, 0.0, 1.5, {"own": True})
    return replace(result, **changes)


def an_evaluation(copies: float = 0.001, control: float = 0.001) -> Evaluation:
    privacy = ("privacy", "synthetic", "lower")
    return Evaluation(
        (
            MetricResult(
                "identical_match",
                *privacy,
                Measure(copies, copies / 2, copies * 2, control, 1000, {"seed": 12}, (copies - control,) * 3),
            ),
            MetricResult("dcr_share", *privacy, Measure(0.5, 0.48, 0.52, 0.5, 1000, excess=(0.0, -0.02, 0.02))),
            MetricResult("inference", *privacy, NotComputable("no secrets were named", lacks="secret"), column="pay"),
            MetricResult(
                "tstr", "utility", "synthetic", "higher", Measure(0.9, 0.89, 0.91, 0.92, 500), column="income"
            ),
        )
    )


def config(folder: Path) -> dict[str, Any]:
    return {
        "version": 1,
        "name": "adult",
        "seed": SEED,
        "data": {
            "path": str(folder / "secret-place" / "adult.csv"),
            "separator": ",",
            "columns": {"age": {"role": "quasi_identifier", "kind": "integer", "hierarchy": "../h/age.csv"}},
        },
        "anonymize": {"engine": "exact", "k": 5},
        "sample": {"method": "stratified", "beta": 0.5, "by": "equivalence_class"},
        "transition": {"method": "conditional", "order": "pre"},
        "synthesize": {"generator": "cart", "options": {"seed": SEED, "worker_path": "/opt/worker"}},
        "policy": "policies/own.yaml",
    }


@pytest.fixture
def anonymization() -> Callable[..., AnonymizationResult]:
    return an_anonymization


@pytest.fixture
def evaluation() -> Callable[..., Evaluation]:
    return an_evaluation


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    def make(
        name: str = "run",
        *,
        seed: int = SEED,
        data_fingerprint: str = FINGERPRINT,
        rows: str = "age,income\n41,low\n",
        measured: Evaluation | None = None,
        anonymized: AnonymizationResult | None = an_anonymization(),  # noqa: B008
        report: str = "<html>report</html>",
        judged_by: Policy | None = None,
        work: Path = tmp_path / "work",
        draw: int | None = None,
        ran_by: str | None = "night@server",
        schema: Schema = SCHEMA,
        source: Table = SOURCE,
        **sections: Any,
    ) -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "synthetic.csv").write_text(rows)
        (folder / "anonymized.parquet").write_text(CANARY_LABEL)
        (folder / "report.html").write_text(report)
        (folder / "policy.json").write_text(json.dumps((judged_by or a_policy()).model_dump(mode="json")))
        (folder / "evaluation.json").write_text(json.dumps((measured or an_evaluation()).to_json()))
        if anonymized is not None:
            (folder / "anonymization.json").write_text(json.dumps(anonymized.to_json()))
        rare = RareValues.of({"": source}, LEAST_CELL, record_secret(release_key(work)))
        rare.write(folder)
        recorder = Recorder()
        with recorder.stage("synthesize"):
            pass
        manifest = build_manifest(
            name="adult",
            config=config(tmp_path) | {"seed": seed} | sections,
            seed=seed,
            data_fingerprint=data_fingerprint,
            folder=folder,
            libraries=("numpy",),
            stages=recorder.stages,
        )
        manifest |= {"roles": ROLES, "table": TABLE.to_json(), "draw": draw, "ran_by": ran_by}
        manifest |= {"columns": stated_columns(schema)}
        if "privacy" not in sections:
            judged = judged_by or a_policy()
            run = FinishedRun(folder, manifest, measured or an_evaluation(), anonymized, {}, judged, "")
            manifest["files"] |= write_facts(run, verdict_of(run))
        (folder / "manifest.json").write_text(json.dumps(sealed(manifest, work)))
        run = read_run(folder)
        count_draw(work, run.data_set, data_fingerprint, run.policy, run.table_sha256, run.evaluation, draw or 1)
        return folder

    return make


@pytest.fixture
def policy() -> Policy:
    return a_policy()


def a_policy() -> Policy:
    copies = {"metric": "identical_match", "direction": "lower", "compare": "excess"}
    words = {"reason": "Copies are people.", "hint": "train less"}
    return Policy.model_validate(
        {
            "name": "test",
            "version": "1",
            "owner": "the tests",
            "anonymity": [{"name": "k", "quantity": "k", "review": 5, "block": 2, "reason": "Crowds hide."}],
            "rules": [{"name": "copies", **copies, "review": 0.0005, "block": 0.001, **words}],
        }
    )
