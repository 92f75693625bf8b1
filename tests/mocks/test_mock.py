"""Mock tables: what decides them, what they disclose, and that code can run on them."""

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

import hybrid as package
from hybrid.base.errors import ConfigError, GateRefused
from hybrid.jobs.mock import mock
from hybrid.jobs.mock_draft import proposal, rounded_outward
from hybrid.mocks import mock_tables
from hybrid.pipeline.config import configured, load_config
from hybrid.privacy import histograms
from hybrid.privacy.accounting import rho_for
from hybrid.privacy.domain import CategoryDomain
from hybrid.publication.plain_markdown import plain
from hybrid.publication.policy import MockLimits, load_policy
from hybrid.publication.privacy_account import PaidDraws
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.cli.cli_jobs import Run, exit_code

SIGNED = {"decided_by": "Dr Example", "date": "2026-11-21"}
COLUMNS: dict[str, Any] = {
    "patient": {"role": "identifier", "kind": "categorical"},
    "sex": {"role": "quasi_identifier", "kind": "categorical", "hierarchy": "sex.csv"},
    "born": {"kind": "date", "format": "%d.%m.%Y"},
    "admitted": {"kind": "date"},
    "discharged": {"kind": "date"},
    "nights": {"kind": "integer"},
    "age": {"kind": "integer"},
    "smoker": {"kind": "boolean"},
    "name": {"role": "excluded", "kind": "categorical"},
}
CONSTRAINTS: list[dict[str, Any]] = [
    {"le": ["admitted", "discharged"]},
    {"derived": {"nights": "days(admitted, discharged)"}},
    {"range": {"age": [18, None]}},
    {"combinations": ["sex", "smoker"]},
]
MOCK: dict[str, Any] = {
    "columns": {
        "patient": {"form": "P-####"},
        "sex": {"values": ["f", "m"], "missing": 0.25},
        "smoker": {"values": ["no", "yes"]},
    }
}


def _content(**changes: Any) -> dict[str, Any]:
    data = {"path": "people.csv", "columns": COLUMNS}
    return {"name": "people", "data": data, "constraints": CONSTRAINTS, "mock": MOCK, "roles": SIGNED} | changes


def _config(**changes: Any) -> Any:
    return configured(_content(**changes), {}, Path("config.yaml"))


def _made(seed: int = 1, rows: int = 100, **changes: Any) -> pd.DataFrame:
    return mock_tables(_config(**changes), rows, seed).tables[""].table.frame


def _written(folder: Path, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(_content(**changes), sort_keys=False))
    return folder / "config.yaml"


def test_the_same_table_comes_out_whatever_the_records_are(tmp_path: Path, hybrid: Run) -> None:
    config = _written(tmp_path / "job")
    made = []
    for name, records in {"none": None, "some": "patient,sex\nHuber,f\n", "other": "canary;\x00"}.items():
        if records is not None:
            (config.parent / "people.csv").write_text(records)
            (config.parent / "sex.csv").write_text("CANARY;*\n")
        assert hybrid("mock", config, "--seed", 3, "--out", tmp_path / name) == 0
        made.append((tmp_path / name / "mock.csv").read_bytes())
    assert made[0] == made[1] == made[2]
    header, first = made[0].decode().splitlines()[:2]
    assert header == "patient,sex,born,admitted,discharged,nights,age,smoker"
    assert first.startswith("P-0001,")


def test_the_folder_says_what_it_is_and_may_be_replaced(tmp_path: Path, hybrid: Run) -> None:
    config = _written(tmp_path / "job")
    for _ in range(2):
        assert hybrid("mock", config, "--out", tmp_path / "m") == 0
    stated = json.loads((tmp_path / "m" / "mock.json").read_text())
    text = (tmp_path / "m" / "README.md").read_text()
    assert stated["without_records"] and stated["may_leave_without_review"]
    for said in (stated["mark"], *stated["discloses"], *stated["limits"]):
        assert plain(said) in text
    assert "nothing in it must be analysed" in text and "synthetic" not in text
    (tmp_path / "m" / "mock.csv").write_text("changed")
    assert hybrid("mock", config, "--out", tmp_path / "m") == 2


