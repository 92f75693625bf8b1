"""Tables and inputs that the report's tests share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.verdict import Check, Verdict
from hybrid.report import MetricText, ReportedChange, ReportedStage, ReportInputs, TradeOffPoint, compare_tables
from hybrid.report.run.inputs import HistoryPoint, MetricHistory
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table


def make_table(values: dict[str, tuple[Kind, list[Any]]], roles: dict[str, Role] | None = None) -> Table:
    columns = tuple(Column(name, (roles or {}).get(name, Role.INSENSITIVE), kind) for name, (kind, _) in values.items())
    frame = pd.DataFrame({name: pd.Series(data).astype(DTYPES[kind]) for name, (kind, data) in values.items()})
    return Table(frame, Schema(columns))


def people(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    city = rng.choice(["Köln", "Łódź", "北京", "São Paulo"], n, p=[0.5, 0.3, 0.15, 0.05])
    income = np.round(rng.lognormal(8 + age / 60, 0.7), 2)
    born = np.datetime64("1930-01-01") + rng.integers(0, 25_000, n).astype("timedelta64[D]")
    smoker = np.where(rng.random(n) < 0.2, None, rng.random(n) < 0.3)
    return make_table(
        {
            "id": (Kind.CATEGORICAL, [f"secret-id-{i}" for i in range(n)]),
            "age": (Kind.INTEGER, list(age)),
            "city": (Kind.CATEGORICAL, list(city)),
            "income": (Kind.DECIMAL, list(income)),
            "born": (Kind.DATE, list(born)),
            "smoker": (Kind.BOOLEAN, list(smoker)),
        },
        {"id": Role.IDENTIFIER, "age": Role.QUASI_IDENTIFIER, "city": Role.QUASI_IDENTIFIER, "income": Role.SENSITIVE},
    )


@pytest.fixture
def table_of() -> Callable[..., Table]:
    return make_table


@pytest.fixture(scope="session")
def real() -> Table:
    return people(1500, 1)


@pytest.fixture(scope="session")
def synthetic() -> Table:
    return people(1200, 2)


CURVES = {
    "quantiles": [0.0, 0.25, 0.5, 1.0],
    "to_train": [0.0, 0.1, 0.3, 0.7],
    "to_control": [0.0, 0.12, 0.33, 0.8],
    "control_to_train": [0.0, 0.11, 0.32, 0.9],
}
"""Distances to the nearest record."""
NIGHTS = (
    HistoryPoint("2026-11-01", 0.01, 0.008, 0.012),
    HistoryPoint("2026-11-08", 0.02),
    HistoryPoint("2026-11-21", 0.0137, 0.01, 0.02),
)
"""One metric of three releases."""


@pytest.fixture(scope="session")
def control() -> Table:
    return people(700, 3)


def result(
    name: str, family: Any, stage: Any, outcome: Any, direction: Any = "lower", column: str | None = None
) -> Any:
    return MetricResult(name, family, stage, direction, outcome, column)


@pytest.fixture
def full_inputs(real: Table, synthetic: Table, control: Table) -> ReportInputs:
    metrics = (
        result("ims", "privacy", "original", Measure(1.0, 0.99, 1.0, 0.002, 1500)),
        result("ims", "privacy", "synthetic", Measure(0.0137, 0.01, 0.02, 0.0021, 1200, {"copies": 16})),
        result("ims", "privacy", "baseline", Measure(0.099, 0.09, 0.11, 0.0021, 1200)),
        result("linkability", "privacy", "synthetic", NotComputable("no column sets were declared")),
        result("dcr_share", "privacy", "synthetic", Measure(0.52, 0.49, 0.55, 0.5, 1200, {"curves": CURVES})),
        result("tstr", "utility", "synthetic", Measure(0.871, 0.85, 0.89, 0.88, 700), "higher", "smoker"),
        result("shape", "fidelity", "synthetic", Measure(0.02), column="age"),
    )
    return ReportInputs(
        name="people",
        created=datetime(2026, 11, 21, 7, 30, tzinfo=UTC),
        guarantee="Nothing is promised about this table.",
        verdict=Verdict(
            "review",
            "default 1",
            (Check("k", "pass", "k = 5 holds"), Check("copies", "review", "1.4 %", "try uniform")),
        ),
        steps=(ReportedStage("read", 2200, 0.1), ReportedStage("release", 1200, None, "shuffled")),
        anonymization={
            "engine": "exact",
            "k": 5,
            "models": ({"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": "income"},),
            "levels": {"age": 2, "city": 0},
            "loss": {"name": "loss", "value": 0.31, "per_attribute": {"age": 0.4, "city": 0.0}},
            "suppressed": 12,
            "records": 1500,
            "classes": 88,
            "min_class_size": 5,
            "optimal": False,
            "gap": 0.01,
            "seconds": 0.2,
            "verified": {"k": 5},
        },
        top_levels={"age": 4, "city": 2},
        sharing_before=np.repeat([1, 2], [1200, 300]),
        sharing_after=np.repeat([5, 12, 1471], [5, 12, 1471]),
        trade_off=(TradeOffPoint(0.0, 0.0, 0.8), TradeOffPoint(0.02, 0.01, 0.31, True)),
        fallbacks={"class": 2900, "label": 76},
        comparison=compare_tables(real, synthetic, control),
        evaluation=Evaluation(metrics),
        metric_texts={"ims": MetricText("Copies", "How many rows equal a training record.")},
        changes=(ReportedChange("records", "2,000", "2,200"),),
        history=(MetricHistory("Copies", "lower", NIGHTS),),
        limits=("Not every attack was tried.",),
        licences={"hybrid-release": "Apache-2.0"},
        versions={"numpy": "2.0.2"},
        facts={"git commit": "1a2b3c4"},
        config="name: people\n",
    )
