"""Registry and prices of the evaluation as they are promised."""

from __future__ import annotations

from dataclasses import MISSING, fields

from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.price import networks, price, sizes_of, training_price
from hybrid.table import Column, Kind, Role, Schema
from tests.helpers.kept import as_text, assert_kept

SCHEMA = Schema(
    (
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("illness", Role.SENSITIVE, Kind.CATEGORICAL),
        Column("cost", Role.INSENSITIVE, Kind.DECIMAL, target=True),
    )
)


def test_metrics_are_described_as_stated() -> None:
    usual = {field.name: field.default for field in fields(Metric) if field.default is not MISSING}
    described = {
        name: {key: value for key, value in metric.to_json().items() if key not in usual or value != usual[key]}
        for name, metric in REGISTRY.items()
    }
    assert {field.name for field in fields(Metric)} - {"compute"} == set(REGISTRY["k_reached"].to_json())
    assert_kept("metrics.json", as_text({"unless said otherwise": usual, "metrics": described}))


def test_prices_are_those_that_were_measured() -> None:
    options = EvaluateOptions()
    found = {}
    for rows in ((300, 100, 300), (20_000, 9_000, 20_000), (200_000, 90_000, 200_000)):
        sizes = sizes_of(SCHEMA, rows, options)
        for name, metric in REGISTRY.items():
            each = [price(metric, sizes, options, first) for first in (True, False)]
            found[f"{name} {rows[0]}"] = [float(f"{one:.4g}") for one in each]
    assert_kept("prices.json", as_text(found))


def test_trained_encoders_are_paid_and_an_untrained_one_is_not() -> None:
    found = {}
    for name, encoder in (("none", None), ("untrained", {"engine": "untrained"}), ("trained", {"encoders": 3})):
        options = EvaluateOptions.model_validate({"encoder": encoder})
        sizes = sizes_of(SCHEMA, (20_000, 9_000, 20_000), options)
        found[name] = (
            networks(options),
            training_price(sizes, options),
            price(REGISTRY["cl_membership"], sizes, options),
        )
    assert [networks for networks, *_ in found.values()] == [1, 1, 4]
    assert found["none"][1] == found["untrained"][1] == 0 < found["trained"][1]
    assert found["untrained"][2] < found["trained"][2]