def test_values_are_of_the_stated_domains() -> None:
    frame = _made(rows=2000)
    assert set(frame["sex"].dropna()) == {"f", "m"}
    assert 0.2 < frame["sex"].isna().mean() < 0.3
    assert frame["age"].min() >= 18
    assert frame["patient"].is_unique
    assert "name" not in frame


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**31), rows=st.integers(1, 60))
def test_constraints_of_the_configuration_hold(seed: int, rows: int) -> None:
    frame = _made(seed, rows)
    assert len(frame) == rows
    assert (frame["admitted"] <= frame["discharged"]).all()
    assert ((frame["discharged"] - frame["admitted"]).dt.days == frame["nights"]).all()


def test_what_only_records_say_is_named_as_not_kept() -> None:
    found = mock(_config(), seed=1)
    assert any("sex" in one and "may break" in one for one in found.limits)
    assert not any("combination" in one for one in found.made.tables[""].kept)


def test_constraints_that_independent_values_never_keep_are_an_error() -> None:
    columns = {name: {"kind": "integer"} for name in "abc"}
    config = _config(
        data={"path": "p.csv", "columns": columns}, mock=None, constraints=[{"formula": "a + b == c * 1000000 + 7"}]
    )
    with pytest.raises(ConfigError, match="too few rows of independent values"):
        mock(config, seed=1)


def test_persons_have_several_rows_in_their_order() -> None:
    data = {"path": "p.csv", "columns": COLUMNS, "person": "patient", "order": "admitted"}
    counter = {"counter": {"column": "nights", "within": "patient", "by": "admitted"}}
    frame = _made(data=data, constraints=[counter], rows=200)
    assert 1 < frame.groupby("patient", observed=True).size().mean() <= 3
    assert frame.groupby("patient", observed=True)["admitted"].is_monotonic_increasing.all()
    assert (
        frame.groupby("patient", observed=True)["nights"].apply(lambda of: list(of) == [*range(1, len(of) + 1)]).all()
    )


def test_all_problems_are_named_at_once() -> None:
    columns = {"a": {"role": "insensitive"}, "b": {"kind": "integer"}, "c": {"role": "identifier", "kind": "integer"}}
    known = {"b": {"values": ["x"]}, "c": {"form": "P##"}, "d": {"bounds": [0, 1]}}
    with pytest.raises(ConfigError) as caught:
        mock(_config(data={"path": "p.csv", "columns": columns}, constraints=[], mock={"columns": known}), seed=1)
    said = " ".join(one.message for one in caught.value.problems)
    for words in ("data.columns.a.kind", "mock.columns.b", "mock.columns.c.form", "'d' is no column"):
        assert words in said
    with pytest.raises(ConfigError, match="too few for 10,000"):
        _made(rows=10_000)


def test_a_list_is_public_only_if_somebody_says_so(tmp_path: Path) -> None:
    config = _written(tmp_path, mock=None)
    (tmp_path / "sex.csv").write_text("CANARY;*\nf;*\n")
    assert set(mock(load_config(config), seed=1).made.tables[""].table.frame["sex"]) == {"A", "B", "C"}
    named = _written(tmp_path, mock={"lists": ["sex"]})
    assert set(mock(load_config(named), seed=1).made.tables[""].table.frame["sex"]) == {"CANARY", "f"}


def test_linked_tables_have_keys_that_join(tmp_path: Path) -> None:
    (tmp_path / "wards.csv").write_text("ward,beds\nW1,10\nW2,20\n")
    content = {
        "person": "people",
        "tables": {
            "people": {"path": "people.csv", "key": "id", "columns": {"age": {"kind": "integer"}}},
            "stays": {
                "path": "stays.csv",
                "key": "stay",
                "parent": {"table": "people", "column": "id"},
                "order": "day",
                "references": {"ward": "wards"},
                "columns": {"day": {"kind": "date"}, "ward": {"kind": "categorical"}},
            },
            "drugs": {
                "path": "drugs.csv",
                "parent": {"table": "stays", "column": "stay"},
                "columns": {"dose": {"kind": "decimal"}},
            },
            "wards": {"path": "wards.csv", "key": "ward", "public": True},
        },
        "mock": {"columns": {"people.age": {"bounds": [30, 31]}, "stays.stay": {"form": "9####"}}},
    }
    found = mock(configured(content, {}, tmp_path / "config.yaml"), rows=40, seed=2)
    people, stays, drugs = (found.made.tables[name].table.frame for name in ("people", "stays", "drugs"))
    assert len(people) == 40 and people["id"].is_unique and set(people["age"]) == {30, 31}
    assert stays["stay"].is_unique and set(stays["id"]) <= set(people["id"]) and set(stays["ward"]) == {"W1", "W2"}
    assert set(drugs["stay"]) <= set(stays["stay"]) and stays["stay"].min() == 90001
    assert stays.groupby("id")["day"].is_monotonic_increasing.all()
    content["mock"] = {"columns": {"nowhere.age": {"bounds": [30, 31]}}}
    with pytest.raises(ConfigError, match=r"'nowhere.age' is no column"):
        mock(configured(content, {}, tmp_path / "config.yaml"), seed=2)


