"""The laboratory on a table from elsewhere: leaks planted into it, resumption, files, nothing that names a person."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.evaluation.trust import load_trust
from hybrid.jobs.audit import config_with_roles
from hybrid.jobs.audited import read_audited
from hybrid.lab import tables as plans
from hybrid.lab.measurements import NULL
from hybrid.lab.tables import AS_IT_IS, NO_LEAK, Amount, TablesPlan, run_on_tables, tables_trials
from hybrid.table.schema import concat_tables

METRICS = ("identical_match", "nndr_share", "gtcap", "copied_identifiers")
AMOUNT = Amount((0.05, 0.1, 0.3), (1, 2, 3), 20, None, ("copy", "splice", "histories"))
FILES = ["correlations.csv", "lab.csv", "lab.html", "league.csv", "league.json", "manifest.json", "rows.jsonl"]
CONFIG = f"""
data:
  path: train.csv
  columns: {{age: {{role: quasi_identifier}}, town: {{role: quasi_identifier}}, illness: {{role: sensitive}}}}
evaluate: {{metrics: [{", ".join(METRICS)}]}}
"""


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = {f"x{at}": rng.normal(50, 20, n).round(3) for at in range(3)}
    other = {"age": rng.integers(18, 90, n), "town": rng.choice(list("ABCDEF"), n)}
    return pd.DataFrame({**other, **numbers, "illness": rng.choice(["none", "flu", "cold"], n)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 training records, 200 others, a table of which one row in twenty is a training record, and a clean one."""
    folder = tmp_path_factory.mktemp("tables")
    train = people(300, 1)
    train.to_csv(folder / "train.csv", index=False)
    people(200, 2).to_csv(folder / "control.csv", index=False)
    pd.concat([train[:15], people(285, 3)]).to_csv(folder / "synthetic.csv", index=False)
    people(300, 4).to_csv(folder / "clean.csv", index=False)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


def plan_of(folder: Path, control: bool = True) -> TablesPlan:
    config = config_with_roles(folder / "config.yaml", folder / "train.csv")
    files = folder / "train.csv", folder / "control.csv" if control else None, folder / "synthetic.csv"
    return TablesPlan("synthetic", read_audited(*files, config.data), config.evaluate)


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(plans.SCALES, None, AMOUNT)
        run_on_tables(plan_of(folder), folder / "out")
    return folder / "out"


def test_the_answer(out: Path) -> None:
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) == FILES
    league = json.loads((out / "league.json").read_text())
    believe = {each["name"]: each for each in league["believe"]}
    copies = next(each for each in believe["identical_match"]["notices"] if each["kind"] == "copy")
    assert copies["from"] in (0.05, 0.1) and believe["identical_match"]["misses"] in ([], ["splice"])
    # One row in twenty is a training record: that is what the metric says of the table as it is, and of that alone.
    excess, low, _ = believe["identical_match"]["as_it_is"]
    assert excess == pytest.approx(0.05, abs=0.01) and low > 0
    doubt = {each["name"]: each["because"] for each in league["do_not_believe"]}
    assert "not computable" in doubt["copied_identifiers"]
    assert league["given"]["rows"] == {"train": 300, "control": 200, "synthetic": 300}
    assert "histories" in league["given"]["not_planted"]
    page = (out / "lab.html").read_text()
    assert "on this table" in page and "Believe these" in page and "On the table as it is, " in page
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")


def test_what_the_table_gives_away_itself_is_no_alarm_but_in_the_trial_as_it_is(out: Path) -> None:
    numbers = pd.read_csv(out / "lab.csv")
    exact = numbers[numbers["contestant"] == "identical_match"]
    nulls = exact[exact["risk"] == NULL]
    assert len(nulls) == 23 and abs(nulls["excess"].mean()) < 0.03
    assert (nulls["excess_low"] > 0).sum() <= 3
    copied = exact[(exact["risk"] == "copy") & (exact["dial"] == 0.3)]
    without = exact[(exact["risk"] == "copy") & (exact["dial"] == 0)]
    # 30 % of the rows are replaced by training records, some of which copied somebody before.
    rise = copied.set_index("seed")["excess"] - without.set_index("seed")["excess"]
    assert (rise > 0.2).all() and (rise < 0.35).all()


