"""Draws: numbered at publication, judged at the confidence of their number."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from hybrid.base.errors import DataError
from hybrid.evaluation.engine.intervals import simultaneous
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.draws import count_draw, count_run
from hybrid.publication.finished_run import read_run
from hybrid.publication.gate import ERROR, LEAST_SHARED, judge
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish

RunMaker = Callable[..., Path]


def with_interval(evaluation: Evaluation) -> Evaluation:
    """Copies with an excess of .006 (.004 to .008)."""
    copies, *others = evaluation.metrics
    assert isinstance(copies.outcome, Measure)
    outcome = replace(copies.outcome, excess=(0.006, 0.004, 0.008))
    return Evaluation((replace(copies, outcome=outcome), *others))


def stated(run: Path, number: Any) -> Path:
    """The run, with the number of its draw in the manifest."""
    path = run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"draw": number}))
    return run


def message_of(release: Path) -> str:
    checks = json.loads((release / "certificate.json").read_text())["verdict"]["checks"]
    return next(str(check["message"]) for check in checks if check["rule"] == "copies")


def test_the_tenth_draw_is_judged_more_strictly(
    make_run: RunMaker, evaluation: Callable[..., Evaluation], policy: Policy, tmp_path: Path
) -> None:
    measured = with_interval(evaluation())
    loose = policy.model_copy(update={"rules": (policy.rules[0].model_copy(update={"review": 0.1, "block": 0.2}),)})
    for number, name in ((1, "first"), (10, "tenth")):
        work = tmp_path / f"work-{name}"
        run = make_run(f"{name}/run", measured=measured, judged_by=loose, draw=number, work=work)
        release = publish(run, tmp_path / name, work)
        half = (
            0.002 * NormalDist().inv_cdf((1 + simultaneous(1 - ERROR, LEAST_SHARED)) / 2) / NormalDist().inv_cdf(0.975)
        )
        assert f"(between {1000 * (0.006 - half):.3g} and {1000 * (0.006 + half):.3g})" in message_of(release)
        assert ("judged more strictly, being a repeated draw" in message_of(release)) == (number > 1)
        assert json.loads((release / "certificate.json").read_text())["draw"]["words"].startswith(f"{name} draw")


def test_the_same_table_with_the_same_numbers_is_the_same_draw(
    evaluation: Callable[..., Evaluation], policy: Policy, tmp_path: Path
) -> None:
    measured = evaluation()
    noisy = evaluation(copies=0.001 + 1e-12)
    numbers = [
        count_draw(tmp_path, name, data, policy, table, found).number
        for name, data, table, found in (
            ("adult", "data", "table", measured),
            ("adult", "data", "table", noisy),
            ("adult", "data", "other table", measured),
            ("adult", "data", "table", evaluation(copies=0.002)),
            ("adult", "other data", "table", measured),
            ("adult", "data", "table", measured),
            ("other name", "data", "third table", measured),
        )
    ]
    assert numbers == [1, 1, 2, 3, 1, 1, 1]


def test_runs_beside_the_published_one_are_counted_first(make_run: RunMaker, policy: Policy, tmp_path: Path) -> None:
    work = tmp_path / "the zone that publishes"
    run = make_run("chosen", rows="age\n1\n")
    for at in range(4):
        make_run(f"beside{at}", rows=f"age\n{at + 2}\n")
    make_run("other data", data_fingerprint="0" * 64)
    make_run("other policy", judged_by=policy.model_copy(update={"version": "2"}))
    (make_run("damaged", rows="age\n9\n") / "evaluation.json").write_text("{}")
    (tmp_path / "runs" / "notes.txt").write_text("a file")
    assert count_run(work, read_run(run)).number == 5
    make_run("later", rows="age\n10\n")
    again = count_run(work, read_run(run))
    assert (again.number, again.total) == (6, 6)


@pytest.mark.parametrize("number", [0, -1, 10**9, "three", 1.5])
def test_a_number_that_no_run_writes_is_refused(make_run: RunMaker, number: Any) -> None:
    with pytest.raises(DataError, match="not the folder of a finished run"):
        read_run(stated(make_run(), number))


def test_the_verdict_of_the_gate_without_a_count_is_that_of_a_first_draw(
    evaluation: Callable[..., Evaluation], policy: Policy
) -> None:
    measured = with_interval(evaluation())
    assert judge(policy, measured, None) == judge(policy, measured, None, draws=1)
    assert judge(policy, measured, None) != judge(policy, measured, None, draws=2)
