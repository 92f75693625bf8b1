"""Which configurations a plan has: combinations, lists, subsets, constraints, duplicates, scales."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.comparison import forecast, load_plan
from hybrid.comparison.plan import Subset
from hybrid.comparison.schedule import _drawn, _holds, expand, schedule
from hybrid.store import own_seconds, took
from tests.comparison.comparison_jobs import write_plan


def configurations(folder: Path, **plan: Any) -> list[dict[str, Any]]:
    return [dict(each.factors) for each in expand(load_plan(write_plan(folder, **plan)), folder).configurations]


def left_out(folder: Path, **plan: Any) -> list[str]:
    return [each.reason for each in expand(load_plan(write_plan(folder, **plan)), folder).left_out]


def test_every_combination_with_every_seed_in_order(folder: Path) -> None:
    plan = load_plan(write_plan(folder, factors={"anonymize.k": [5, 7], "transition.order": ["pre", "post"]}))
    trials = [each.trial for each in schedule(plan, folder).planned]
    found = [(one.name, one.factors["anonymize.k"], one.factors["transition.order"], one.seed) for one in trials]
    pairs = list(itertools.product([5, 7], ["pre", "post"]))
    said = {"pre": "before", "post": "after"}
    assert found == [(f"k {k}, {said[order]}", k, order, seed) for k, order in pairs for seed in (1, 2)]


def test_a_list_of_configurations(folder: Path) -> None:
    listed = [{"anonymize.k": 5}, {"anonymize.k": 7, "transition.order": "post"}]
    assert configurations(folder, configurations=listed) == [
        {"anonymize.k": 5, "transition.order": None},
        {"anonymize.k": 7, "transition.order": "post"},
    ]


def test_named_levels_set_several_keys(folder: Path) -> None:
    factors = {"transition": {"a": {"transition.method": "uniform", "transition.order": "post"}}}
    [only] = expand(load_plan(write_plan(folder, factors=factors)), folder).configurations
    assert only.factors == {"transition": "a"}
    assert only.config is not None and only.config.transition is not None
    assert (only.config.transition.method, only.config.transition.order) == ("uniform", "post")


def test_another_method_leaves_the_options_of_the_file_s_behind(folder: Path) -> None:
    """The demo's config sets an estimator, which only its own method knows."""
    found = expand(load_plan(write_plan(folder, factors={"transition.method": ["single", "conditional"]})), folder)
    assert [each.problem for each in found.configurations] == ["", ""]
    methods = [each.config.transition.model_dump() for each in found.configurations]  # type: ignore[union-attr]
    assert "estimator" not in methods[0] and methods[1]["estimator"] == "histogram"


def test_constraints_drop_with_their_reason_and_reach_keys_that_are_no_factor(folder: Path) -> None:
    factors = {"anonymize.k": [5, 10, 50], "transition.order": ["pre", "post"]}
    drop = {"anonymize.k": {"at_least": 10}, "transition.order": "post", "synthesize.generator": ["cart"]}
    constraints = [{"drop": drop, "because": "too coarse"}]
    kept = configurations(folder, factors=factors, constraints=constraints)
    assert [(c["anonymize.k"], c["transition.order"]) for c in kept] == [
        (5, "pre"),
        (5, "post"),
        (10, "pre"),
        (50, "pre"),
    ]
    assert left_out(folder, factors=factors, constraints=constraints) == ["too coarse"] * 2


@pytest.mark.parametrize(
    ("value", "wanted", "holds"),
    [
        *[(5, 5, True), (5, [4, 5], True), (5, "5", False), (None, None, True), ("a", {"not": ["a", "b"]}, False)],
        *[(5, {"at_least": 5, "at_most": 7}, True), (8, {"at_most": 7}, False), ("8", {"at_most": 9}, False)],
        *[({"x": 1}, {"x": 1}, True), (True, {"at_least": 0}, False)],
    ],
)
def test_conditions(value: Any, wanted: Any, holds: bool) -> None:
    assert _holds(value, wanted) is holds


