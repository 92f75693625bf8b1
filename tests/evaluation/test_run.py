from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress
from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.context import Context, Making
from hybrid.evaluation.engine import threads
from hybrid.evaluation.frames import measure
from hybrid.evaluation.measure import MetricResult, Outcome
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import RetrainOptions
from hybrid.evaluation.run_metrics import metrics_of, remembering
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people


def test_a_number_without_values_stops_no_model(tables: tuple[Table, Table, Table]) -> None:
    """Likeness was once not judged: boosting finds no bins in a column that has values in other rows alone."""
    dose = Column("dose", Role.INSENSITIVE, Kind.DECIMAL)

    def with_doses(table: Table, n: int) -> Table:
        frame = table.frame.assign(dose=np.where(np.arange(len(table)) < n, 1.5 * np.arange(len(table)), np.nan))
        return replace(table, frame=frame, schema=Schema((*table.schema, dose)))

    train, control, table = (with_doses(one, n) for one, n in zip(tables, (9, 0, 0), strict=True))
    options = EvaluateOptions(metrics=("discriminator", "mir"), attacks=100)
    found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(1)).metrics
    assert {one.name for one in found if isinstance(one.outcome, Measure)} == {"discriminator", "mir"}


@pytest.fixture
def tables() -> tuple[Table, Table, Table]:
    rng = np.random.default_rng(5)
    return make_people(120, rng), make_people(120, rng), make_people(120, rng)


def test_stages_do_not_influence_each_other(tables: tuple[Table, Table, Table]) -> None:
    train, control, table = tables
    options = EvaluateOptions(metrics=("dcr_share", "discriminator", "tstr", "singling_out"), attacks=100)
    alone = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(1))
    beside = evaluate(
        train, control, {"original": train, "baseline": control, "synthetic": table}, options, np.random.default_rng(1)
    )
    for stage in ("original", "baseline", "synthetic"):
        assert [one.name for one in beside.metrics if one.stage == stage] == [one.name for one in alone.metrics], stage
    for metric in alone.metrics:
        other = beside.find(metric.name, "synthetic", metric.column)
        assert other is not None
        assert other.outcome == metric.outcome


def test_progress_is_told_to_the_end(tables: tuple[Table, Table, Table]) -> None:
    steps: list[tuple[str, int, int | None]] = []
    options = EvaluateOptions(families=("fidelity",))
    evaluate(
        *tables[:2],
        {"original": tables[0], "synthetic": tables[2]},
        options,
        np.random.default_rng(1),
        lambda step, done, total=None, **_: steps.append((step, done, total)),
    )
    for stage in ("original", "synthetic"):
        told = [step for step in steps if step[0].startswith(f"evaluate {stage}")]
        assert told[0][1:] == (0, 100)
        assert told[-1] == (f"evaluate {stage}", 100, 100)
        assert [step[1] for step in told] == sorted(step[1] for step in told)
        named = {m.name for m in metrics_of(options) if not {"persons", "parents"} & set(m.needs)}
        assert {step[0].partition(": ")[2] for step in told[:-1]} == named


def test_without_control_what_needs_one_says_so(tables: tuple[Table, Table, Table]) -> None:
    found = evaluate(tables[0], None, {"synthetic": tables[2]}, EvaluateOptions(), np.random.default_rng(1))
    for result in found.metrics:
        if "control" in REGISTRY[result.name].needs:
            assert isinstance(result.outcome, NotComputable)
            assert "control" in result.outcome.reason or result.outcome.lacks == "persons"
        elif result.name == "copied_identifiers":
            assert result.outcome == NotComputable("no column names single records", lacks="identifiers")
        elif result.name == "constraint_violations":
            assert result.outcome == NotComputable("no constraint between columns is declared", lacks="constraints")
        elif result.name == "gaps_between_dates":
            assert isinstance(result.outcome, NotComputable) and result.outcome.lacks == "tied_dates"
        elif "weight" in REGISTRY[result.name].needs:
            assert result.outcome == NotComputable("no column has the role weight", lacks="weight")
        elif "trainings" in REGISTRY[result.name].needs:
            assert isinstance(result.outcome, NotComputable) and result.outcome.lacks == "trainings"
        elif result.name == "orphans":
            assert result.outcome == NotComputable("the table has no parent table", lacks="parents")
        else:
            assert isinstance(result.outcome, Measure), result.name
            if result.name not in ("k_reached", "l_reached", "t_reached"):
                assert result.outcome.reference is None


