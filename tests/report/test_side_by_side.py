from __future__ import annotations

import numpy as np
import pytest

from hybrid.report import compare_tables
from hybrid.report.side_by_side import _cramers_v
from hybrid.table import Kind, Table


def test_identifiers_are_left_out(real: Table, synthetic: Table) -> None:
    names = [view.name for view in compare_tables(real, synthetic).columns]
    assert names == ["age", "city", "income", "born", "smoker"]


def test_a_table_equals_itself(real: Table) -> None:
    comparison = compare_tables(real, real, real)
    for view in comparison.columns:
        assert view.distance == view.reference == 0
        np.testing.assert_allclose(view.real, view.synthetic)
        assert view.missing_real == view.missing_synthetic
    pairs = comparison.associations
    np.testing.assert_array_equal(pairs.real, pairs.synthetic)


def test_shares_and_distance_by_hand(table_of) -> None:
    real = table_of({"x": (Kind.CATEGORICAL, ["a"] * 60 + ["b"] * 30 + [None] * 10)})
    synthetic = table_of({"x": (Kind.CATEGORICAL, ["a"] * 20 + ["new"] * 20 + [None] * 10)})
    (view,) = compare_tables(real, synthetic).columns
    assert view.cells is not None
    assert view.cells.labels == ("a", "b", "other")
    np.testing.assert_allclose(view.real, [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(view.synthetic, [0.5, 0, 0.5])
    assert view.distance == pytest.approx((0.2 + 0.3 + 0.4 + 0.1) / 2)
    assert (view.missing_real, view.missing_synthetic) == (0.1, 0.2)


def test_small_groups_cannot_be_told_from_the_rest(table_of) -> None:
    real = table_of({"x": (Kind.CATEGORICAL, ["a"] * 500 + ["b"] * 490 + ["rare"] * 3)})
    (view,) = compare_tables(real, real).columns
    assert np.isnan(view.real[-1])
    assert view.real[:-1].sum() == pytest.approx(1), "the shares shown leave the small pool out of their total"


@pytest.mark.parametrize(("missing", "shown"), [(0, True), (3, False), (5, True), (98, False)])
def test_few_missing_values_are_not_counted(table_of, missing: int, shown: bool) -> None:
    table = table_of({"x": (Kind.INTEGER, [None] * missing + list(range(100 - missing)))})
    (view,) = compare_tables(table, table).columns
    assert (view.missing_real is not None) == shown


def test_association_against_known_values() -> None:
    independent = np.outer([30, 70], [50, 50])
    assert _cramers_v(independent) == 0
    perfect = np.diag([400, 300, 300])
    assert _cramers_v(perfect) == pytest.approx(1, abs=1e-9)
    # 2 x 2 table [[30, 10], [10, 30]]: phi^2 = .25, corrected .25 - 1/79, size 2 - 1/79.
    assert _cramers_v(np.array([[30, 10], [10, 30]])) == pytest.approx(np.sqrt((0.25 - 1 / 79) / (1 - 1 / 79)))
    assert np.isnan(_cramers_v(np.array([[5, 9]])))


def test_constant_and_empty_columns_do_not_stop_the_others(table_of) -> None:
    table = table_of(
        {
            "constant": (Kind.CATEGORICAL, ["same"] * 50),
            "empty": (Kind.DECIMAL, [None] * 50),
            "number": (Kind.INTEGER, list(range(50))),
        }
    )
    comparison = compare_tables(table, table)
    views = {view.name: view for view in comparison.columns}
    assert views["empty"].cells is None
    assert views["empty"].missing_real == 1
    assert comparison.associations.names == ("constant", "number")
    assert np.isnan(comparison.associations.real[0, 1])


def test_inputs_are_not_changed(real: Table, synthetic: Table) -> None:
    before = real.frame.copy(), synthetic.frame.copy()
    compare_tables(real, synthetic, real)
    assert real.frame.equals(before[0])
    assert synthetic.frame.equals(before[1])
