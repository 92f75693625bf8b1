"""The trade-off: the points of the exact search, the sliders, and taking a point into the configuration."""

from __future__ import annotations

import itertools
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid.anonymize.search.tradeoff import RuleCost, RuleCosts, TradeoffPoint
from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.demo import write_linked_demo
from hybrid.jobs.trade_off import TradeOff, basis, no_curve, trade_off_of
from hybrid.pipeline.config import load_config
from hybrid.pipeline.level_costs import LevelWords
from hybrid.pipeline.pipeline import Pipeline
from hybrid.report.charts.exploration import Dot, Line, line_chart, scatter_chart
from tests.desk.open_desk import OpenDesk, Visitor, opened

Own = tuple[Visitor, OpenDesk, Path]
POINT = TradeoffPoint(5, 0.02, 0.1, {"age": 1}, 0, 1, float("inf"))
GRID = TradeOff(
    "x", "loss", 5, 0.02, 100,
    tuple(replace(POINT, k=k, suppression_limit=limit) for k in (2, 5, 10) for limit in (0.0, 0.02, 0.1)),
    LevelWords({"age": ("kept as it is", "5-year groups", "left out")}),
    RuleCosts(POINT, POINT, (RuleCost("l-diversity of illness", POINT),)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("k", "limit", "found"),
    [(5, 0.02, (5, 0.02)), (3, 0.03, (5, 0.02)), (6, 0.019, (10, 0.0)), (99, 1.0, (10, 0.1)), (1, 0.0, (2, 0.0))],
)
def test_the_nearest_point_is_at_least_as_strict(k: int, limit: float, found: tuple[int, float]) -> None:
    point = GRID.at(k, limit)
    assert (point.k, point.suppression_limit) == found


def test_points_come_back_from_json_also_where_no_bound_is_proven() -> None:
    assert TradeOff.from_json(GRID.to_json()) == GRID


def test_charts_have_no_style_and_no_markup_of_others() -> None:
    hostile = '"><script>alert(1)</script>'
    lines = [Line(hostile, (0.3, None, 0.1), chosen=True), Line("k = 2", (None, None, None))]
    chart = line_chart(lines, [0.0, 0.01, 0.02], 0, "%")
    dots = scatter_chart([Dot(hostile, 0.2, 7.0, named=True)], "privacy", "use")
    for one in (chart, dots):
        assert "<script" not in one and "style=" not in one and "&lt;script" in one
    assert "0 %: 30.0 %, 1 %: –, 2 %: 10.0 %" in chart


def test_names_in_charts_do_not_overlap() -> None:
    """Equal lines share a name; others, and those of points side by side, are a line of text apart."""
    losses = {2: 0.01, 3: 0.0, 5: 0.0, 10: 0.012, 50: 0.4}
    chart = line_chart([Line(f"k = {k}", (loss, loss)) for k, loss in losses.items()], [0.0, 0.1], 0, "%")
    names = re.findall(r'y="([\d.]+)" class="tick">(k = [^<]+)<', chart)
    heights = sorted(float(height) for height, _ in names)
    assert {name for _, name in names} == {"k = 2", "k = 3, 5", "k = 10", "k = 50"} and heights[-1] <= 252
    assert all(after - before >= 12.9 for before, after in itertools.pairwise(heights))
    dots = [Dot(f"k {k}, beta 1", 0.3 + k / 500, 0.2, named=True) for k in range(4)]
    found = re.findall(r'<text x="([\d.-]+)" y="([\d.]+)" class="tick">(k \d[^<]+)<', scatter_chart(dots, "a", "b"))
    boxes = [(float(x), float(y), float(x) + 6 * len(name)) for x, y, name in found]
    assert len(boxes) == 4
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or abs(one[1] - other[1]) >= 12, (one, other)


@pytest.mark.parametrize("log", [False, True])
def test_points_stand_on_their_axes(log: bool) -> None:
    """Equal steps of x, or of its logarithm, to the right; greater y above; all within the frame of the axes."""
    dots = [Dot("a", 1.0, 5.0), Dot("b", 10.0 if log else 2.0, 6.0), Dot("c", 100.0 if log else 3.0, 9.0)]
    places = re.findall(r'<circle cx="([\d.-]+)" cy="([\d.-]+)"', scatter_chart(dots, "privacy", "use", log=log))
    (ax, ay), (bx, by), (cx, cy) = [(float(x), float(y)) for x, y in places]
    assert bx - ax == pytest.approx(cx - bx, abs=0.2) and 56 < ax < bx < cx < 640
    assert (by - cy) == pytest.approx(3 * (ay - by), abs=0.4) and 0 < cy < by < ay < 280


def test_a_point_is_looked_at_and_taken_into_the_file(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor, found, folder = own
    config = folder / "config.yaml"
    assert "nothing was searched yet" in visitor.get("/trade-off").text
    begun: list[list[str]] = []
    monkeypatch.setattr(found.desk.runner, "begin", lambda _, words: begun.append(words))
    assert visitor.post("/trade-off/start").status == 303
    with pytest.raises(SystemExit) as done:
        main([*begun[0], "--k", "2", "--k", "20", "--limit", "0", "--limit", "0.1"])
    assert done.value.code == 0
    page = visitor.get("/trade-off?k=17&limit=10").text
    assert "k = 20, at most 10 % suppressed" in page and "<svg" in page and "style=" not in page
    assert "percentage points against k = 5" in page
    assert 'type="range"' in page and f"hybrid trade-off {config}" in page
    losses = re.findall(r'href="/trade-off\?k=(\d+)&amp;limit=([\d.]+)"[^>]*>([\d.]+) %', page)
    assert len(losses) >= 6
    by_point = {(int(k), float(limit)): float(loss) for k, limit, loss in losses}
    assert by_point[2, 10.0] <= by_point[20, 10.0] <= by_point.get((20, 0.0), 100.0), "more protection costs more"
    for odd in ("k=nan&limit=x", "k=-1&limit=1e999", "k=1e9&limit=-5", "k=%3Cscript%3E&limit="):
        assert visitor.get(f"/trade-off?{odd}").status == 200
    visitor.get("/trade-off?k=20&limit=10")
    state = visitor.field("state")
    assert visitor.post("/trade-off/use", state=state, k="7", limit="10").status == 409, "no searched point"
    visitor.get("/trade-off?k=20&limit=10")
    assert visitor.post("/trade-off/use", state=state, k="20", limit="10").status == 303
    loaded = load_config(config).anonymize
    assert loaded is not None and (loaded.k, loaded.suppression_limit) == (20, 0.1)
    assert "This is what the configuration says." in visitor.get("/trade-off").text, "the points are still of this file"
    log = found.desk.clicks.path.read_text()
    assert "hybrid edit" in log and "anonymize.k=20 anonymize.suppression_limit=0.1" in log
    visitor.get("/changes")
    assert visitor.post("/columns/undo", state=visitor.field("state")).status == 303
    assert load_config(config).k != 20
    visitor.get("/changes")
    other = {"state": visitor.field("state"), "key": "split.control", "value": "0.4"}
    assert visitor.post("/changes/set", **other).status == 303
    assert "nothing was searched yet" in visitor.get("/trade-off").text, "another configuration"
    visitor.get("/changes")
    assert visitor.post("/columns/undo", state=visitor.field("state")).status == 303
    with opened(config, folder) as later:
        again = later.visitor()
        again.enter(later.address)
        assert "k = 20, at most 10 % suppressed" in again.get("/trade-off?k=20&limit=10").text, "after a restart"


def test_the_points_of_linked_tables_are_those_of_the_person_table(tmp_path: Path) -> None:
    write_linked_demo(tmp_path, admissions=150, seed=3)
    config = load_config(tmp_path / "config.yaml", {"seed": 5, "anonymize.k": 3, "anonymize.suppression_limit": 0.1})
    (point,) = trade_off_of(config, (), ()).points
    anonymized = Pipeline(config, seed=5).person.anonymized
    assert anonymized is not None and (point.k, point.suppression_limit) == (3, 0.1)
    assert point.levels == anonymized.result.levels


def test_a_private_configuration_says_why_it_has_no_trade_off(own: Own) -> None:
    visitor, _, folder = own
    shutil.copy("configs/adult_dp.yaml", folder / "config.yaml")
    assert "Noise protects the people" in visitor.get("/trade-off").text
    assert visitor.post("/trade-off/start").status == 409


def test_points_of_another_configuration_are_not_shown(own: Own) -> None:
    _, _, folder = own
    config = load_config(folder / "config.yaml")
    assert config.anonymize is not None
    stricter = config.model_copy(update={"anonymize": config.anonymize.model_copy(update={"k": 50})})
    before = basis(config)
    assert basis(stricter) == before
    with (folder / "people.csv").open("a") as file:
        file.write("x\n")
    assert basis(config) != before
    local = config.model_copy(update={"anonymize": config.anonymize.model_copy(update={"recoding": "local"})})
    assert (no_curve(config), no_curve(local)) == (None, "search")
    with pytest.raises(ConfigError, match="exact"):
        trade_off_of(local)
