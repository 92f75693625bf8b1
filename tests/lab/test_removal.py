"""Outliers in the laboratory: their series, and what removing them changes."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.lab.league import removals
from hybrid.lab.risk import OUTLIERS, Level, OutliersOptions, Series, series_name
from hybrid.lab.verdicts import ExcessCurve, Track
from tests.lab.simulated import METRICS, simulated


def track(name: str, last: list[float]) -> Track:
    from hybrid.lab.league import league

    template = league(*simulated({"sharp": METRICS["sharp"]})).entries[0].on("size")[0].track
    excess = np.array([[0.2] * len(last), last])
    control = series_name("cart", "random", "all")
    levels = Level(0, {}), Level(0.1, {})
    series = Series(name, "share removed", "none", levels, "" if name == control else control)
    values = {**vars(template), "risk": "outliers", "series": series, "curve": ExcessCurve(excess, excess, excess)}
    return Track(**values)


def test_every_way_has_its_control_and_none_removed_is_shared() -> None:
    options = OutliersOptions()
    series = OUTLIERS.series(options)
    assert len(series) == len({each.name for each in series}) == 6
    assert {str(each.levels[0].settings) for each in series} == {str(series[0].levels[0].settings)}
    assert {each.control for each in series} - {""} == {each.name for each in series if not each.control}
    assert series_name("cart", "random", "all") in {each.name for each in series}
    with pytest.raises(ValueError, match="begin with 0"):
        OutliersOptions(remove=(0.1, 0.2))


def test_change_beyond_chance_by_hand() -> None:
    lof, chance = series_name("cart", "lof", "all"), series_name("cart", "random", "all")
    # Differences -.1, -.2, -.3: mean -.2, half width 4.3027 * .1 / sqrt(3) = .2484.
    found = removals([track(lof, [0.1, 0.1, 0.1]), track(chance, [0.2, 0.3, 0.4])])
    assert [each.series for each in found] == [lof] and found[0].share == 0.1
    assert (found[0].change, found[0].low, found[0].high) == pytest.approx((-0.2, -0.4484, 0.0484), abs=1e-4)
    assert not found[0].is_certain
    sure = removals([track(lof, [0.1, 0.11]), track(chance, [0.3, 0.311])])[0]
    assert sure.is_certain and sure.high is not None and sure.high < 0
    single = removals([track(lof, [0.1]), track(chance, [0.3])])[0]
    assert single.low is None and not single.is_certain
    assert removals([track(lof, [0.1])]) == () and removals([track(lof, [np.nan]), track(chance, [0.3])]) == ()
