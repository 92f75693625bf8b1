"""Differences between a run and the last release, by hand; and the files that a release will hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.difference import Change, ComparedRow, MovedMetric, difference_to_last, side_by_side
from hybrid.publication.finished_run import read_run
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish, release_contents
from hybrid.publication.withdraw import withdraw
from tests.publication.conftest import SEED, an_anonymization, an_evaluation, config

RunMaker = Callable[..., Path]


@pytest.fixture
def zones(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "releases", tmp_path / "work"


def _utility(value: float, low: float, high: float) -> Evaluation:
    """The usual evaluation with another utility."""
    *others, utility = an_evaluation().metrics
    return Evaluation((*others, replace(utility, outcome=Measure(value, low, high, 0.92, 500))))


def test_nothing_to_compare_with_is_said(make_run: RunMaker, zones: tuple[Path, Path]) -> None:
    assert difference_to_last(read_run(make_run()), *zones) is None


def test_the_same_run_again_does_not_differ(make_run: RunMaker, zones: tuple[Path, Path]) -> None:
    release = publish(make_run("one"), *zones)
    found = difference_to_last(read_run(make_run("two", seed=5)), *zones)
    assert found is not None and found.release == release.name and found.same_source
    assert not (found.policy or found.settings or found.roles or found.counts or found.added or found.removed)
    assert found.moved == () and found.compared == 3


def test_every_sort_of_change_is_named(
    make_run: RunMaker, policy: Policy, zones: tuple[Path, Path], tmp_path: Path
) -> None:
    publish(make_run("one"), *zones)
    columns = {"age": {"role": "sensitive", "kind": "integer"}, "ward": {"role": "insensitive", "kind": "categorical"}}
    run = make_run(
        "two",
        data_fingerprint="d" * 64,
        measured=_utility(0.86, 0.85, 0.87),
        anonymized=an_anonymization(k=9, suppressed=44),
        judged_by=Policy.model_validate(policy.model_dump() | {"version": "2"}),
        anonymize={"engine": "exact", "k": 9},
        data=config(tmp_path)["data"] | {"columns": columns},
    )
    found = difference_to_last(read_run(run), *zones)
    assert found is not None and not found.same_source
    assert Change("version", "1", "2") in found.policy
    assert found.settings == (Change("anonymize.k", "5", "9"),)
    assert found.roles == (Change("age", "quasi_identifier", "sensitive"),)
    assert (found.added, found.removed) == (("ward",), ())
    assert found.counts == (Change("k", "5", "9"), Change("suppressed", "20", "40")), "counts in tens"
    assert found.moved == (MovedMetric("tstr", "income", "0.9 (0.89 to 0.91)", "0.86 (0.85 to 0.87)", False),)


@pytest.mark.parametrize(
    ("now", "moved"), [((0.905, 0.9, 0.91), False), ((0.92, 0.911, 0.93), True), ((0.92, 0.91, 0.93), False)]
)
def test_a_metric_has_moved_where_the_intervals_do_not_meet(
    now: tuple[float, float, float], moved: bool, make_run: RunMaker, zones: tuple[Path, Path]
) -> None:
    publish(make_run("one"), *zones)
    found = difference_to_last(read_run(make_run("two", measured=_utility(*now))), *zones)
    assert found is not None and [one.better for one in found.moved] == ([True] if moved else [])


def test_a_value_that_is_gone_is_named(make_run: RunMaker, zones: tuple[Path, Path]) -> None:
    publish(make_run("one"), *zones)
    run = make_run("two", measured=Evaluation(an_evaluation().metrics[:-1]))
    found = difference_to_last(read_run(run), *zones)
    assert found is not None and found.moved == (MovedMetric("tstr", "income", "0.9 (0.89 to 0.91)", "–", None),)
    assert found.compared == 2


def test_a_withdrawn_release_is_nothing_to_compare_with(make_run: RunMaker, zones: tuple[Path, Path]) -> None:
    first = publish(make_run("one"), *zones)
    withdraw(first.name, *zones, "Ada Byron", "wrong file")
    assert difference_to_last(read_run(make_run("two")), *zones) is None


def test_no_place_seed_or_label_is_told(
    make_run: RunMaker, zones: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    publish(make_run("one"), *zones)
    run = make_run("two", seed=SEED + 1, data_fingerprint="d" * 64, synthesize={"generator": "cart", "seed": SEED + 1})
    with pytest.raises(SystemExit) as done:
        main(["difference", str(run), "--releases", str(zones[0]), "--work", str(zones[1]), "--json"])
    shown = capsys.readouterr().out
    assert done.value.code == 0 and json.loads(shown)["same_source"] is False
    for secret in (str(SEED + 1), str(SEED), "secret-place", "label-of-a-real-record", "d" * 64):
        assert secret not in shown
    with pytest.raises(SystemExit):
        main(["difference", str(run), "--releases", str(zones[0]), "--work", str(zones[1])])
    assert "made from other records" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("provenance", [False, True])
def test_the_list_of_files_is_that_of_the_release(
    provenance: bool, make_run: RunMaker, zones: tuple[Path, Path]
) -> None:
    run = read_run(make_run(publish={"provenance": provenance}))
    said = release_contents(run)
    release = publish(run.folder, *zones)
    assert {*said.copied, *said.made} == {path.name for path in release.iterdir()}
    assert "anonymized.parquet" in said.kept and "synthetic.csv" not in said.kept


def test_runs_stand_side_by_side(make_run: RunMaker, capsys: pytest.CaptureFixture[str]) -> None:
    one = make_run("one")
    two = make_run("two", measured=_utility(0.86, 0.85, 0.87), anonymize={"engine": "exact", "k": 9})
    three = make_run("three", measured=_utility(0.895, 0.88, 0.91))
    found = side_by_side([read_run(one), read_run(two), read_run(three)])
    assert found.settings == (ComparedRow("anonymize.k", ("5", "9", "5")),)
    by_name = {row.what: row for row in found.metrics}
    assert by_name["tstr income"].values == ("0.9 (0.89 to 0.91)", "0.86 (0.85 to 0.87)", "0.895 (0.88 to 0.91)")
    assert by_name["tstr income"].apart and not by_name["identical_match"].apart
    assert by_name["inference pay"].values == ("–", "–", "–")
    for runs in ([one], [one] * 9):
        with pytest.raises(ConfigError, match="side by side"):
            side_by_side([read_run(run) for run in runs])
    with pytest.raises(SystemExit) as done:
        main(["side-by-side", str(one), str(two), "--json"])
    assert done.value.code == 0 and json.loads(capsys.readouterr().out)["verdicts"] == list(found.verdicts[:2])
