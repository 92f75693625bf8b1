"""`hybrid check` and `hybrid trade-off` say before a run what becomes of each column, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import Finding
from hybrid.base.language import catalogue
from hybrid.cli import main
from hybrid.hierarchy.labels import LEFT_OUT
from hybrid.jobs.trade_off import trade_off_of
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.level_costs import LevelWords, column_words
from hybrid.pipeline.level_findings import put_back
from hybrid.pipeline.table_run import TableRun
from hybrid.store import Store
from hybrid.transition import REGISTRY as TRANSITIONS

ILL = {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": "ill"}


def _job(folder: Path, rows: int = 1200, seed: int | None = 7, **anonymize: Any) -> RunConfig:
    """Nobody below 60 is ill; town has 40 values, a few of them of one person."""
    rng = np.random.default_rng(4)
    age = rng.integers(0, 80, rows)
    towns = [f"T{at:03}" for at in range(40)]
    shares = np.array([1.0] * 3 + [0.002] * 37)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(towns, rows, p=shares / shares.sum()),
            "job": rng.choice([f"J{at:02}" for at in range(30)], rows, p=shares[:30] / shares[:30].sum()),
            "ill": np.where((age >= 60) & (rng.random(rows) < 0.6), "yes", "no"),
        }
    )
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "age.yaml").write_text("type: intervals\nwidths: [10, 20]\n")
    (folder / "town.yaml").write_text("type: mask\nkeep: [3, 2]\n")
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    quasi = {"age": "age.yaml", "sex": "sex.csv", "town": "town.yaml"}
    columns: dict[str, Any] = {name: {"role": "quasi_identifier", "hierarchy": file} for name, file in quasi.items()}
    content = {
        "seed": seed,
        "data": {"path": "people.csv", "columns": columns | {"job": {}, "ill": {"role": "sensitive"}}},
        "anonymize": {"k": 5, "suppression_limit": 0.05, **anonymize},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    return load_config(folder / "config.yaml")


def _notes(config: RunConfig, store: Store | None = None) -> list[str]:
    findings: list[Finding] = diagnose(config, store=store)
    assert not [one for one in findings if one.level == "error"]
    return [one.message for one in findings if one.level == "note"]


@pytest.mark.parametrize("anonymize", [{}, {"models": [ILL]}, {"k": 20}, {"suppression_limit": 0.3}])
def test_the_lines_of_columns_are_the_levels_of_the_run(tmp_path: Path, anonymize: dict[str, Any]) -> None:
    config = _job(tmp_path, **anonymize)
    notes, run = _notes(config), TableRun(config)
    assert run.anonymized is not None
    words = LevelWords.named(run.hierarchies, ["age"])
    for name, level in run.anonymized.result.levels.items():
        (said,) = [note for note in notes if note.startswith(f"{name}: ")]
        assert said.startswith(f"{name}: {run.train.frame[name].nunique()} values")
        assert words.of[name][level] in said
        assert (LEFT_OUT in said) is (level == run.hierarchies[name].n_levels - 1)
        assert ("; then exact values again, which follow the real ones" in said) is (level > 0)


@pytest.mark.parametrize("anonymize", [{}, {"models": [ILL]}, {"k": 40}])
def test_the_lines_of_columns_share_out_the_levels_of_a_run_with_local_recoding(
    tmp_path: Path, anonymize: dict[str, Any]
) -> None:
    config = _job(tmp_path, recoding="local", **anonymize)
    notes, run = _notes(config), TableRun(config)
    assert run.anonymized is not None
    words = LevelWords.named(run.hierarchies, ["age"])
    (price,) = [note for note in notes if note.startswith(f"k={config.k}: ")]
    lost = run.anonymized.result.loss["value"]
    assert price == f"k={config.k}: local recoding costs {100 * lost:.0f} % of the information, and leaves nobody out"
    for at, name in enumerate(run.anonymized.quasi_identifiers):
        (said,) = [note for note in notes if note.startswith(f"{name}: {run.train.frame[name].nunique()} values")]
        levels = run.hierarchies[name].level_of()[run.anonymized.labels.nodes[:, at]]
        shares = {words.of[name][level]: np.mean(levels == level) for level in np.unique(levels)}
        if len(shares) == 1:
            assert next(iter(shares)) in said
        else:
            assert all(f"{level} in {100 * share:.0f} %" in said for level, share in shares.items() if share >= 0.01)
    models = config.anonymize.models if config.anonymize else ()
    assert any(note.startswith("because of l-diversity of ill, that is ") for note in notes) is bool(models)


BACK = {
    "single": "one exact value for each group",
    "original": "the real values again",
    "uniform": "exact values again, drawn without a look at the real ones",
}
"""What the released table has again; all other transitions follow the real values."""


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("method", sorted(TRANSITIONS))
def test_what_the_released_table_has_again_is_said_of_every_transition(
    tmp_path: Path, method: str, order: Literal["pre", "post"]
) -> None:
    config = _job(tmp_path, rows=300).with_values({"transition.method": method, "transition.order": order})
    follows = "exact values again, which follow the real ones"
    restored = follows if (method, order) == ("original", "post") else BACK.get(method, follows)
    assert put_back(config) == restored
    assert catalogue("de").say(restored) != restored
    assert TRANSITIONS[method].reads_originals(TRANSITIONS[method].Options()) is (method not in ("single", "uniform"))


@pytest.mark.parametrize(("method", "order"), [("tree", "pre"), ("uniform", "post"), ("single", "pre")])
def test_a_column_that_the_search_leaves_out_is_released_as_the_check_says(
    tmp_path: Path, method: str, order: str
) -> None:
    changes = {"transition.method": method, "transition.order": order, "protect": "off"}
    config = _job(tmp_path, rows=400, k=150).with_values(changes)
    notes, run = _notes(config), TableRun(config)
    gone = [note.partition(":")[0] for note in notes if "while protected: left out, because of k = 150; then" in note]
    assert gone, "a column is at its root"
    for name in gone:
        values = run.synthetic.frame[name].nunique()
        assert values == 1 if method == "single" else values > 1


def test_the_rule_that_takes_a_column_away_is_named_with_what_it_would_be_without(tmp_path: Path) -> None:
    """Age was left out for a rule about a rare illness, and every k and limit printed the same line."""
    notes = _notes(_job(tmp_path, models=[ILL]))
    assert any(
        "age: " in note and "left out, because of l-diversity of ill (with k = 5 alone: " in note for note in notes
    )
    (sentence,) = [note for note in notes if note.startswith("because of l-diversity of ill")]
    assert "age would be left out (without this rule: " in sentence and "-year groups)" in sentence
    assert "because of" not in " ".join(_notes(_job(tmp_path)))


def test_values_that_protection_replaces_are_announced(tmp_path: Path) -> None:
    notes = _notes(_job(tmp_path))
    (said,) = [note for note in notes if note.startswith("values that fewer than 5 people have are replaced")]
    run = TableRun(load_config(tmp_path / "config.yaml"))
    assert run.protected is not None
    rare = {one.column: one.rare for one in run.protected.result.columns}
    assert rare["job"] and f"job: {rare['job']} of " in said
    held = run.train.frame["job"].map(run.train.frame["job"].value_counts())
    assert f"values in {100 * (held < 5).mean():.0f} % of the rows" in said, "what it costs, in rows"


def test_a_store_gives_the_check_the_split_of_the_run_and_the_run_its_work(tmp_path: Path) -> None:
    config, store = _job(tmp_path, seed=None), Store(tmp_path / "store")
    _notes(config, store)
    run = TableRun(config, store=store)
    assert store.entry("protect", run.keys["protect"]) is not None
    assert store.entry("tradeoff", run.keys["tradeoff"]) is not None


def test_no_finding_holds_a_value(tmp_path: Path) -> None:
    config = _job(tmp_path, models=[ILL])
    said = " ".join(one.message + one.hint for one in diagnose(config))
    assert not any(text in said for text in ("T0", "J0", "'yes'"))


def test_a_trade_off_says_of_every_column_what_k_limit_and_rules_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _job(tmp_path, models=[ILL])
    found = trade_off_of(config, ks=(2, 50), limits=(0.0, 0.3))
    for name in ("age", "sex", "town"):
        for point in found.points:
            assert point.levels is None or found.words.at(point, name) == found.words.of[name][point.levels[name]]
        for sentence in found.across(name):
            assert sentence.startswith(("from k = ", "from limit = "))
    assert column_words(found.costs, found.words, "age").startswith("left out, because of l-diversity of ill")
    plain = trade_off_of(_job(tmp_path), ks=(2, 200), limits=(0.0,))
    assert any(words.startswith("from k = 2: ") for words in plain.across("age")), "at k = 200 less is left of it"
    with pytest.raises(SystemExit) as done:
        main(["trade-off", str(tmp_path / "config.yaml"), "--k", "2", "--limit", "0"])
    assert done.value.code == 0 and "age: " in capsys.readouterr().out
