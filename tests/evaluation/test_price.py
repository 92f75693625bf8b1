"""The price of an evaluation: how it grows, and that it knows every metric."""

from __future__ import annotations

import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.context import LEAST_ASKED, most_asked
from hybrid.evaluation.price import PRICES, Sizes, price, total_price
from hybrid.evaluation.run_metrics import metrics_of

OPTIONS = EvaluateOptions()
DEFAULT = metrics_of(OPTIONS)


def sizes(rows: int, columns: int = 15, secrets: int = 1) -> Sizes:
    per = {None: 1, "target": 1, "secret": secrets, "declared_secret": secrets, "sensitive": secrets}
    return Sizes(rows, rows // 2, rows, columns, per)


def test_prices_are_of_metrics_that_exist() -> None:
    assert set(PRICES) <= set(REGISTRY)


def test_pairs_cost_more_than_rows_until_fewer_are_asked_about() -> None:
    small, twice, large, huge = (
        price(REGISTRY["nnaa"], sizes(n), OPTIONS) for n in (10_000, 20_000, 300_000, 3_000_000)
    )
    assert 3 < twice / small < 4
    assert huge < 12 * large


def test_models_that_see_a_sample_cost_no_more_on_larger_tables() -> None:
    for name in ("tstr", "tstr_linear", "inference_model"):
        half, large, huge = (price(REGISTRY[name], sizes(n), OPTIONS) for n in (50_000, 1_000_000, 10_000_000))
        assert half < large == huge


def test_what_the_tables_share_is_paid_once_and_columns_are_repeated() -> None:
    exposed = REGISTRY["membership_exposed"]
    assert price(exposed, sizes(10_000), OPTIONS) > 3 * price(exposed, sizes(10_000), OPTIONS, first=False)
    model = REGISTRY["inference_model"]
    alone, three = (price(model, sizes(10_000, secrets=count), OPTIONS) for count in (1, 3))
    assert three == pytest.approx(3 * alone, rel=0.1)
    first, all_of_them = (total_price(DEFAULT, sizes(10_000), OPTIONS, tables) for tables in (1, 4))
    assert 3 * first < all_of_them < 4 * first


def test_order_of_magnitude_of_the_measured_tables() -> None:
    """Adult took some 60 seconds of one core for four tables, the demo with 10,000 admissions some 30."""
    adult = Sizes(22_793, 9_768, 22_793, 15, {None: 1, "target": 1, "secret": 1, "declared_secret": 1, "sensitive": 1})
    demo = Sizes(7_000, 3_000, 7_000, 15, {None: 1, "target": 1, "secret": 1, "declared_secret": 1, "sensitive": 2})
    assert 20 < total_price(DEFAULT, adult, OPTIONS, 4) < 180
    assert 8 < total_price(DEFAULT, demo, OPTIONS, 4) < 90


@pytest.mark.parametrize(("name", "measured"), [("inference", 2.4), ("gtcap", 4.4), ("inference_model", 86.0)])
def test_order_of_magnitude_of_300_secrets_among_303_columns(name: str, measured: float) -> None:
    wide = Sizes(840, 360, 840, 303, {None: 1, "target": 1, "secret": 300, "declared_secret": 300, "sensitive": 300})
    assert measured / 2 < price(REGISTRY[name], wide, OPTIONS) < 2 * measured


@pytest.mark.parametrize(
    ("limit", "largest", "expected"),
    [
        (None, 10**9, None),
        (30_000, 100, 30_000),
        (30_000, 30_000, 30_000),
        (30_000, 60_000, 15_000),
        (30_000, 10**6, LEAST_ASKED),
        (500, 1_000, 500),
        (500, 10**6, 500),
    ],
)
def test_larger_tables_are_asked_about_fewer_records(limit: int | None, largest: int, expected: int | None) -> None:
    assert most_asked(limit, 10, largest, 20) == expected