def test_an_option_without_effect_is_no_other_configuration(folder: Path) -> None:
    factors = {"sample.method": ["none", "simple"], "sample.beta": [0.5, 1.0]}
    kept = configurations(folder, factors=factors)
    assert [(c["sample.method"], c["sample.beta"]) for c in kept] == [("none", 0.5), ("simple", 0.5)]
    reasons = left_out(folder, factors=factors)
    assert "sample.beta = 0.5" in reasons[0] and "no effect" in reasons[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 60), st.integers(0, 99))
def test_a_latin_hypercube_shows_every_value_equally_often(sizes: list[int], n: int, seed: int) -> None:
    """The first n points before duplicates are replaced: counts of a factor's values differ by one at most."""
    points = list(_drawn(sizes, Subset(n=n, seed=seed)))
    assert len(points) == len(set(points))
    assert all(0 <= value < size for point in points for value, size in zip(point, sizes, strict=True))
    wide = list(itertools.islice(_drawn([n, *sizes], Subset(n=n, seed=seed)), n))
    counts = [Counter(point[i] for point in wide) for i in range(1, len(sizes) + 1)]
    for size, count in zip(sizes, counts, strict=True):
        assert sum(count.values()) == n
        assert max(count.values()) - min(count.get(v, 0) for v in range(size)) <= 1


@pytest.mark.parametrize("method", ["latin_hypercube", "random"])
def test_a_subset_has_n_valid_configurations_and_depends_on_its_seed_alone(folder: Path, method: str) -> None:
    plan = {
        "factors": {"anonymize.k": [5, 6, 7, 8], "sample.method": ["none", "simple"], "sample.beta": [0.5, 0.9]},
        "constraints": [{"drop": {"anonymize.k": 6}, "because": "no"}],
    }
    chosen = [configurations(folder, **plan, subset={"n": 5, "method": method, "seed": s}) for s in (0, 0, 1)]
    assert len(chosen[0]) == 5 and chosen[0] == chosen[1] != chosen[2]
    assert all(c["anonymize.k"] != 6 for c in chosen[0])
    everything = configurations(folder, **plan, subset={"n": 100, "method": method})
    assert len(everything) == len(configurations(folder, **plan)) == 9


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sets(st.integers(2, 30), min_size=1, max_size=3),
    st.sets(st.sampled_from(["none", "beta", "simple"]), min_size=1),
    st.sets(st.sampled_from([0.2, 0.5, 1.0]), min_size=1),
)
def test_nothing_is_lost(folder: Path, k: set[int], methods: set[str], betas: set[float]) -> None:
    """Every combination is run, or left out with a reason; what runs is different."""
    plan = {"factors": {"anonymize.k": [*k], "sample.method": [*methods], "sample.beta": [*betas]}}
    found = expand(load_plan(write_plan(folder, **plan)), folder)
    assert len(found.configurations) + len(found.left_out) == len(k) * len(methods) * len(betas)
    effective = [(c.config.anonymize.k, c.config.sample.effective) for c in found.configurations]  # type: ignore[union-attr]
    assert len({str(each) for each in effective}) == len(effective)
    assert all(each.reason for each in found.left_out)


def test_a_scale_changes_the_plan(folder: Path) -> None:
    path = write_plan(
        folder,
        factors={"anonymize.k": [5, 7]},
        scale="small",
        scales={"small": {"set": {"split.rows": 100}, "factors": {"anonymize.k": [3]}, "seeds": [9]}, "full": {}},
    )
    small, full = load_plan(path), load_plan(path, "full")
    assert (small.factors, small.seeds, small.set) == (
        {"anonymize.k": [3]},
        (9,),
        {"sample.beta": 0.5, "split.rows": 100},
    )
    assert (full.factors, full.seeds, full.set) == ({"anonymize.k": [5, 7]}, (1, 2), {"sample.beta": 0.5})
    with pytest.raises(ConfigError, match="no scale 'huge'"):
        load_plan(path, "huge")