def _people(n: int, **last: Any) -> Table:
    """n people alike, and one more with other values."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "income": rng.integers(100, 900, n) / 10,
            "town": rng.choice(["A", "B"], n),
            "day": pd.Timestamp("2020-06-01") + pd.to_timedelta(rng.integers(0, 200, n), "D"),
        }
    )
    if last:
        frame.loc[n] = last
    kinds = {"age": Kind.INTEGER, "income": Kind.DECIMAL, "town": Kind.CATEGORICAL, "day": Kind.DATE}
    frame = frame.astype({"age": "Int64", "town": "category"})
    return Table(frame, Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, kind in kinds.items())))


def test_a_proposal_discloses_nothing_of_one_extreme_person() -> None:
    plain = _people(200)
    far = _people(200, age=117, income=99_999.123456, town="Canary", day=pd.Timestamp("1899-01-01"))
    for column in plain.schema:
        assert proposal(plain, column) == proposal(far, column)
    assert proposal(far, far.schema["town"]) == {"values": ["A", "B"]}
    assert proposal(far, far.schema["age"]) == {"bounds": [20, 60]}


def test_few_people_get_no_proposal() -> None:
    few = _people(9)
    assert [proposal(few, column) for column in few.schema] == [{}] * 4


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(16, 97, (10, 100)), (1953, 2003, (1950, 2010)), (-0.31, 0.44, (-0.4, 0.5)), (5, 5, (5, 6)), (0, 1000, (0, 1000))],
)
def test_bounds_are_rounded_outward(low: float, high: float, wanted: tuple[float, float]) -> None:
    assert rounded_outward(low, high) == wanted


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_rounded_bounds_hold_both_numbers(low: float, width: float) -> None:
    first, last = rounded_outward(low, low + width)
    slack = 1e-6 * max(abs(low), width, 1)
    assert first <= low + slack
    assert last >= low + width - slack
    assert first < last


def test_draft_writes_what_a_person_then_decides(tmp_path: Path, hybrid: Run) -> None:
    table = _people(200, age=117, income=9.5, town="Canary", day=pd.Timestamp("2020-07-01"))
    table.frame.to_csv(tmp_path / "p.csv", index=False)
    columns = {column.name: {"kind": column.kind.value} for column in table.schema}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"name": "p", "data": {"path": "p.csv", "columns": columns}}) + "# end\n")
    assert hybrid("mock", config, "--draft") == 0
    assert "Canary" not in config.read_text() and "117" not in config.read_text()
    found = mock(load_config(config), seed=1)
    assert any("at least ten people hold each" in one for one in found.discloses)
    assert hybrid("mock", config, "--draft") == 2
    assert exit_code("mock", config, "--epsilon", 0.1) == 2


def _flags(n: int, persons: Any = None) -> tuple[Table, CategoryDomain]:
    column = Column("flag", Role.INSENSITIVE, Kind.CATEGORICAL)
    frame = pd.DataFrame({"flag": pd.Categorical(["a"] * n + ["b"] * n)})
    return Table(frame, Schema((column,)), persons), CategoryDomain(column, ("a", "b", "c"))


def test_histograms_follow_the_records_and_spend_what_they_state() -> None:
    table, domain = _flags(50_000)
    found = histograms.noisy_histograms(table, [domain], rho_for(0.1, 1e-6))
    assert found.shares["flag"] == pytest.approx([0.5, 0.5, 0, 0], abs=0.01)
    assert sum(part.rho for part in found.parts) <= rho_for(0.1, 1e-6)
    exact = histograms.noisy_histograms(table, [domain], 1e9)
    assert exact.shares["flag"] == pytest.approx([0.5, 0.5, 0, 0], abs=1e-3)
    with pytest.raises(ValueError, match="one row of each"):
        histograms.noisy_histograms(*[_flags(2, np.array([0, 0, 1, 1]))[0], [domain]], 1.0)


def test_the_noise_of_each_histogram_is_that_of_its_part_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two histograms at rho = 1/50: each spends 1/100, so that the variance is 1 / (2/100) = 50."""
    asked: list[tuple[int, int]] = []

    def no_noise(size: int, variance: int, bits: object) -> Any:
        asked.append((size, variance))
        return np.array([-5, 0, 3, 0])

    monkeypatch.setattr(histograms, "discrete_gaussian", no_noise)
    table, domain = _flags(3)
    found = histograms.noisy_histograms(table, [domain, domain], 0.02)
    assert asked == [(4, 50), (4, 50)]
    assert [part.rho for part in found.parts] == [0.01, 0.01]
    # 3 - 5 counts as 0; 3 and 0 + 3 are left
    assert found.shares["flag"] == pytest.approx([0, 0.5, 0.5, 0])


