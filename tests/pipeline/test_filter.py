"""The filter of drawn rows: what it finds, the void it makes, and its way through a run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hybrid.base.errors import ConfigError, GeneratorError
from hybrid.cli import main
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.lab.leak import known_leak
from hybrid.pipeline.config import RunConfig, load_config, parse_config
from hybrid.pipeline.filtering import control_halves, filtered
from hybrid.pipeline.generation import Generated, learned_again
from hybrid.pipeline.risk import KnownLeak, RiskOptions
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.rules.comparisons import COMPARISONS, Compared
from hybrid.synthesize.options import FilterOptions
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people


def no_more(rows: int, attempt: int) -> Table:
    raise AssertionError("no further rows are drawn")


@pytest.fixture(scope="module")
def people() -> tuple[Table, Table, Table, Table]:
    """Training records, control records of the filter and of the evaluation, and fresh people."""
    rng = np.random.default_rng(1)
    train, control, others, fresh = (make_people(n, rng) for n in (800, 400, 800, 800))
    return train, control, others, fresh


def leaky(people: tuple[Table, ...], share: float) -> KnownLeak:
    return known_leak(people[0], people[3], RiskOptions(model="leaky", leak=share), 1)


def dropped(people: tuple[Table, ...], share: float, **options: Any) -> Generated:
    chosen = FilterOptions.model_validate({"action": "drop", **options})
    return filtered(Generated(leaky(people, share).table), people[0], people[1], chosen, 1, no_more)


@pytest.mark.parametrize("score", ["distance", "ratio"])
def test_copies_are_left_out_and_fresh_rows_stay(people: tuple[Table, ...], score: str) -> None:
    found = dropped(people, 0.5, score=score)
    assert found.filtered is not None
    assert 400 <= found.filtered.removed[0] < 440
    assert len(found.table) == 800 - found.filtered.removed[0]
    assert found.filtered.drawn == (800,)


def test_the_filter_leaves_a_copy_nothing(people: tuple[Table, ...]) -> None:
    assert len(dropped(people, 1.0).table) == 0


def excesses(people: tuple[Table, ...], table: Table) -> dict[str, Measure]:
    options = EvaluateOptions(metrics=("dcr_share", "membership"))
    found = evaluate(people[0], people[2], {"synthetic": table}, options, np.random.default_rng(1))
    return {m.name: m.outcome for m in found.metrics if isinstance(m.outcome, Measure)}


def test_a_fine_filter_makes_no_void_and_a_coarse_one_is_judged_on_its_other_side(people: tuple[Table, ...]) -> None:
    fine, coarse = (excesses(people, dropped(people, 0.0, below=below).table) for below in (0.02, 0.75))
    for name, measure in fine.items():
        assert measure.excess is not None
        assert measure.excess[2] > 0, name
    for name, measure in coarse.items():
        assert measure.excess is not None
        assert measure.excess[2] < 0, f"{name} sees the void"
        judged = COMPARISONS["excess"].number(Compared(name, "", measure, 0.95, 0.0, None, None))
        assert not isinstance(judged, str)
        assert judged.number > 0, "the gate judges rows that keep away"
        assert judged.blocks == -math.inf


def test_rows_are_drawn_again_until_there_are_enough(people: tuple[Table, ...]) -> None:
    train, control, _, fresh = people
    attempts = []

    def again(rows: int, attempt: int) -> Table:
        attempts.append(attempt)
        return fresh.take(np.random.default_rng(attempt).integers(len(fresh), size=rows))

    found = filtered(Generated(leaky(people, 0.5).table), train, control, FilterOptions(), 1, again)
    assert len(found.table) == 800
    assert found.filtered is not None
    assert attempts == list(range(1, len(found.filtered.drawn)))
    assert excesses(people, found.table)["membership"].value < 0.53


def test_a_generator_that_copies_is_not_repaired(people: tuple[Table, ...]) -> None:
    train, control = people[:2]
    with pytest.raises(GeneratorError, match=r"100% of all drawn rows lie too near"):
        filtered(
            Generated(train), train, control, FilterOptions(rounds=2), 1, lambda rows, _: train.take(np.arange(rows))
        )


def test_each_person_of_control_is_on_one_side(people: tuple[Table, ...]) -> None:
    control = people[1]
    persons = np.arange(len(control)) // 3
    mine, others = control_halves(Table(control.frame, control.schema, persons), 1)
    assert not mine.rows_are_persons
    assert not others.rows_are_persons
    assert not set(mine.persons) & set(others.persons)
    assert len(mine) + len(others) == len(control)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filter")
    make_people(500, np.random.default_rng(5)).frame.to_csv(folder / "people.csv", index=False)
    content = {
        "seed": 3,
        "data": {"path": "people.csv", "unlisted": "insensitive"},
        "protect": "off",
        "synthesize": {"options": {"min_leaf": 2, "smoothing": 0}, "filter": {}},
        "evaluate": {"metrics": ["dcr_share"], "power": False, "original": False},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    return folder / "config.yaml"


def changed(config: RunConfig, **update: Any) -> RunConfig:
    return config.model_copy(update={"synthesize": config.synthesize.model_copy(update=update)})


def test_the_filter_is_a_stage_with_its_own_key(job: Path) -> None:
    config = load_config(job)
    with_filter, without = TableRun(config), TableRun(changed(config, filter=None))
    assert set(with_filter.keys) - set(without.keys) == {"filter"}
    assert with_filter.keys["synthesize"] == without.keys["synthesize"], "the draw is the same"
    assert with_filter.keys["evaluate-synthetic"] != without.keys["evaluate-synthetic"]
    coarse = TableRun(changed(config, filter=FilterOptions(below=0.1)))
    moved = {name for name, key in coarse.keys.items() if key != with_filter.keys[name]}
    assert moved == {"filter", "evaluate-synthetic"}
    assert len(with_filter.generated.table) == len(with_filter.drawn.table) == len(without.generated.table)
    assert with_filter.filtered is not None
    assert sum(with_filter.filtered.removed) > 0
    assert with_filter.control is not None
    assert without.control is not None
    assert len(with_filter.control) == pytest.approx(len(without.control) / 2, abs=1)


def test_an_attacker_who_trains_again_filters_too(job: Path) -> None:
    pipeline = TableRun(load_config(job))
    again = pipeline.with_training(pipeline.train, 4)
    assert again.filtered is not None
    assert again.control is None
    assert sum(again.filtered.removed) > 0


def test_an_attacker_draws_as_many_rows_as_the_attack_wants(job: Path) -> None:
    pipeline = TableRun(load_config(job, {"synthesize.filter": None, "synthesize.rows": 70}))
    some = pipeline.train.take(np.arange(60))
    drawn = [pipeline.with_training(some, 4, times).generated.table for times in (None, 0.5, 2.0)]
    assert [len(table) for table in drawn] == [70, 30, 120]
    alone = [learned_again(pipeline.config, some, 4, times) for times in (1.0, 0.5)]
    assert [len(table) for table in alone] == [60, 30]


def test_a_run_says_what_was_left_out_and_what_it_costs(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(SystemExit):
        main(["run", str(job), "--out", str(out)])
    report = (out / "report.html").read_text(encoding="utf-8")
    assert re.search(r"distance below 0.02: [0-9,]+ of [0-9,]+(, [0-9,]+ of [0-9,]+)* left out", report)
    assert "keep away from training records reveal them" in report
    stages = [stage["name"] for stage in json.loads((out / "manifest.json").read_text())["stages"]]
    assert "filter" in stages


def test_no_budget_is_claimed_behind_a_filter(job: Path) -> None:
    config = load_config(job, {"synthesize.generator": "privbayes", "synthesize.options": {"epsilon": 1.0}})
    assert config.synthesize.filter is not None
    unmet = [c.text for c in TableRun(config).promises.explanation.conditions if not c.met]
    assert "no row is left out for its distance to a training record" in unmet


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"split": {"control": 0}}, "control records"),
        ({"synthesize": {"generator": "none", "filter": {}}}, "no generator runs"),
        ({"data": {"path": "t.csv", "columns": {"w": {"role": "weight", "kind": "decimal"}}}}, "sampling weights"),
    ],
)
def test_what_a_filter_cannot_do_is_refused(sections: dict[str, Any], message: str) -> None:
    content = {"data": {"path": "t.csv"}, "synthesize": {"filter": {}}, **sections}
    with pytest.raises(ConfigError, match=message):
        parse_config(content)
