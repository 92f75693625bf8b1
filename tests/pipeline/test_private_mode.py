"""privacy.mode dp: what it refuses, what depends on which record, and what it says."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hybrid.base.errors import ConfigError, DataError
from hybrid.cli import app
from hybrid.pipeline.config import RunConfig, parse_config
from hybrid.pipeline.private_generation import drawn_privately
from hybrid.pipeline.private_mode import explain_private
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy.accounting import delta_of
from hybrid.table.split import SplitOptions, split
from tests.helpers.seeded_bits import seed_bits

COLUMNS = {
    "id": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "integer"},
    "ward": {"role": "quasi_identifier", "kind": "categorical"},
    "cost": {"kind": "decimal"},
    "ill": {"role": "sensitive", "kind": "boolean", "target": True},
}
KNOWN = {"age": {"bounds": [0, 99]}, "cost": {"bounds": [0, 500], "decimals": 1}}


def content(**changes: Any) -> dict[str, Any]:
    return {
        "name": "dp",
        "data": {"path": "people.csv", "person": "id", "max_rows": 2, "columns": COLUMNS},
        "privacy": {"mode": "dp", "epsilon": 3.0, "delta": 1e-5, "columns": KNOWN},
        "synthesize": {"options": {"iterations": 50}},
        "evaluate": {"metrics": ["column_shapes"]},
    } | changes


def people(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "id": [f"p{at // 3}" for at in range(n)],
            "age": np.where(ill, rng.integers(50, 90, n), rng.integers(10, 60, n)),
            "ward": np.where(
                rng.random(n) < 0.8, np.where(ill, "ICU", "eye"), "rare-" + pd.Series(range(n)).astype(str)
            ),
            "cost": np.round(rng.gamma(2, 50, n), 3),
            "ill": ill,
        }
    )


def config(**changes: Any) -> RunConfig:
    return parse_config(content(**changes)).with_frame(people())


def drawn(chosen: RunConfig) -> Any:
    pipeline = TableRun(chosen)
    return pipeline.drawn, pipeline


@pytest.fixture(scope="module")
def finished() -> tuple[Any, TableRun]:
    return drawn(config())


def problems(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(content(**changes))
    return [problem.message for problem in caught.value.problems]


def test_defaults_are_those_of_the_mode() -> None:
    chosen = parse_config(content())
    assert (chosen.protection, chosen.synthesize.generator, chosen.output.identifiers) == (None, "aim", "drop")
    assert chosen.split.independent
    assert parse_config(json.loads(chosen.model_dump_json())) == chosen


def test_everything_that_reads_records_is_refused_at_once() -> None:
    columns = COLUMNS | {"w": {"role": "weight", "kind": "decimal"}, "town": {}}
    found = "\n".join(
        problems(
            seed=3,
            data={"path": "people.csv", "person": "id", "household": "home", "columns": columns},
            protect={},
            anonymize={"k": 5},
            sample={"method": "beta", "beta": 0.5},
            constraints=[{"le": ["age", "cost"]}],
            split={"control": 0.3, "independent": False},
            synthesize={
                "generator": "cart",
                "where": "age > 3",
                "filter": {},
                "options": {},
            },
            output={"identifiers": "surrogate"},
        )
    )
    for word in (
        "seed",
        "max_rows",
        "household",
        "protect",
        "anonymize",
        "sample",
        "constraints",
        "split: one person",
        "cart keeps no account",
        "where",
        "filter",
        "surrogates",
        "data.columns.w:",
        "data.columns.town",
    ):
        assert word in found, word


@pytest.mark.parametrize("key", ["epsilon", "rho", "rows_per_person", "bins"])
def test_budget_has_one_place(key: str) -> None:
    assert f"synthesize.options.{key}" in "".join(problems(synthesize={"options": {key: 3}}))


def test_person_must_be_declared() -> None:
    assert "data.person" in "".join(problems(data={"path": "people.csv", "columns": COLUMNS}))


def test_columns_without_bounds_are_named_before_the_run() -> None:
    chosen = config(privacy={"mode": "dp", "epsilon": 1, "delta": 1e-6})
    with pytest.raises(ConfigError) as caught:
        TableRun(chosen).check()
    named = "".join(problem.message for problem in caught.value.problems)
    assert "age" in named and "cost" in named and "ward" not in named


def test_account_is_within_the_budget_and_says_every_part(finished: tuple[Any, TableRun]) -> None:
    budget = finished[0].budget
    names = [part.name for part in budget.parts]
    assert names[:4] == ["number of rows", "intervals of age", "categories of ward", "intervals of cost"]
    delta = sum(part.delta for part in budget.parts)
    assert delta + delta_of(sum(part.rho for part in budget.parts), 3.0) <= 1e-5 * (1 + 1e-9)
    text = finished[1].promises.text
    assert text is not None
    assert all(f"{part.name} {part.rho:.3g}" in text for part in budget.parts)


def test_table_has_declared_values_alone(finished: tuple[Any, TableRun]) -> None:
    frame = finished[1].synthetic.frame
    assert list(frame.columns) == ["age", "ward", "cost", "ill"]
    assert set(frame["ward"].dropna()) <= {"ICU", "eye"}
    assert frame["age"].dropna().between(0, 99).all()
    assert (frame["cost"].dropna() * 10 % 1 < 1e-6).mean() > 0.5
    # The number of rows is drawn with noise, which is 0 once in a while.
    assert abs(len(frame) - len(finished[1].train)) < 200


def test_noise_is_fresh_and_rows_of_a_person_are_limited() -> None:
    chosen = config()
    train = TableRun(chosen, 1).train
    assert np.bincount(train.persons[train.persons >= 0]).max() <= 2
    one, two = (drawn_privately(chosen, train, {}, 1, lambda *_, **__: None) for _ in range(2))
    assert one.budget is not None
    assert not one.table.frame.equals(two.table.frame)


def answers(*, odd: bool) -> RunConfig:
    """200 people, each value and each pair of answers equally often; the three together have one parity."""
    a, b = np.tile([False, False, True, True], 50), np.tile([False, True, False, True], 50)
    frame = pd.DataFrame({"a": a, "b": b, "c": a ^ b ^ odd})
    columns = {name: {"role": "quasi_identifier", "kind": "boolean"} for name in frame}
    data = {"path": "people.csv", "person": "none", "columns": columns}
    privacy = {"mode": "dp", "epsilon": 3.0, "delta": 1e-5}
    return parse_config(content(data=data, privacy=privacy, split={"control": 0})).with_frame(frame)


def table_of(chosen: RunConfig, seed: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    seed_bits(monkeypatch, bits)
    return TableRun(chosen, seed).synthetic.frame


def test_table_is_a_function_of_noisy_counts_of_values_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is that of a person: tables without a common row, but with the same counts, give the same rows."""
    odd, even = answers(odd=True), answers(odd=False)
    assert len(odd.load_table().frame.merge(even.load_table().frame)) == 0
    pd.testing.assert_frame_equal(table_of(odd, 1, 2, monkeypatch), table_of(even, 1, 2, monkeypatch))


