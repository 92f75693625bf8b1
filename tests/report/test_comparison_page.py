"""comparison.html as a reader uses it, in a headless Chromium from the disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.analysis import Answers, answer, results
from hybrid.analysis.ranking import pareto_front
from hybrid.evaluation import REGISTRY
from hybrid.report import describe, render_comparison
from tests.helpers.browser import Page, browser

FACTORS = ["k", "transition", "generator"]
RISK, USE = "synthetic.singling_out", "synthetic.tstr.income"


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = []
    for at, (k, transition, generator) in enumerate(
        (k, t, g) for k in (5, 10, 20) for t in ("uniform", "conditional") for g in ("cart", "<none>")
    ):
        for seed in (1, 2, 3):
            row = {"configuration": f"c{at + 1:02d}", "k": k, "transition": transition, "generator": generator}
            row |= {"seed": seed, "status": "ok", "reason": "", "verdict": "pass"}
            row |= {RISK: 0.1 + 0.02 * at % 0.07 + rng.normal() * 0.01, USE: 0.7 + 0.01 * at + rng.normal() * 0.01}
            row |= {
                f"{stage}.tstr.income": 0.9 + rng.normal() * 0.01 for stage in ("original", "anonymized", "baseline")
            }
            row |= {f"{stage}.singling_out": 0.3 for stage in ("original", "anonymized", "baseline")}
            rows.append(row)
    failed = {"configuration": "c13", "k": 50, "transition": "uniform", "generator": "cart", "seed": 1}
    rows.append(failed | {"status": "failed", "reason": "k cannot be reached <img src=x onerror=alert(1)>"})
    return pd.DataFrame(rows)


def _facets(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    same = {"sampling": "none", "beta": "1", "order": "pre", "rest": ""}
    return {row["configuration"]: same | {name: str(row[name]) for name in FACTORS} for row in table.to_dict("records")}


@pytest.fixture(scope="module")
def answers() -> Answers:
    table = _table()
    return answer(results(table, FACTORS, _facets(table)))


@pytest.fixture(scope="module")
def page(answers: Answers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "comparison.html"
    path.write_text(render_comparison("strategies", answers, describe(REGISTRY.values())), encoding="utf-8")
    with browser(folder / "profile") as opened:
        opened.open(path)
        yield opened
        assert opened.problems == []
        assert {url.partition(":")[0] for url in opened.requests} == {"file"}


def _cells(page: Page, name: str) -> list[str]:
    """What the table shows in a column."""
    script = f"""(() => {{
      const at = [...document.querySelectorAll("#all thead th")].findIndex((head) => head.dataset.name === {name!r});
      return [...document.querySelectorAll("#all tbody tr")].map((row) => row.children[at].textContent);
    }})()"""
    found: list[str] = page.evaluate(script)
    return found


def _choose(page: Page, select: str, value: str) -> None:
    page.evaluate(f"(() => {{ const it = {select}; it.value = {value!r}; it.dispatchEvent(new Event('change')); }})()")


def _head(name: str) -> str:
    return f"""document.querySelector('#all th[data-name="{name}"] button')"""


@pytest.fixture(autouse=True)
def afresh(page: Page) -> None:
    page.evaluate("document.getElementById('reset').click()")


def test_every_run_is_there(page: Page) -> None:
    assert len(_cells(page, "configuration")) == 37
    assert page.evaluate("document.getElementById('count').textContent") == "37 of 37 runs"


def test_a_click_on_a_heading_sorts_by_number_and_back(page: Page, answers: Answers) -> None:
    values = np.sort(answers.results.ok[USE].to_numpy())
    page.click(_head(USE))
    assert _cells(page, USE) == [*(f"{value:.3f}" for value in values), "–"]
    page.click(_head(USE))
    assert _cells(page, USE) == [*(f"{value:.3f}" for value in values[::-1]), "–"]
    assert (
        page.evaluate(f"""document.querySelector('th[data-name="{USE}"]').getAttribute("aria-sort")""") == "descending"
    )


def test_levels_sort_as_numbers(page: Page) -> None:
    page.click(_head("k"))
    assert list(dict.fromkeys(_cells(page, "k"))) == ["5", "10", "20", "50"]


def test_filter_by_factor_holds_for_table_and_picture(page: Page) -> None:
    _choose(page, "document.querySelector('#runs select[data-factor=transition]')", "conditional")
    assert set(_cells(page, "transition")) == {"conditional"} and len(_cells(page, "k")) == 18
    assert page.evaluate("document.querySelectorAll('#front .point[data-name]').length") == 6
    assert page.evaluate("document.querySelector('#front select[data-factor=transition]').value") == "conditional"


def test_search_by_words(page: Page) -> None:
    page.evaluate("document.getElementById('search').focus()")
    page.type("failed cannot")
    assert _cells(page, "configuration") == ["c13"]


def test_columns_are_chosen(page: Page) -> None:
    script = "[...document.querySelectorAll('#all th')].map((head) => head.dataset.name)"
    name = "baseline.tstr.income"
    assert name not in page.evaluate(script)
    page.evaluate("document.querySelector('.chooser').open = true")
    page.click(f"document.querySelector('#chooser input[value=\"{name}\"]')")
    assert name in page.evaluate(script)
    page.click(f"document.querySelector('#chooser input[value=\"{name}\"]')")
    assert name not in page.evaluate(script)


def test_front_is_that_of_the_chosen_axes(page: Page, answers: Answers) -> None:
    names = answers.results.configurations.index[:12]
    means = {name: answers.results.matrix(name)[:12].mean(axis=1) for name in (RISK, USE)}
    _choose(page, "document.getElementById('front-x')", USE)
    _choose(page, "document.getElementById('front-y')", RISK)
    expected = set(names[pareto_front(means[USE], -means[RISK])])
    script = "[...document.querySelectorAll('#front .point.best[data-name]')].map((point) => point.dataset.name)"
    assert set(page.evaluate(script)) == expected
    _choose(page, "document.getElementById('front-x')", RISK)
    assert set(page.evaluate(script)) == {names[int(np.argmin(means[RISK]))]}


def test_hover_and_keyboard_name_every_configuration(page: Page, answers: Answers) -> None:
    tip = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText"
    point = "document.querySelector('#front .point[data-name=c01]')"
    page.hover(point)
    shown = page.evaluate(tip)
    assert shown.startswith("c01") and "k = 5" in shown and "generator = cart" in shown
    page.evaluate("document.querySelector('#front .point[tabindex=\"0\"]').focus()")
    seen = [page.evaluate(tip).split("\n")[0]]
    for _ in range(11):
        page.press("ArrowRight", 39)
        seen.append(page.evaluate(tip).split("\n")[0])
    assert sorted(seen) == sorted(answers.results.configurations.index[:12])
    page.press("Escape", 27)
    assert page.evaluate(tip) == ""


def test_intervals_of_points_are_those_of_the_statistics(page: Page, answers: Answers) -> None:
    """The page computes them for any axes; here beside Student's t from scipy."""
    from scipy.stats import t

    values = answers.results.matrix(USE)[0]
    half = t.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    _choose(page, "document.getElementById('front-x')", USE)
    label = page.evaluate("document.querySelector('#front .point[data-name=c01]').getAttribute('aria-label')")
    assert f"TSTR, income: {values.mean():.3f} ({values.mean() - half:.3f} to {values.mean() + half:.3f})" in label