def test_noisy_counts_are_paid_and_refused_when_the_year_is_spent(tmp_path: Path) -> None:
    table = _people(300)
    table.frame.to_csv(tmp_path / "p.csv", index=False)
    policy = {
        "extends": "default",
        "name": "p",
        "version": "1",
        "owner": "t",
        "yearly_budget": {"rho": 1.5 * rho_for(0.1, 1e-6)},
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    columns = {column.name: {"kind": column.kind.value} for column in table.schema}
    known = {"age": {"bounds": [0, 110]}, "town": {"values": ["A", "B", "C"]}}
    content = {"name": "p", "data": {"path": "p.csv", "columns": columns}, "mock": {"columns": known}}
    config = configured(content | {"policy": "./policy.yaml", "roles": SIGNED}, {}, tmp_path / "config.yaml")
    work = tmp_path / "work"
    found = mock(config, epsilon=0.1, work=work, seed=1)
    assert found.counted == ("age", "town") and found.budget is not None and found.budget.rho <= rho_for(0.1, 1e-6)
    assert not found.reasons and "epsilon = 0.1 " in " ".join(found.discloses)
    assert len(PaidDraws(work).payments("people p")) == 1
    assert found.made.tables[""].table.frame["age"].between(0, 110).all()
    with pytest.raises(GateRefused, match="yearly privacy budget"):
        mock(config, epsilon=0.1, work=work, seed=1)
    above = mock(config, epsilon=0.12, work=tmp_path / "other", seed=1)
    assert any("epsilon = 0.12" in one for one in above.reasons)


def test_the_policy_says_which_mock_tables_may_leave(tmp_path: Path) -> None:
    policy = {"extends": "default", "name": "own", "version": "1", "owner": "t", "mock": {"release": False}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    config = configured(_content(policy="./policy.yaml", roles=None), {}, tmp_path / "config.yaml")
    found = mock(config, seed=1)
    assert len(found.reasons) == 2 and "own" in found.decision and "roles.decided_by" in found.decision
    default = load_policy()
    changed = default.model_copy(update={"mock": MockLimits(release=False)})
    assert default.mock.release and default.sha256 != changed.sha256


def test_one_call_in_python_takes_a_frame_and_opens_no_file_for_a_configuration(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.arange(200) % 60 + 20, "sex": ["f", "m"] * 100})
    found = package.mock(frame, columns={"sex": {"values": ["f", "m"]}}, rows=7, seed=1)
    assert list(found.table) == ["age", "sex"] and len(found.table) == 7 and set(found.table["sex"]) <= {"f", "m"}
    assert found.table.attrs["hybrid"]["mock"] and "guessed them from all records" in found.discloses[0]
    again = package.mock(config=_written(tmp_path), rows=5, seed=1)
    assert len(again.table) == 5 and "No file of records was opened" in " ".join(again.discloses)
    assert (again.save(tmp_path / "out") / "README.md").is_file()
    with pytest.raises(ConfigError, match=r"columns\.age"):
        package.mock(frame, columns={"age": {"bounds": [5, 1]}})