def test_noise_comes_from_the_bits_of_the_system_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could predict them and knew the seed could repeat the table; who knows the seed alone repeats the rest."""
    chosen = answers(odd=True)
    first = table_of(chosen, 1, 2, monkeypatch)
    assert table_of(chosen, 1, 2, monkeypatch).equals(first)
    assert not table_of(chosen, 1, 3, monkeypatch).equals(first)
    used = [TableRun(config(), seed).train.frame for seed in (1, 1, 2)]
    assert used[0].equals(used[1]) and not used[0].equals(used[2])


def test_whether_a_run_works_depends_on_one_person() -> None:
    frame = people(9)
    assert len(parse_config(content()).with_frame(frame).load_table()) == 9
    broken = frame.assign(age=["old", *frame["age"][1:]])
    with pytest.raises(DataError):
        parse_config(content()).with_frame(broken).load_table()


def test_rows_without_a_person_are_left_out() -> None:
    frame = people().assign(id=None)
    chosen = parse_config(content()).with_frame(frame)
    found = drawn(chosen)[0]
    assert len(found.table) < 300


def test_sides_of_others_do_not_depend_on_a_person() -> None:
    chosen = parse_config(content()).with_frame(people())
    table, options = chosen.load_table(), SplitOptions(control=0.3, independent=True)
    whole = split(table, options, np.random.default_rng(1), ("id",))
    assert whole.control is not None
    shares = [
        len(split(table, options, np.random.default_rng(seed), ("id",)).control) / len(table) for seed in range(20)
    ]
    assert len(set(shares)) > 5
    assert np.mean(shares) == pytest.approx(0.3, abs=0.03)
    keys = [set(part.frame["id"]) for part in whole[:2]]
    assert not keys[0] & keys[1]


def test_claim_needs_a_secret_seed(finished: tuple[Any, TableRun]) -> None:
    chosen = config()
    assert finished[1].is_private
    assert not TableRun(chosen, 3).is_private
    said = explain_private(chosen, secret_seed=False)
    assert "No differential privacy is claimed" in said.text
    assert "secret" in said.text


def test_statement_is_that_of_the_configuration() -> None:
    text = explain_private(config(), secret_seed=True).text
    for words in (
        "epsilon = 3 ",
        "delta = 1e-05",
        "at most 2, drawn at random, are used",
        "does not cover the verdict",
    ):
        assert words in text
    alone = content(
        data={"path": "p.csv", "person": "none", "columns": {k: v for k, v in COLUMNS.items() if k != "id"}}
    )
    assert (
        "one person with their row (it was declared that each row"
        in explain_private(parse_config(alone), secret_seed=True).text
    )


def test_run_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False, quoting=csv.QUOTE_ALL)
    Path("dp.yaml").write_text(json.dumps(content()), encoding="utf-8")
    runner = CliRunner()
    explained = runner.invoke(app, ["explain", "dp.yaml"])
    assert explained.exit_code == 0
    assert "epsilon = 3" in explained.output
    done = runner.invoke(app, ["run", "dp.yaml", "--out", "out"])
    assert done.exit_code in (0, 3, 4), done.output
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["differential_privacy"] is True
    assert manifest["privacy_budget"]["spent_delta"] <= 1e-5
    assert "number of rows" in manifest["explanation"]
    assert len(pd.read_csv("out/synthetic.csv").columns) == 4
    assert '"' not in Path("out/synthetic.csv").read_text(encoding="utf-8")