def test_a_scale_lists_configurations_instead_of_factors(folder: Path) -> None:
    listed = [{"anonymize.k": 3}, {"anonymize.k": 9, "sample.beta": 0.2}]
    path = write_plan(
        folder, factors={"anonymize.k": [5]}, subset={"n": 1}, scales={"listed": {"configurations": listed}, "all": {}}
    )
    plan = load_plan(path, "listed")
    found = expand(plan, folder).configurations
    assert plan.factor_names == ["anonymize.k", "sample.beta"]
    assert [each.config and (each.config.anonymize.k, each.config.sample.beta) for each in found] == [
        (3, 0.5),
        (9, 0.2),
    ]
    assert load_plan(path, "all").factors == {"anonymize.k": [5]}
    back = write_plan(folder, factors={}, configurations=listed, scales={"f": {"factors": {"anonymize.k": [4]}}})
    assert [each.factors for each in expand(load_plan(back, "f"), folder).configurations] == [{"anonymize.k": 4}]
    both = write_plan(folder, scales={"both": {"factors": {"anonymize.k": [4]}, "configurations": listed}})
    with pytest.raises(ConfigError, match="configurations take the place of factors and subset"):
        load_plan(both)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"factors": {}}, "factors or configurations"),
        ({"factors": {"a": []}}, "without a value"),
        ({"seeds": [1, 1]}, "a seed is listed twice"),
        ({"configurations": [{"anonymize.k": 5}], "subset": {"n": 1}}, "subset"),
        ({"constraints": [{"drop": {}, "because": "x"}]}, "constraints"),
    ],
)
def test_mistakes_are_named(folder: Path, plan: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_plan(write_plan(folder, **plan))


def test_too_many_combinations_ask_for_a_subset(folder: Path) -> None:
    factors = {f"evaluate.{name}": list(range(400)) for name in ("attacks", "min_cell")}
    with pytest.raises(ConfigError, match="160,000 combinations"):
        configurations(folder, factors=factors)


def test_a_scale_may_be_about_another_table(folder: Path) -> None:
    scales = {"other": {"base": "other.yaml"}}
    assert load_plan(write_plan(folder, scales=scales), "other").base == "other.yaml"
    assert load_plan(write_plan(folder, scales=scales)).base == "config.yaml"


def test_the_dry_run_foresees_trainings_of_attacks(folder: Path, tmp_path: Path) -> None:
    evaluate = {"metrics": ["membership_trained"], "retrain": {"halves": 50, "pool": 100}}
    path = write_plan(folder, configurations=[{"evaluate": evaluate}], seeds=[1])
    seconds = {stage.stage: stage.seconds for stage in forecast(load_plan(path), folder, tmp_path).stages}
    once, again = seconds["synthesize"], seconds["evaluate-synthetic"]
    assert 10 * once < again < 50 * once  # on 50 records of 210


def test_the_dry_run_finds_what_cannot_run_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A generator without its packages, and a configuration that is none: by name, and with exit code 1."""
    generators = [{"synthesize.generator": name} for name in ("none", "ctgan")]
    listed = [*generators, {"synthesize.generator": "no such"}, {"evaluate.metrics": ["no_such"]}, {"anonymize.k": 999}]
    path = write_plan(folder, configurations=listed, seeds=[1, 2], set={})
    monkeypatch.setattr("hybrid.synthesize.registry._available", lambda generator: generator.name != "ctgan")
    monkeypatch.setattr("hybrid.synthesize.registry._missing", lambda _: ["sdv"])
    found = forecast(load_plan(path), folder, tmp_path).refused
    assert [each.configurations for each in found] == [("ctgan",), ("no such",), ("metrics no_such",), ("k 999",)]
    assert "the generator ctgan needs sdv, not installed here" in found[0].reason and "pip install" in found[0].reason
    assert "no_such" in found[2].reason and "k is 999 but there are only 210" in found[3].reason
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(path), "--dry-run", "--out", str(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 1 and "cannot run here: ctgan: the generator ctgan needs sdv" in said
    write_plan(folder, configurations=generators[:1], seeds=[1, 2], set={})
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(path), "--dry-run", "--out", str(tmp_path)])
    assert ended.value.code == 0


def test_the_dry_run_says_what_it_can_find_and_what_it_does_not_know(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Worked: t of one degree of freedom 12.706, 2 seeds, r = .3, 90 control people near .8."""
    plan = load_plan(write_plan(folder))
    reach = forecast(plan, folder, tmp_path).reach
    assert reach is not None and (reach.seeds, reach.people) == (2, 90)
    assert reach.one == pytest.approx(12.7062 * np.sqrt(1 / 2 + 0.3 / 0.7) * np.sqrt(2 * 0.16 / 90), rel=1e-4)
    more = forecast(plan.model_copy(update={"seeds": tuple(range(9))}), folder, tmp_path).reach
    assert more is not None and more.one < reach.one / 4 and more.one < more.every < reach.every
    with pytest.raises(SystemExit):
        main(["compare", str(folder / "plan.yaml"), "--dry-run", "--out", str(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    assert "with 2 seeds and 90 control people a difference in TSTR between two configurations below about 0.73" in said
    assert "expected time: about" in said and "by estimates for a machine that does nothing else" in said
    write_plan(folder, seeds=[1])
    with pytest.raises(SystemExit):
        main(["compare", str(folder / "plan.yaml"), "--dry-run", "--out", str(tmp_path)])
    assert "with one seed no difference" in " ".join(capsys.readouterr().out.split())


def test_the_dry_run_counts_what_sharing_leaves(folder: Path, tmp_path: Path) -> None:
    """By hand: 2 k x 2 sampling x (pre, post) x 2 seeds."""
    expected = forecast(load_plan(write_plan(folder)), folder, tmp_path)
    counts = {stage.stage: (stage.asked, stage.distinct) for stage in expected.stages}
    assert counts == {
        "anonymize": (16, 2 * 2),
        "sample": (16, 2 * 2 * 2),
        "transition": (16, 2 * 2 * 2),
        "synthesize": (16, 16),
        "baseline": (16, 2),
        "evaluate-original": (16, 2),
        "evaluate-anonymized": (16, 2 * 2 * 2),
        "evaluate-synthetic": (16, 16),
        "evaluate-baseline": (16, 2),
    }
    assert expected.executions == 4 + 8 + 8 + 16 + 2 + 2 + 8 + 16 + 2
    assert expected.seconds > 0 and not expected.is_measured and not (tmp_path / "rows.jsonl").exists()
    assert all(stage.seconds > 0 for stage in expected.stages)


def test_concerns_in_the_user_s_order(folder: Path) -> None:
    """Without a number, the plan's margin; as YAML has it: {privacy, usefulness: 0.1}."""
    plan = load_plan(write_plan(folder, margin=0.03, prefer={"privacy": None, "usefulness": 0.1}))
    assert list(plan.margins.items()) == [("privacy", 0.03), ("usefulness", 0.1)]
    for wrong in ({"speed": 0.1}, {"privacy": 0.0}, {"privacy": 2}):
        with pytest.raises(ConfigError, match="prefer"):
            load_plan(write_plan(folder, prefer=wrong))


def test_seconds_of_what_was_made_before_are_those_of_its_stage() -> None:
    """An evaluation of several tables at once is shared out: the stage has its part, the trial around it has not."""
    with own_seconds() as trial:
        with own_seconds() as stage:
            took(0.5)
        assert 0.5 <= stage() < 0.6
    assert -0.5 <= trial() < -0.4
