"""Auditing files from anywhere: what differs between them is said, and the verdict is right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError, DataError
from hybrid.evaluation import EvaluateOptions
from hybrid.jobs.audit import config_with_roles, judge_tables, read_audit, rules_for_tables
from hybrid.jobs.audited import read_audited
from hybrid.pipeline.config import RunConfig
from hybrid.publication.policy import load_policy
from hybrid.publication.verdict import Verdict
from hybrid.table import Kind
from hybrid.table.data_options import DataOptions
from tests.helpers.german import not_german
from tests.helpers.pages import report_text

FAST = EvaluateOptions(metrics=("identical_match", "dcr_share", "singling_out", "membership"), attacks=200)


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "city": rng.choice(["Ulm", "Bonn", "Jena"], n),
            "cost": np.round(rng.lognormal(6 + age / 60, 1), 2),
            "smokes": rng.choice(["yes", "no"], n),
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for seed, name in enumerate(("train", "control", "synthetic")):
        paths[name] = tmp_path / f"{name}.csv"
        people(400, seed).to_csv(paths[name], index=False)
    return paths


def rewrite(path: Path, frame: pd.DataFrame, **how: str) -> None:
    frame.to_csv(path, index=False, **how)  # type: ignore[call-overload]


def options(**columns: dict[str, object]) -> DataOptions:
    return DataOptions.model_validate({"path": "x", "columns": columns})


def test_order_of_columns_separator_and_format_may_differ(files: dict[str, Path]) -> None:
    plain = read_audited(**files, options=options())
    rewrite(files["control"], pd.read_csv(files["control"])[["smokes", "cost", "city", "age"]], sep=";")
    parquet = files["synthetic"].with_suffix(".parquet")
    pd.read_csv(files["synthetic"]).to_parquet(parquet)
    again = read_audited(files["train"], files["control"], parquet, options())
    assert plain.notes == again.notes == ()
    for name in ("train", "control", "synthetic"):
        pd.testing.assert_frame_equal(
            getattr(plain, name).frame, getattr(again, name).frame, check_dtype=False, check_categorical=False
        )


def test_missing_columns_are_refused_all_at_once(files: dict[str, Path]) -> None:
    for name in ("control", "synthetic"):
        rewrite(files[name], pd.read_csv(files[name]).drop(columns=["age", "city"]))
    with pytest.raises(DataError) as raised:
        read_audited(**files, options=options())
    assert len(raised.value.problems) == 2
    assert "'age', 'city'" in str(raised.value)


def test_a_column_the_generator_was_never_shown_may_be_missing(files: dict[str, Path]) -> None:
    rewrite(files["train"], pd.read_csv(files["train"]).assign(name=[f"person {i}" for i in range(400)]))
    audited = read_audited(**files, options=options(name={"role": "identifier"}))
    assert "name" not in audited.train.schema
    rewrite(files["synthetic"], pd.read_csv(files["synthetic"]).assign(name="x"))
    (note,) = read_audited(**files, options=options(name={"role": "identifier"})).notes
    assert "identifiers were not examined" in note


def test_extra_columns_and_kinds_that_differ_are_noted(files: dict[str, Path]) -> None:
    synthetic = pd.read_csv(files["synthetic"])
    changed = synthetic.assign(age=synthetic["age"] + 0.5, smokes=np.arange(400), more="x")
    rewrite(files["synthetic"], changed)
    audited = read_audited(**files, options=options())
    assert [audited.train.schema[name].kind for name in ("age", "smokes")] == [Kind.DECIMAL, Kind.CATEGORICAL]
    assert audited.synthetic.schema == audited.train.schema
    extra, *kinds = audited.notes
    assert extra.endswith("more")
    assert [note.split(":")[0] for note in kinds] == ["age", "smokes"]


def test_a_column_without_values_takes_the_kind_of_the_others(files: dict[str, Path]) -> None:
    rewrite(files["synthetic"], pd.read_csv(files["synthetic"]).assign(age=np.nan))
    audited = read_audited(**files, options=options())
    assert audited.notes == ()
    assert audited.synthetic.schema["age"].kind is Kind.INTEGER
    assert audited.synthetic.frame["age"].isna().all()


def test_control_records_must_not_be_those_of_train(files: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="are in"):
        read_audited(files["train"], files["train"], files["synthetic"], options())
    mixed = pd.concat([pd.read_csv(files["train"])[:40], pd.read_csv(files["control"])[:360]])
    rewrite(files["control"], mixed)
    (note,) = read_audited(**files, options=options()).notes
    assert "10 % more of the control rows" in note


def judged(files: dict[str, Path], config: RunConfig, out: Path) -> Verdict:
    found = judge_tables(read_audit(files["train"], files["control"], files["synthetic"], config), config, seed=1)
    found.save(out)
    return found.verdict


def test_what_was_not_asked_for_is_not_computed_and_the_report_says_so(files: dict[str, Path], tmp_path: Path) -> None:
    plain = config_with_roles(None, files["train"])
    pages = {}
    for also in ((), "all"):
        cheap = EvaluateOptions(families=("fidelity",), power=False, also=also)
        config, out = plain.model_copy(update={"evaluate": cheap}), tmp_path / f"out-{also}"
        judged(files, config, out)
        found = json.loads((out / "evaluation.json").read_text())
        pages[also] = {one["name"] for one in found["metrics"]}, report_text(out)
    (few, said), (every, unsaid) = pages.values()
    assert {"total_variation", "lost_column"} <= few < every and "wasserstein" in every - few
    assert "asks for them: wasserstein, " in said and "evaluate.also: all" in said
    assert "asks for them" not in unsaid


def test_verdicts_of_a_copy_a_small_copy_and_a_fresh_sample(files: dict[str, Path], tmp_path: Path) -> None:
    everything = EvaluateOptions(attacks=200)
    config = config_with_roles(None, files["train"]).model_copy(update={"evaluate": everything})
    fresh = judged(files, config, tmp_path / "fresh")
    assert fresh.status == "review", "400 people are too few to notice every leak"
    assert {check.rule.partition(":")[0] for check in fresh.open_checks} == {"power"}
    few = judged(files, config.model_copy(update={"evaluate": FAST}), tmp_path / "few")
    assert few.status == "review", "attacks that were not made are no pass"
    train = pd.read_csv(files["train"])
    for rows in (400, 50):
        rewrite(files["synthetic"], train.sample(rows, random_state=1))
        assert judged(files, config, tmp_path / "copy").status == "block"
        notes = read_audited(**files, options=options()).notes
        assert any("few rows" in note for note in notes) == (rows == 50)
    assert report_text(tmp_path / "copy").count("few rows (synthetic 50)") == 1


def test_roles_given_by_hand_and_rules_about_an_intermediate_table(files: dict[str, Path]) -> None:
    config = config_with_roles(None, files["train"], targets=["cost"], secrets=["smokes"], quasi_identifiers=["age"])
    schema = read_audited(**files, options=config.data).train.schema
    assert (schema.targets, schema.sensitive, schema.quasi_identifiers) == (["cost"], ["smokes"], ["age"])
    policy = load_policy()
    assert policy.anonymity
    assert rules_for_tables(policy).anonymity == ()
    with pytest.raises(ConfigError, match="no rules about metrics"):
        rules_for_tables(policy.model_copy(update={"rules": ()}))


def test_control_records_of_another_population_are_for_review(files: dict[str, Path], tmp_path: Path) -> None:
    control = pd.read_csv(files["control"])
    rewrite(files["control"], control.assign(age=control["age"] + 25))
    evaluate = EvaluateOptions(metrics=("discriminator",))
    config = config_with_roles(None, files["train"]).model_copy(update={"evaluate": evaluate})
    verdict = judged(files, config, tmp_path / "audit")
    assert verdict.checks[0].rule == "train and control alike"
    assert verdict.status == "review"


def test_both_pages_are_german_with_every_note_on_the_files(files: dict[str, Path], tmp_path: Path) -> None:
    train, control, synthetic = (pd.read_csv(files[name]) for name in ("train", "control", "synthetic"))
    rewrite(files["control"], pd.concat([train[:20], control.assign(age=control["age"] + 25)[:160]]))
    rewrite(files["synthetic"], synthetic.assign(smokes=np.arange(400), more="x"))
    evaluate = EvaluateOptions(metrics=("discriminator", "identical_match", "lost_column"), power=False)
    config = config_with_roles(None, files["train"]).model_copy(update={"evaluate": evaluate})
    out = tmp_path / "audit"
    judged(files, config, out)
    assert len(json.loads((out / "evaluation.json").read_text())["notes"]) == 4
    data = {*train.columns, *train["city"], *train["smokes"], "more", "train", "control", "categorical", "default"}
    for page in ("report.de.html", "report-details.de.html"):
        text = (out / page).read_text(encoding="utf-8")
        assert '<html lang="de"' in text and not_german(text, data) == [], page
    first = (out / "report.html").read_text(encoding="utf-8")
    assert "The rows of the files that were compared." in first and "step by step" not in first
