"""Rows that point at people in a register: by hand, on made tables, and in a run from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.evaluation import EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.context import Making
from hybrid.evaluation.measure import Outcome
from hybrid.jobs.audit import judge_tables, read_audit
from hybrid.pipeline.config import load_config, parse_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.side_tables import load_register
from hybrid.publication.lamps import lamps
from hybrid.table import Kind, Role, Table
from tests.evaluation.small_tables import small
from tests.pipeline.tables import hospital

COLUMNS = (
    ("x", Kind.DECIMAL, Role.QUASI_IDENTIFIER),
    ("sex", Kind.CATEGORICAL, Role.QUASI_IDENTIFIER),
    ("ill", Kind.CATEGORICAL, Role.SENSITIVE),
)


def people(*places: float) -> Table:
    return small([(x, "mf"[int(x) % 2], "yes") for x in places], *COLUMNS)


def register_of(*places: float) -> Table:
    return small([(x, "mf"[int(x) % 2]) for x in places], *COLUMNS[:2])


def linked(train: Table, control: Table, table: Table, register: Table | None) -> Outcome:
    options = EvaluateOptions.model_validate(
        {"metrics": ("register_linkage",), "attacker_register": {"path": "register.csv"}}
    )
    making = {"synthetic": Making(register=register)}
    found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(1), making=making)
    return found.metrics[0].outcome


def rates(found: Outcome) -> tuple[float, int, float, int]:
    assert isinstance(found, Measure), found
    about = found.details
    return about["successes"], about["attacks"], about["control_successes"], about["control_attacks"]


TRAIN = people(*range(0, 200, 20))
CONTROL = people(*range(10, 210, 20))
EVERYBODY = register_of(*range(0, 210, 10))
"""Entries lie 10 apart, all of one sex: half way to the next one is 5."""


def test_rows_nearer_than_half_way_point_at_people() -> None:
    # Rows 4 beside the training people 0 to 140 and on the control people 150 and 170; the others lie 5 or more away.
    table = people(*(x + 4 for x in range(0, 160, 20)), 150, 170)
    found = linked(TRAIN, CONTROL, table, EVERYBODY)
    assert rates(found) == (8, 10, 2, 10)
    assert isinstance(found, Measure)
    # Wilson, z^2 = 3.841459: (8 + 1.920729) / 13.841459 = .716740 and (2 + 1.920729) / 13.841459 = .283260.
    assert found.value == pytest.approx((0.716740 - 0.283260) / (1 - 0.283260), abs=2e-6)
    assert found.details["named_alone"] == {"train": 1.0, "control": 1.0}


def test_half_way_points_at_nobody() -> None:
    assert rates(linked(TRAIN, CONTROL, people(*(x + 5 for x in range(0, 200, 20))), EVERYBODY))[0] == 0


def test_people_with_a_double_in_the_register_are_not_attacked() -> None:
    found = linked(TRAIN, CONTROL, TRAIN, register_of(*range(0, 210, 10), *range(0, 100, 20)))
    assert rates(found) == (5, 5, 0, 10)
    assert isinstance(found, Measure) and found.details["named_alone"] == {"train": 0.5, "control": 1.0}


def test_people_who_are_not_in_the_register_are_not_attacked() -> None:
    assert rates(linked(TRAIN, CONTROL, TRAIN, register_of(0, 20, 41, 10, 30))) == (2, 2, 0, 2)


def test_a_register_that_names_no_training_person_alone_has_nothing_to_leak() -> None:
    found = linked(TRAIN, CONTROL, TRAIN, register_of(1, 3, 10, 30))
    assert isinstance(found, NotComputable) and found.lacks == "matches"


def test_a_register_without_people_never_seen_cannot_be_judged() -> None:
    found = linked(TRAIN, CONTROL, TRAIN, register_of(*range(0, 200, 20)))
    assert isinstance(found, NotComputable) and found.lacks is None and found.state == "too_few"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.49))
def test_a_copy_is_found_and_the_order_of_rows_says_nothing(seed: int, moved: float) -> None:
    rng = np.random.default_rng(seed)
    places = rng.permutation(1000)[:60].astype(float)
    train, control, entries = people(*places[:25]), people(*places[25:50]), register_of(*places)
    near = people(*(places[:25] + moved))  # entries are 1 apart or more
    found = linked(train, control, near, entries)
    assert rates(found) == (25, 25, 0, 25)
    assert isinstance(found, Measure) and found.excess is not None and found.excess[1] > 0
    order = rng.permutation(60)
    mixed = linked(train.take(rng.permutation(25)), control, near.take(rng.permutation(25)), entries.take(order))
    assert rates(mixed) == rates(found)


def test_people_of_the_same_population_are_pointed_at_alike() -> None:
    rng = np.random.default_rng(7)
    found = []
    for _ in range(40):
        places = rng.permutation(4000)[:1500].astype(float)
        parts = np.split(places, [300, 600, 900])
        outcome = linked(*(people(*part) for part in parts[:3]), register_of(*places))
        assert isinstance(outcome, Measure) and outcome.excess is not None
        found.append(outcome.excess)
    assert abs(np.mean([value for value, _, _ in found])) < 0.02
    assert sum(low > 0 for _, low, _ in found) <= 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 people, a register of 900 with names, and a configuration that releases the training people themselves."""
    place, rng = tmp_path_factory.mktemp("register"), np.random.default_rng(3)
    numbers = np.arange(900)
    register = pd.DataFrame(
        {
            "name": [f"Person {n}" for n in numbers],
            "born": rng.integers(1930, 2005, 900),
            "town": rng.choice([f"town {n}" for n in range(12)], 900),
            "sex": rng.choice(["f", "m"], 900),
        }
    )
    register.to_csv(place / "voters.csv", index=False)
    source = register.drop(columns="name").head(400).assign(ill=rng.choice(["yes", "no"], 400))
    source.to_csv(place / "people.csv", index=False)
    columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in ("born", "town", "sex")}
    content = {
        "data": {"path": "people.csv", "person": "none", "columns": columns | {"ill": {"role": "sensitive"}}},
        "seed": 5,
        "protect": "off",
        "evaluate": {"attacker_register": {"path": "voters.csv"}, "metrics": ["register_linkage"], "power": False},
        "synthesize": {"generator": "none"},
    }
    (place / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return place


def test_a_run_finds_rows_of_people_in_the_register(folder: Path) -> None:
    run = Pipeline(load_config(folder / "config.yaml"))
    found = run.evaluation.find("register_linkage", "synthetic")
    assert found is not None and isinstance(found.outcome, Measure)
    successes, attacks, _, others = rates(found.outcome)
    assert successes == attacks > 100 and others > 40
    assert found.outcome.details["columns"] == ["born", "town", "sex"]
    check = next(check for check in run.verdict.checks if check.rule == "people in a register")
    assert check.status == "block"
    lamp = next(lamp for lamp in lamps(run.verdict) if lamp.criterion == "linkability")
    assert [one.about for one in lamp.findings] == ["people whom an attacker's register names alone"]
    said = json.dumps([found.to_json(), run.verdict.to_json()])
    assert "Person " not in said and "town 1" not in said


def test_without_a_register_the_rule_does_not_apply(folder: Path) -> None:
    config = load_config(folder / "config.yaml").with_values({"evaluate.attacker_register": None})
    check = next(one for one in Pipeline(config).verdict.checks if one.rule == "people in a register")
    assert not check.applies


def test_the_content_of_the_register_counts_for_kept_results(folder: Path) -> None:
    config = load_config(folder / "config.yaml")
    before = Pipeline(config).person.keys
    voters = pd.read_csv(folder / "voters.csv")
    voters.iloc[:-1].to_csv(folder / "others.csv", index=False)
    values = {"evaluate.attacker_register.path": "others.csv"}
    after = Pipeline(config.with_values(values)).person.keys
    assert {name for name in before if before[name] != after[name]} == {
        name for name in before if name.startswith("evaluate")
    }


@pytest.mark.parametrize(
    ("register", "said"),
    [
        ({"path": "voters.csv", "columns": ["ill"]}, "voters.csv has no such column: ill"),
        ({"path": "voters.csv", "columns": ["name"]}, "the table has no such column: name"),
        ({"path": "strangers.csv"}, "has no column of the table"),
    ],
)
def test_a_register_that_cannot_be_compared_is_refused(folder: Path, register: dict[str, Any], said: str) -> None:
    (folder / "strangers.csv").write_text("height\n180\n", encoding="utf-8")
    config = load_config(folder / "config.yaml").with_values({"evaluate.attacker_register": register})
    with pytest.raises(ConfigError, match=said):
        Pipeline(config).check()


def test_the_population_of_k_map_is_a_register() -> None:
    data = {"path": "people.csv", "columns": {"born": {"role": "quasi_identifier", "hierarchy": "born.yaml"}}}
    content = {"data": data, "anonymize": {"k": 2, "population": "voters.csv"}}
    found = parse_config(content).evaluate.attacker_register
    assert found is not None and found.path == "voters.csv"


def test_values_are_read_in_the_kinds_of_the_table(folder: Path) -> None:
    config = load_config(folder / "config.yaml")
    schema = Pipeline(config).person.train.schema
    found = load_register(config, schema)
    assert found is not None and [column.kind for column in found.schema] == [
        schema[name].kind for name in found.schema.names
    ]


def test_an_audit_looks_people_up(folder: Path) -> None:
    people = pd.read_csv(folder / "people.csv")
    people[:200].to_csv(folder / "train.csv", index=False)
    people[200:].to_csv(folder / "control.csv", index=False)
    train, config = folder / "train.csv", load_config(folder / "config.yaml")
    judged = judge_tables(read_audit(train, folder / "control.csv", train, config), config, seed=1)
    found = judged.evaluation.find("register_linkage", "synthetic")
    assert found is not None
    successes, attacks, *_ = rates(found.outcome)
    assert successes == attacks > 100


def test_of_linked_tables_the_person_table_is_compared(tmp_path: Path) -> None:
    config = load_config(hospital.write(tmp_path))
    patients = config.load_source("patients")
    patients.frame.to_csv(tmp_path / "register.csv", index=False)
    evaluate = {"attacker_register": {"path": "register.csv"}, "metrics": ["register_linkage"], "power": False}
    run = Pipeline(config.with_values({"evaluate": evaluate}))
    found = {name: run.evaluation.find("register_linkage", "synthetic", table=name) for name in run.tables}
    assert len(found) > 2
    for name, one in found.items():
        assert one is not None
        outcome = one.outcome
        if name == "patients":
            assert isinstance(outcome, Measure) or outcome.lacks in ("headroom", "matches")
        else:
            assert isinstance(outcome, NotComputable) and outcome.lacks == "register"