def test_one_failing_metric_stops_no_other_and_tells_no_cell(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> Measure:
        raise ValueError("cannot convert 'Diagnosis of Anna'")

    bad = Metric("dcr_share", "privacy", "lower", "", 0, 1, 0.5, 1.0, broken)
    monkeypatch.setitem(REGISTRY, "dcr_share", bad)
    options = EvaluateOptions(metrics=("dcr_share", "nndr"))
    found = evaluate(*tables[:2], {"synthetic": tables[2]}, options, np.random.default_rng(1))
    failed, other = found.metrics
    assert failed.outcome == NotComputable("failed with ValueError", "failed")
    assert "Anna" not in str(found.to_json())
    assert isinstance(other.outcome, Measure)


@pytest.mark.parametrize("field", ["also", "metrics", "targets", "secrets", "linkability"])
def test_unknown_names_are_refused(tables: tuple[Table, Table, Table], field: str) -> None:
    value = (("nope",), ("age",)) if field == "linkability" else ("nope",)
    with pytest.raises(ConfigError, match=r"nope(.|\n)*one of"):
        evaluate(*tables[:2], {}, EvaluateOptions.model_validate({field: value}), np.random.default_rng(1))


def test_families_and_names_choose_metrics() -> None:
    assert {m.family for m in metrics_of(EvaluateOptions(families=("utility",)))} == {"utility"}
    assert [m.name for m in metrics_of(EvaluateOptions(metrics=("nndr", "k_reached")))] == ["k_reached", "nndr"]
    for name, metric in REGISTRY.items():
        assert metric.name == name
        assert metric.sentence.endswith(".")
        assert metric.direction in ("lower", "higher")


def test_metrics_that_must_be_named_are_computed_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "nndr", replace(REGISTRY["nndr"], by_default=False))
    usual = [m.name for m in metrics_of(EvaluateOptions())]
    assert "nndr" not in usual
    assert {m.name for m in metrics_of(EvaluateOptions(also=("nndr",)))} == {"nndr", *usual}
    assert [m.name for m in metrics_of(EvaluateOptions(metrics=("mmd",), also=("nndr",)))] == ["nndr", "mmd"]


def test_a_used_up_budget_is_a_state_and_spares_other_families(tables: tuple[Table, Table, Table]) -> None:
    options = EvaluateOptions(families=("privacy", "fidelity"), seconds={"privacy": 0.0})
    for result in evaluate(*tables[:2], {"synthetic": tables[2]}, options, np.random.default_rng(1)).metrics:
        if result.family == "privacy":
            assert isinstance(result.outcome, NotComputable)
            assert result.outcome.state == "timed_out"
        elif (
            result.name not in ("constraint_violations", "gaps_between_dates", "orphans")
            and "weight" not in REGISTRY[result.name].needs
        ):
            assert isinstance(result.outcome, Measure)


def test_a_metric_per_column_without_columns_says_so(tables: tuple[Table, Table, Table]) -> None:
    options = EvaluateOptions(metrics=("tstr",), targets=())
    found = evaluate(*tables[:2], {"synthetic": tables[2]}, options, np.random.default_rng(1))
    assert found.metrics[0].outcome == NotComputable("no target column is declared", lacks="target")


def test_a_metric_of_frames_is_that_of_tables(tables: tuple[Table, Table, Table]) -> None:
    train, control, table = (t.frame for t in tables)
    (share,) = measure("dcr_share", train, control, table[table.columns[::-1]])
    reference = evaluate(
        *tables[:2], {"synthetic": tables[2]}, EvaluateOptions(metrics=("dcr_share",)), np.random.default_rng(1)
    )
    assert share.outcome.value == reference.metrics[0].outcome.value  # type: ignore[union-attr]
    results = measure("inference", train, control, table, sensitive=["illness", "cost"])
    assert [r.column for r in results] == ["cost", "illness"]
    (k,) = measure("k_reached", train, None, table, quasi_identifiers=["sex"])
    assert k.outcome.value == float(table["sex"].value_counts().min())
    with pytest.raises(ValueError, match="same columns"):
        measure("dcr_share", train, control, table.drop(columns="age"))
    with pytest.raises(ConfigError):
        measure("tstr", train, control, table, targets=["nope"])


@pytest.mark.parametrize(
    "metric", [metric for metric in REGISTRY.values() if metric.family == "privacy"], ids=lambda metric: metric.name
)
def test_every_privacy_metric_says_what_it_stands_for(metric: Metric) -> None:
    assert metric.pillar and metric.unit
    threat = (metric.risk, metric.mechanism, metric.access, metric.knows)
    if metric.pillar == "property":
        assert threat[1:] == (None, None, None)
        return
    assert all(threat)
    assert (metric.risk == "propensity") == (metric.pillar == "indicator")
    assert (metric.access == "black_box") == bool({"retraining", "trainings"} & set(metric.needs))
    assert (metric.knows == "quasi-identifiers") <= (metric.risk == "inference")


def test_what_the_fields_of_a_metric_say_holds_for_all_of_them() -> None:
    for metric in REGISTRY.values():
        assert not metric.leakage or (metric.family == "privacy" and metric.copy is not None)
        assert metric.family == "privacy" or (metric.pillar, metric.risk, metric.knows) == (None, None, None)
        json.dumps(metric.to_json())
    for privacy in (True, False):
        ranks = [m.decides for m in REGISTRY.values() if (m.family == "privacy") == privacy and m.decides is not None]
        assert len(ranks) == len(set(ranks)) > 0


