from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.analysis import answer, results
from hybrid.analysis.contrasts import Estimate
from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.fidelity import references
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.report import comparison_json, describe, render_comparison
from hybrid.report.comparison.words import advice, with_interval
from hybrid.report.run.inputs import title_of

TEXTS = describe(REGISTRY.values())
FACTORS = ["anonymize.k", "transition.method"]
COPIES, TSTR, APART = "synthetic.identical_match", "synthetic.tstr.income", "synthetic.discriminator"


def _table(seeds: int = 3) -> pd.DataFrame:
    rows = []
    for name, k, method, utility, copies in (
        ("c1", 5, "uniform", 0.80, 0.01),
        ("c2", 5, "conditional", 0.88, 0.05),
        ("c3", 20, "uniform", 0.79, 0.02),
    ):
        for seed in range(1, seeds + 1):
            shift = 0.001 * seed * (1 + k / 10)
            row = {"configuration": name, "anonymize.k": k, "transition.method": method, "seed": seed, "status": "ok"}
            row |= {"reason": "", "verdict": "review", TSTR: utility + shift, f"{TSTR}_low": 0.7, f"{TSTR}_high": 0.9}
            row |= {COPIES: copies + shift, f"{COPIES}_reference": 0.0}
            rows.append(row | {"baseline.tstr.income": 0.9, "baseline.identical_match": 0.2})
    failed = {"configuration": "c4", "anonymize.k": 20, "transition.method": "conditional", "seed": 1}
    rows.append(failed | {"status": "failed", "reason": "the generator </script><b>gave up</b>", "verdict": None})
    return pd.DataFrame(rows)


