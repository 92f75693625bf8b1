"""Scale of a chart: values to pixels, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.report.charts.svg import scale


def test_values_are_placed_between_the_margins() -> None:
    # 0 to 10 with margins of 7 %: -.7 to 10.7 on 114 pixels, so 10 pixels for 1, and 0 is .7 from the start.
    place, ticks = scale(np.array([0.0, 10.0, np.nan]), 100, 214)
    assert [place(value) for value in (-0.7, 0.0, 5.0, 10.7)] == pytest.approx([100, 107, 157, 214])
    assert ticks.tolist() == [0, 2, 4, 6, 8, 10]


def test_an_axis_that_runs_upwards_and_one_value() -> None:
    place, _ = scale(np.array([0.0, 10.0]), 214, 100)
    assert (place(-0.7), place(10.7)) == pytest.approx((214, 100))
    place, _ = scale(np.array([2.0]), 0, 100)  # a margin of 5 % of the value on both sides
    assert [place(value) for value in (1.9, 2.0, 2.1)] == pytest.approx([0, 50, 100])