def test_tables_side_by_side_score_as_one_after_the_other(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, control, table = tables
    stages = {"original": train, "baseline": control, "synthetic": table}
    options = EvaluateOptions(metrics=("dcr_share", "tstr", "discriminator", "mmd", "inference_exposed"))

    def measured(n_cores: int) -> list[MetricResult]:
        monkeypatch.setattr(threads, "cores", lambda: n_cores)
        return [
            replace(one, seconds=0.0)
            for one in evaluate(*tables[:2], stages, options, np.random.default_rng(3)).metrics
        ]

    assert measured(3) == measured(1)


def test_attacks_that_train_run_beside_the_other_metrics_of_their_table(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last metric of the table waits for the last training, and the last training for that metric."""
    train, control, table = tables
    monkeypatch.setattr(threads, "cores", lambda: 2)
    trained, measured = threading.Event(), threading.Event()
    beside = list[bool]()

    def again(people: Table, seed: int) -> Table:
        trained.set()
        beside.append(measured.wait(60))
        return people.take(np.random.default_rng(seed).integers(len(people), size=len(people)))

    compute = REGISTRY["rare_values"].compute

    def waiting(context: Context) -> Outcome:
        beside.append(trained.wait(60))
        measured.set()
        return compute(context)

    chosen = [REGISTRY["membership_trained"], replace(REGISTRY["rare_values"], compute=waiting)]
    options = EvaluateOptions(retrain=RetrainOptions(halves=20, pool=100))
    how = {"making": {"synthetic": Making(again=again)}, "metrics": chosen}
    found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(3), **how).metrics
    assert all(beside) and len(beside) == 21
    assert [one.name for one in found] == ["membership_trained", "rare_values"]

    budget = options.model_copy(update={"seconds": {"privacy": 1e6}})
    trained.set()
    one_by_one = evaluate(train, control, {"synthetic": table}, budget, np.random.default_rng(3), **how).metrics
    assert [one.outcome for one in one_by_one] == [one.outcome for one in found]


def test_a_category_of_a_tables_own_costs_no_search_among_people(tables: tuple[Table, Table, Table]) -> None:
    train, control, table = tables
    name = next(column.name for column in train.schema if column.kind is Kind.CATEGORICAL)
    frame = table.frame.assign(**{name: table.frame[name].astype(object)})
    frame.loc[:2, name] = "nobody's"
    added = replace(table, frame=frame.astype({name: table.frame[name].dtype.name}))
    found: dict[str, object] = {}
    keep = remembering(found)
    about_people = EvaluateOptions(
        metrics=("dcr_share", "lone_copies", "shared_cells", "membership", "inference_exposed")
    )

    evaluate(train, control, {"original": train}, about_people, np.random.default_rng(3), share=keep)
    before = set(found)
    evaluate(train, control, {"synthetic": added}, about_people, np.random.default_rng(3), share=keep)
    assert before
    assert set(found) == before

    depending = EvaluateOptions(metrics=("mmd", "association_difference", "lost_prediction", "pair_trends", "tstr"))
    alone, beside = (
        evaluate(train, control, stages, depending, np.random.default_rng(3)).metrics
        for stages in ({"synthetic": added}, {"original": train, "synthetic": added})
    )
    assert [one.outcome for one in beside if one.stage == "synthetic"] == [one.outcome for one in alone]


def test_what_tables_share_is_computed_once_by_several_threads() -> None:
    calls: list[str] = []
    share = remembering({})

    def compute() -> int:
        calls.append("computed")
        return len(calls)

    assert threads.side_by_side(lambda *_: share("key", compute), range(8)) == [1] * 8
    assert calls == ["computed"]


def test_libraries_keep_to_one_thread_until_the_last_block_ends() -> None:
    from threadpoolctl import threadpool_info

    def limits() -> list[int]:
        return [library["num_threads"] for library in threadpool_info()]

    before = limits()
    with threads.one_thread_each(models=True):
        with threads.one_thread(10**9, models=True):
            assert set(limits()) == {1}
        assert set(limits()) == {1}
    assert limits()[: len(before)] == before


def test_libraries_keep_to_one_thread_in_each_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.ensemble  # noqa: F401  brings OpenMP
    from threadpoolctl import threadpool_info, threadpool_limits

    def limits(*_: object) -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}

    monkeypatch.setattr(threads, "cores", lambda: 2)
    with threadpool_limits(limits=3, user_api="openmp"):
        assert threads.side_by_side(limits, range(4)) == [{1}] * 4
        assert limits() == {3}


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_ends_the_work_beside_it(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    met, failed = threading.Barrier(2, timeout=20), threading.Event()

    def work(item: int, told: Progress) -> None:
        met.wait()
        if item == failing:
            failed.set()
            raise ConfigError("the first error")
        failed.wait(20)
        for _ in range(20_000):
            told("step", 1)
            time.sleep(0.001)
        raise AssertionError("not ended")

    with pytest.raises(ConfigError, match="the first error"):
        threads.side_by_side(work, range(2))