def test_the_league_serves_an_audit(out: Path) -> None:
    trust = load_trust(out / "league.json").of("identical_match", None)
    assert trust is not None and trust.copies in (0.05, 0.1) and trust.word in ("trusted", "usable")


def test_nothing_names_a_person(folder: Path, out: Path) -> None:
    train = pd.read_csv(folder / "train.csv", dtype=str)
    written = "".join((out / name).read_text() for name in FILES)
    values = set(train["x0"]) | set(train["x1"]) | set(train["x2"])
    assert not [value for value in values if len(value) > 5 and f"{value}" in written]
    assert (out.stat().st_mode & 0o777) == 0o700


def test_what_was_interrupted_goes_on(folder: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plans.SCALES, None, AMOUNT)
    plan, stopped = plan_of(folder), RuntimeError("stopped")

    def stop(step: str, done: int, total: int | None = None, **values: float) -> None:
        if done == 12:
            raise stopped

    with pytest.raises(RuntimeError):
        run_on_tables(plan, tmp_path / "part", stop)
    before = (tmp_path / "part" / "rows.jsonl").read_bytes()
    assert before.count(b"\n") == 12
    run_on_tables(plan, tmp_path / "part")
    after = (tmp_path / "part" / "rows.jsonl").read_bytes()
    assert after.startswith(before)
    whole, part = (pd.read_csv(at / "lab.csv").drop(columns="cpu_seconds") for at in (out, tmp_path / "part"))
    pd.testing.assert_frame_equal(whole, part)


def test_without_control_half_of_the_people_stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plans.SCALES, None, AMOUNT)
    plan = plan_of(folder, control=False)
    assert plan.control_share == 0.5 and len(plan.everybody) == 300
    names = {each.trial.name for each in tables_trials(plan).planned}
    assert AS_IT_IS not in names and NO_LEAK in names


def test_a_limit_on_rows_keeps_persons_whole(folder: Path) -> None:
    plan = plan_of(folder)
    persons = np.repeat(np.arange(100), 3)
    train = replace(plan.audited.train, named_persons=persons)
    some = plans._at_most(train, 31, "train")
    assert not some.rows_are_persons and len(some) == 30
    assert set(np.bincount(some.persons)) == {0, 3}
    mine, its = (replace(train.take(np.arange(3)), named_persons=np.array(each)) for each in ([0, 1, -1], [0, -1, 2]))
    both = concat_tables(mine, its).persons
    assert both is not None and both.tolist() == [0, 1, -1, 2, -2, 4]
    some = concat_tables(mine, replace(its, named_persons=None)).persons
    assert some is not None and some.tolist() == [0, 1, -1, 2, 3, 4]


def test_commands(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(plans.SCALES, "quick", Amount((0.1, 0.2, 0.4), (1, 2, 3), 20, 200, ("copy",)))
    given = {"train": "train", "control": "control", "synthetic": "clean"}
    files = [f"--{option}={folder / name}.csv" for option, name in given.items()]
    common = [*files, "--config", str(folder / "config.yaml"), "--scale", "quick", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(["lab", *common, "--dry-run"])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and not (tmp_path / "out").exists()
    assert "33 trials, 23 of them without a leak" in said and "expected time: about" in said
    with pytest.raises(SystemExit) as ended:
        main(["lab", *common])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and "33 trials done" in said
    assert "1. identical_match: exact copies from 10 % on" in said
    with pytest.raises(SystemExit) as ended:
        main(["lab", *common, "--dry-run"])
    assert "33 trials are done already" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "given", [[], ["--train", "a.csv"], ["demo", "--train", "a.csv", "--synthetic", "b.csv"], ["demo", "--train", "a"]]
)
def test_a_plan_or_tables(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", *given])
    assert ended.value.code == 2 and "--synthetic" in capsys.readouterr().err


def test_an_unknown_scale_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no scale 'huge'"):
        replace(plan_of(folder), scale="huge")
