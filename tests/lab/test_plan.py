"""Plans of the laboratory: series of every risk model, equal tables once, mistakes refused."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation import REGISTRY as METRICS
from hybrid.lab.plan import FIRST_NULL_SEED, load_plan
from hybrid.lab.risk import NO_NOISE, REGISTRY
from hybrid.lab.trials import lab_trials
from tests.lab.lab_jobs import write_lab

ALL: dict[str, Any] = {name: {} for name in REGISTRY}


@pytest.mark.parametrize("name", list(REGISTRY))
def test_series_begin_without_a_leak_or_hold_the_leak(name: str) -> None:
    model = REGISTRY[name]
    for series in model.series(model.Options()):
        settings = [level.settings for level in series.levels]
        if name == "outliers":
            assert [each["risk"] and each["risk"]["remove"] for each in settings] == [None, 0.01, 0.05, 0.1]
        elif name == "retraining":
            assert [each["evaluate.retrain"]["drawn"] for each in settings] == [0.25, 1.0, 4.0]
            assert all(each["risk"] is None for each in settings)
        elif series.scale == "none":
            assert len({each["risk"]["leak"] for each in settings}) == 1
        else:
            assert settings[0]["risk"] == {"model": "leaky", "leak": 0.0}
        assert len({str(each) for each in settings}) == len(settings)


def test_all_eight_noises_and_the_plain_one() -> None:
    model = REGISTRY["noisy"]
    names = [series.name for series in model.series(model.Options())]
    assert len(names) == len(set(names)) == 8 and names[0] == NO_NOISE
    assert len(model.series(model.Options(noise="each"))) == 5


def test_equal_tables_are_made_once_and_share_their_split(folder: Path) -> None:
    trials = lab_trials(load_plan(write_lab(folder, risk=ALL | {"dp": None}, seeds=[1])), folder)
    made = Counter((each.trial.name, each.trial.seed) for each in trials.planned)
    assert set(made.values()) == {1}
    clean = {cell.configuration for cell in trials.cells if cell.position == 0 and cell.series.scale != "none"}
    assert clean == {trials.nulls["patients"]}
    by_seed = [each.trial.config.split for each in trials.planned if each.trial.config and each.trial.seed == 1]
    assert len({str(split) for split in by_seed}) == 1
    null = [each for each in trials.planned if each.trial.seed >= FIRST_NULL_SEED]
    assert [each.trial.seed for each in null] == [FIRST_NULL_SEED, FIRST_NULL_SEED + 1]
    assert {each.trial.name for each in null} == set(trials.nulls.values())


def test_a_level_more_keeps_the_keys_of_the_others(folder: Path) -> None:
    before = lab_trials(load_plan(write_lab(folder)), folder)
    more = {"leaky": {"levels": [0, 0.1, 0.2, 0.6, 1]}}
    after = lab_trials(load_plan(write_lab(folder, risk=more)), folder)
    kept = {each.key for each in before.planned} & {each.key for each in after.planned}
    assert len(kept) == 4 * 3 + 2


def test_attackers_with_the_generator_make_their_metrics_alone(folder: Path) -> None:
    risk = {"leaky": {"levels": [0, 1]}, "retraining": {"drawn": [0.5, 2], "retrain": {"bagging": 12}}}
    trials = lab_trials(load_plan(write_lab(folder, risk=risk, seeds=[1], null_seeds=0)), folder)
    made = [each.trial.config.evaluate for each in trials.planned if each.trial.config]
    attacked = [each for each in made if each.retrain is not None]
    assert [each.retrain and each.retrain.drawn for each in attacked] == [0.5, 2.0]
    assert {each.retrain and each.retrain.bagging for each in attacked} == {12}
    assert {each.metrics for each in attacked} == {("bagging_membership",)}
    assert len(made) == 4


def test_metrics_that_are_off_are_switched_on_where_they_are_named(folder: Path) -> None:
    named = lab_trials(load_plan(write_lab(folder, metrics=["cl_dcr_share", "privacy_score"], seeds=[1])), folder)
    usual = lab_trials(load_plan(write_lab(folder, metrics=["dcr_share"], seeds=[1])), folder)
    for trials, on in ((named, True), (usual, False)):
        configs = [each.trial.config for each in trials.planned]
        assert all(config is not None for config in configs)
        for config in configs:
            assert config is not None
            assert (config.evaluate.encoder is not None) == (config.evaluate.privacy_score is not None) == on
            assert config.evaluate.encoder is None or config.evaluate.encoder.engine == "untrained"


def test_the_default_metrics_compare_with_people_never_seen(folder: Path) -> None:
    names = load_plan(write_lab(folder, metrics="default")).metric_names
    assert {"dcr_share", "membership", "singling_out", "gtcap"} <= set(names)
    assert not {"k_reached", "canary", "tstr"} & set(names)
    attacks = load_plan(write_lab(folder, metrics={"pillar": "attack"})).metric_names
    assert {METRICS[name].pillar for name in attacks} == {"attack"} and set(attacks) < set(names)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"risk": {}}, "name one of leaky"),
        ({"risk": {"leaky": {"levels": [0.1, 0.2]}}}, "begin with 0"),
        ({"split": {"release": 0.5, "control": 0.5}}, "nothing to train on"),
        ({"seeds": [1, 1]}, "listed twice"),
        ({"seeds": [FIRST_NULL_SEED]}, "those of the null trials"),
        ({"metrics": ["dcr_shore"]}, "dcr_shore"),
        ({"risk": {"leeky": {}}}, "leeky"),
        ({"risk": {"dp": {"fixed": {"aim": {"max_model_mb": 1}}}}}, "options of aim"),
        ({"risk": {"hyperparameters": {"vary": {"radios": [1, 2]}}}}, "radios"),
    ],
)
def test_mistakes_are_refused(folder: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_plan(write_lab(folder, **changes))


def test_scales_change_the_plan(folder: Path) -> None:
    small = {"rows": 120, "seeds": [7], "null_seeds": 0, "risk": {"leaky": {}}, "metrics": ["dcr_share"]}
    path = write_lab(folder, scales={"small": small})
    plan = load_plan(path, "small")
    assert plan.data["patients"].rows == 120 and plan.seeds == (7,) and plan.metric_names == ("dcr_share",)
    assert list(plan.risk_models) == ["leaky"]
    with pytest.raises(ConfigError, match="no scale 'large'"):
        load_plan(path, "large")


def test_the_packaged_plan_is_sound() -> None:
    packaged = Path(str(resources.files("hybrid.lab") / "demo.yaml"))
    assert [load_plan(packaged, scale).scale for scale in (None, "quick", "paper")] == [None, "quick", "paper"]