def test_effects_follow_the_metric(page: Page) -> None:
    _choose(page, "document.getElementById('effects-metric')", RISK)
    assert page.evaluate("document.querySelectorAll('#effects .forests figure').length") == 3
    text = page.evaluate("document.querySelector('#effects .forests').textContent")
    assert "<none>" in text and "uniform" in text
    assert page.evaluate("document.querySelectorAll('#effects .pairs td').length") >= 4


def test_the_thesis_figures_are_drawn_or_say_why_not(page: Page) -> None:
    assert page.evaluate("document.querySelectorAll('#figures [data-stages] svg').length") == 3
    assert page.evaluate("document.querySelectorAll('#figures [data-facet=k] svg').length") == 3
    assert page.evaluate("document.getElementById('figures').textContent").count("does not vary it") == 3


def test_figure_of_singling_out_against_efficacy(page: Page) -> None:
    """A point per configuration and the generator alone, each with its numbers; a shape per generator."""
    about = page.evaluate(
        "[...document.querySelectorAll('#figures [data-scatter] svg.figure .point')].map(one => one.ariaLabel)"
    )
    assert len(about) == 12 + 12 and sum(each.startswith("generator alone: ") for each in about) == 12
    assert all("Singling out" in each and "TSTR" in each for each in about)
    legend = page.evaluate("document.querySelector('#figures [data-scatter] .legend').textContent")
    assert legend == "cart<none>generator alone"


def test_no_point_s_interval_leaves_the_range_of_its_metric(tmp_path: Path) -> None:
    table = _table()
    table[USE] = np.minimum(table[USE] + np.tile([0.2, 0.1, 0.05], 13)[: len(table)], 1)
    path = tmp_path / "comparison.html"
    path.write_text(render_comparison("high", answer(results(table, FACTORS)), describe(REGISTRY.values())))
    with browser(tmp_path / "profile") as page:
        page.open(path)
        about = page.evaluate("[...document.querySelectorAll('#front .point')].map(one => one.ariaLabel).join()")
    ends = [float(end) for end in re.findall(r"TSTR, income: [\d.]+ \([−\d.]+ to ([\d.]+)\)", about)]
    assert len(ends) == 12 and 0.98 < max(ends) < 1.0


def test_texts_are_never_markup(page: Page) -> None:
    assert page.evaluate("document.images.length") == 0


def test_it_prints_every_row(page: Page) -> None:
    assert page.pdf().startswith(b"%PDF")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.long')).overflow") == "visible"
    assert page.evaluate("getComputedStyle(document.querySelector('.choices')).display") == "none"
    page.call("Emulation.setEmulatedMedia", media="")


def test_one_run_alone_opens_without_an_error(tmp_path: Path) -> None:
    table = _table().head(1)
    path = tmp_path / "comparison.html"
    path.write_text(render_comparison("one", answer(results(table, FACTORS)), describe(REGISTRY.values())))
    with browser(tmp_path / "profile") as page:
        page.open(path)
        assert page.problems == []
        assert page.evaluate("document.querySelectorAll('#front .point[data-name]').length") == 1


def test_nothing_measured_opens_without_an_error(tmp_path: Path) -> None:
    table = _table().tail(1).dropna(axis=1)
    path = tmp_path / "comparison.html"
    path.write_text(render_comparison("none", answer(results(table, FACTORS)), describe(REGISTRY.values())))
    with browser(tmp_path / "profile") as page:
        page.open(path)
        assert page.problems == []
        assert "No run ended well" in page.evaluate("document.body.textContent")