def _facets(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    same = {"sampling": "none", "beta": "1", "order": "pre", "generator": "cart", "rest": ""}
    return {
        row["configuration"]: same | {"k": str(row["anonymize.k"]), "transition": row["transition.method"]}
        for row in table.to_dict("records")
    }


def _answers(table: pd.DataFrame, factors: list[str] = FACTORS) -> Any:
    return answer(results(table, factors, _facets(table)))


def _html(table: pd.DataFrame, title: str = "strategies", left_out: tuple[str, ...] = ()) -> str:
    return render_comparison(title, _answers(table), TEXTS, left_out)


def _data(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def _column(data: Mapping[str, Any], name: str) -> list[Any]:
    column = data["runs"][name]
    return column if isinstance(column, list) else [column["values"][code] for code in column["codes"]]


def test_every_run_is_embedded_with_its_numbers() -> None:
    table = _table()
    data = _data(_html(table))
    assert _column(data, "configuration") == list(table["configuration"])
    assert _column(data, "reason") == list(table["reason"])
    for name in (COPIES, TSTR, f"{TSTR}_low", "baseline.tstr.income"):
        found = np.array(_column(data, name), dtype=float)
        np.testing.assert_allclose(found, table[name].to_numpy(float), rtol=1e-5)


def test_self_contained_with_one_script_that_the_policy_knows() -> None:
    html = _html(_table())
    assert not re.search(
        r"https?:(?!//www\.w3\.org/2000/svg)|\ssrc=|url\(|@import|<link|fetch\(|XMLHttp|import\(", html
    )
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert len(scripts) == 1 and policy is not None
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in policy[1] or f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")


def test_failures_and_left_out_are_told_and_escaped() -> None:
    html = _html(_table(), "<i>x</i>", ("no effect", "no effect", "senseless"))
    assert "the generator &lt;/script&gt;&lt;b&gt;gave up&lt;/b&gt;" in html
    assert "<i>x</i>" not in html
    assert "“c4”: 1" in html
    assert re.search(r"no effect</th><td[^>]*>2</td>", html)


def test_one_seed_says_that_it_has_no_intervals() -> None:
    html = _html(_table(seeds=1))
    data = _data(html)
    effects = next(each for each in data["effects"] if each["column"] == TSTR)
    assert all("low" not in level["effect"] for level in effects["main"]["anonymize.k"])
    assert "One seed:" in html and "nothing is concluded" in html


def test_json_says_the_same_as_the_page() -> None:
    answers = _answers(_table())
    found = comparison_json("strategies", answers, TEXTS)
    data = _data(render_comparison("strategies", answers, TEXTS))
    assert json.loads(json.dumps(found)) == {key: data[key] for key in found}
    assert found["paradox"]["differences"][0]["pairs"] == 1
    conditional = next(each for each in found["paradox"]["differences"] if each["column"] == TSTR)
    assert conditional["difference"]["value"] == pytest.approx(0.08)


def test_page_says_what_its_intervals_are_about() -> None:
    known = _table()
    known.loc[known["configuration"] == "c2", TSTR] += (0.0, 0.01, 0.05)
    shared = r"control sets share (\d+) %"
    table = known.assign(records=1000, control_records=300)
    plain, wider = (comparison_json("", _answers(each), TEXTS) for each in (known, table))
    html = _html(table)
    assert re.findall(shared, _html(known)) == [] and set(re.findall(shared, html)) == {"30"}
    one, other = (
        next(each["difference"] for each in found["paradox"]["differences"] if each["column"] == TSTR)
        for found in (plain, wider)
    )
    assert one["value"] == other["value"] == pytest.approx(0.1)
    half, larger = (each["high"] - each["value"] for each in (one, other))
    assert larger == pytest.approx(half * np.sqrt((1 / 3 + 3 / 7) * 3), rel=5e-4)
    assert (plain["overlap"], wider["overlap"]) == (0.0, 0.3)
    halves = {n: round(half, 4) for n, half in _data(html)["halves"].items()}
    assert halves["3"] == round(4.302653 * np.sqrt(1 / 3 + 3 / 7), 4)


def test_the_choice_flatters_and_the_page_says_so() -> None:
    said = " ".join(advice(_answers(_table()), TEXTS).why)
    assert "Chosen among 3:" in said
    # Mean of c2 in the table above.
    assert "TSTR, income = 0.883" in said.partition("Chosen among")[2]


def test_advice_names_its_ground() -> None:
    """c2 is .08 more useful with every seed, and .03 to .04 less safe."""
    answers = _answers(_table())
    found = comparison_json("", answers, TEXTS)["recommendation"]
    box = advice(answers, TEXTS)
    assert found["chosen"]["configuration"] == "c2" and box.headline.startswith("Take “c2”: ")
    assert [row.concern for row in box.rows] == ["usefulness", "privacy"]
    assert {row.settled for row in box.rows} == {"settled"} and found["settled"]
    assert any(re.match(r"3 of 4 .*; 3 of them", one) for one in box.why)
    assert any("TSTR, income = 0.883" in one for one in box.why)


def _noisy(seed: int, n: int = 5, seeds: int = 3) -> pd.DataFrame:
    """Random results: numbers that differ by less or more than their noise, now and then another verdict."""
    rng = np.random.default_rng(seed)
    table = _table().head(1)
    rows = []
    spread, size = float(rng.choice([0.001, 0.02])), float(rng.choice([0.0, 0.01, 0.1]))
    for at in range(n):
        own = dict(zip((TSTR, COPIES, APART), np.array([0.8, 0.1, 0.7]) + size * rng.normal(size=3), strict=True))
        verdict = str(rng.choice(["pass", "review", "block"]))
        for number in range(1, seeds + 1):
            row = table.iloc[0].to_dict() | {"configuration": f"c{at + 1}", "anonymize.k": at, "seed": number}
            row |= {name: value + spread * rng.normal() for name, value in own.items()} | {"verdict": verdict}
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("seed", range(25))
def test_the_first_box_and_the_ranking_say_the_same(seed: int) -> None:
    """On the page, in its data and in comparison.json."""
    found = _answers(_noisy(seed, seeds=1 + seed % 4))
    html = render_comparison("strategies", found, TEXTS)
    ranked = re.search(r'<section id="best">.*?<tbody>\s*<tr><th scope="row">(\w+)</th>', html, re.DOTALL)
    taken = re.search(r'<div class="take"><p>[^<]*?“(\w+)”', html)
    assert ranked is not None
    content = comparison_json("strategies", found, TEXTS)
    assert content["ranking"][0]["configuration"] == ranked[1]
    if taken is None:
        assert content["ranking"][0]["verdict"] == "block" and _data(html)["recommended"] is None
        return
    assert taken[1] == ranked[1] == _data(html)["recommended"]
    assert content["recommendation"]["chosen"]["configuration"] == ranked[1]


def test_the_box_says_what_the_seeds_do_not_tell_apart() -> None:
    """Closeness alone differs: 12 times the distance is no toss-up of .016 TSTR."""
    table = _table().iloc[:9].copy()
    noise = [-1, 0, 1, 1, -1, 0, 0, 1, -1]
    table[TSTR] = np.repeat([0.847, 0.831, 0.828], 3) + 0.02 * np.array(noise)
    table[COPIES] = np.repeat([0.147, 0.072, 0.103], 3) + 0.02 * np.array(noise)
    table[APART] = np.repeat([0.993, 0.659, 0.719], 3) + 0.001 * np.array(noise)
    box = advice(_answers(table), TEXTS)
    said = " ".join(box.shown)
    assert box.headline == "“c2” comes first, but it may not be the best."
    alike = re.search(r"These 3 seeds show no[^.]*\.", said)
    apart = re.search(r"By (\w+) \(Discriminator\) these 3 seeds show (\d) of the 2 others to be worse: [^.]*\.", said)
    assert alike is not None and "usefulness (TSTR)" in alike[0] and "privacy (Strongest attack)" in alike[0]
    assert apart is not None and apart[1] == "closeness" and sorted(re.findall(r"c\d", apart[0])) == ["c1", "c3"]
    assert re.search(r"To settle it: (about \d+ more seeds, or )?.*times as many rows", said)
    assert "One seed" in advice(_answers(table[table["seed"] == 1]), TEXTS).headline


def test_the_box_says_when_nothing_differs() -> None:
    """Shown to be within the margins, with little noise; not shown, with more."""
    table = _table().iloc[:9].copy()
    noise = np.array([-1, 0, 1, 1, -1, 0, 0, 1, -1])
    for spread, end in ((1e-5, "by usefulness, then by privacy."), (0.02, "comes first, perhaps by chance.")):
        table[TSTR], table[COPIES] = 0.8 + spread * noise, 0.1 + spread * noise[::-1]
        headline = advice(_answers(table), TEXTS).headline
        assert headline.startswith(
            "These 3 seeds show no difference between the 3 configurations."
        ) and headline.endswith(end)


def test_the_box_says_that_the_gate_left_one() -> None:
    """No difference is shown, and all but one are blocked: there is nobody to be behind."""
    table = _table().iloc[:9].copy()
    table[TSTR] = 0.8 + 0.02 * np.array([-1, 0, 1, 1, -1, 0, 0, 1, -1])
    table["verdict"] = np.where(table["configuration"] == "c3", "review", "block")
    box = advice(_answers(table), TEXTS)
    assert box.headline == "Take “c3”: the gate judges every other configuration worse, with a seed or more."
    assert {row.most for row in box.rows} == {"no other is left"}


def test_an_end_far_below_its_number_has_three_decimals() -> None:
    assert with_interval(Estimate(0.24, 1.8e-10, 0.96, seeds=3)) == "0.240 (0.000 to 0.960)"
    assert with_interval(Estimate(2e-5, 1e-5, 3e-5, seeds=3)).count("e") == 3


def test_the_box_names_a_level_that_is_bad() -> None:
    """Of two factors, one with a level that costs .2 of usefulness."""
    rng = np.random.default_rng(2)
    row = _table().iloc[0].to_dict()
    rows = [
        row
        | {"configuration": f"{method}, {k}", "anonymize.k": k, "transition.method": method, "seed": seed}
        | {TSTR: 0.8 - 0.2 * (method == "uniform") + 0.002 * rng.normal(), COPIES: 0.1 + 0.002 * rng.normal()}
        for method in ("single", "uniform", "tree")
        for k in (5, 10)
        for seed in (1, 2, 3, 4)
    ]
    said = advice(_answers(pd.DataFrame(rows)), TEXTS).shown
    levels = [one for one in said if one.startswith("Over all runs")]
    assert len(levels) == 1 and "transition.method = uniform is worse by usefulness" in levels[0]


def test_equation_5_3_by_hand() -> None:
    """Pipelines .80 and .883 and .79 on average against .9 alone; copies against .2: better is positive."""
    table = _table().iloc[:9]
    answers = _answers(table)
    found = {each["column"]: each for each in comparison_json("", answers, TEXTS)["against_baseline"]}
    mean, copies = table[TSTR].mean(), table[COPIES].mean()
    assert found[TSTR]["relative"] == pytest.approx(100 * (mean - 0.9) / 0.9, rel=1e-4)
    assert found[COPIES]["relative"] == pytest.approx(100 * (0.2 - copies) / 0.2, rel=1e-4)
    html = _html(table)
    assert "Equation 5.3" in html and f"−{100 * (0.9 - mean) / 0.9:.1f} %" in html
    near_zero = _answers(table.assign(**{"baseline.identical_match": 0.001}))
    found = {each["column"]: each for each in comparison_json("", near_zero, TEXTS)["against_baseline"]}
    assert found[COPIES]["relative"] is None


def test_numbers_of_figures_are_those_of_the_thesis() -> None:
    """Chapter 5: 5.3 generator, 5.4 transition, 5.5 k, 5.6 sampling, 5.7 the scatter; the order is in the text."""
    headings = re.findall(r"<h3>(Figure 5[^<]*|In the thesis[^<]*)</h3>", _html(_table()))
    expected = [
        ("Figure 5.2", "stages"),
        ("Figure 5.3", "generator"),
        ("Figure 5.4", "transition"),
        ("Figure 5.5", "k"),
        ("Figure 5.6", "share beta"),
        ("Figure 5.6", "method"),
        ("In the thesis’ text, without a figure", "order"),
        ("Figure 5.7", "singling out against ML efficacy by generator"),
    ]
    assert len(headings) == len(expected)
    for heading, (number, about) in zip(headings, expected, strict=True):
        assert heading.replace("&#39;", "'").startswith(number) and about in heading


def test_nothing_is_recommended_where_all_is_blocked() -> None:
    table = _table()
    table.loc[table["status"] == "ok", "verdict"] = "block"
    html = _html(table)
    assert _data(html)["recommended"] is None and "recommended.yaml" not in html


def test_nothing_ended_well() -> None:
    failed = _table().tail(1).dropna(axis=1).reset_index(drop=True)
    html = _html(failed)
    assert _data(html)["recommended"] is None and _column(_data(html), "status") == ["failed"]
    assert "1 of them" in html


def test_one_configuration_without_factors() -> None:
    html = render_comparison("one", _answers(_table().head(3), []), TEXTS)
    assert "No factor was varied" in html
    assert "no other configuration ended well" in html


def test_a_thousand_runs_stay_below_five_megabytes() -> None:
    """Every default metric at every stage with intervals, all values different: more than a comparison has."""
    rng = np.random.default_rng(0)
    plan = pd.MultiIndex.from_product([range(37), ["a", "b", "c"], ["u", "v", "w"]]).to_frame(index=False)
    table = plan.rename(columns={0: "k", 1: "transition", 2: "generator"}).loc[np.repeat(np.arange(333), 3)]
    table = table.reset_index(drop=True)
    table["configuration"] = [f"c{at // 3:03d}" for at in range(len(table))]
    table["seed"] = np.tile([1, 2, 3], 333)
    table["status"], table["reason"], table["verdict"] = "ok", "", "pass"
    columns: dict[str, Any] = {}
    for metric in metrics_of(EvaluateOptions()):
        if metric in references.METRICS:  # of linked tables, which are not compared
            continue
        for stage in ("synthetic", "anonymized"):
            name = f"{stage}.{metric.name}" + (".income" if metric.per else "")
            columns[name] = rng.normal(size=len(table))
            columns |= {f"{name}_{end}": columns[name] + shift for end, shift in (("low", -0.1), ("high", 0.1))}
    table = pd.concat([table, pd.DataFrame(columns)], axis=1)
    found = results(table, ["k", "transition", "generator"])
    assert len(render_comparison("large", answer(found), TEXTS).encode()) < 5e6


def test_registry_metrics_are_described() -> None:
    assert set(TEXTS) == set(REGISTRY)
    assert all(text.sentence and text.direction and text.family for text in TEXTS.values())
    assert TEXTS["tstr"].reference == "model trained on real data"


@pytest.mark.parametrize(
    ("name", "title"), [("dcr_share", "DCR share"), ("knn_share", "k-NN share"), ("singling_out", "Singling out")]
)
def test_titles(name: str, title: str) -> None:
    assert title_of(name) == title
