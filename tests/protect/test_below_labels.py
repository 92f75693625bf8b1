"""Quasi-identifiers are generalized with their true values, and what is restored is decided by no single person."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, HierarchySpec, IntervalsSpec, MaskSpec, TreeSpec
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.table_run import TableRun
from hybrid.protect import ProtectOptions, protect
from hybrid.protect.below_labels import Restorable, has_public_list, restorable
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY, fit_transition
from tests.anonymize.adult import content, reference
from tests.transition.transition_tables import QI, anonymized_table

COLUMNS = (
    Column("zip", QI, Kind.CATEGORICAL),
    Column("town", QI, Kind.CATEGORICAL),
    Column("job", QI, Kind.CATEGORICAL),
    Column("age", QI, Kind.INTEGER),
    Column("pay", QI, Kind.DECIMAL, format=ColumnFormat(decimals=1)),
    Column("born", QI, Kind.DATE),
    Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
)
SPECS: dict[str, HierarchySpec] = {
    "zip": MaskSpec(keep=(4, 3, 2, 1)),
    "town": GroupsSpec(levels=({"big": ("Ulm", "Bonn")},), others="Other"),
    "job": TreeSpec(tree={"care": ["nurse", "doctor", "porter"], "craft": ["mason", "smith", "baker"]}),
    "age": IntervalsSpec(widths=(10, 50), bottom=18, top=90),
    "pay": IntervalsSpec(widths=(10, 50), top=100),
    "born": DatesSpec(),
}


def people(n: int, seed: int, each: int = 1) -> Table:
    """Most values are rare; each person has ``each`` rows."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "zip": [
                f"{region}{rest:03d}"
                for region, rest in zip(rng.choice(["10", "20", "50"], n), rng.integers(0, 60, n), strict=True)
            ],
            "town": rng.choice(["Ulm", "Bonn", *(f"Dorf{at}" for at in range(40))], n),
            "job": rng.choice(["nurse", "doctor", "porter", "mason", "smith"], n, p=[0.5, 0.3, 0.01, 0.185, 0.005]),
            "age": np.append(rng.integers(16, 95, n - 1), 117),
            "pay": np.round(rng.exponential(40, n), 1),
            "born": np.datetime64("1930-01-01") + rng.integers(0, 25000, n).astype("timedelta64[D]"),
            "ill": rng.choice(["yes", "no"], n),
        }
    )
    frame = frame.loc[np.repeat(np.arange(n), each)].reset_index(drop=True)
    persons = None if each == 1 else np.repeat(np.arange(n), each)
    return Table(frame.astype({c.name: DTYPES[c.kind] for c in COLUMNS}), Schema(COLUMNS), persons)


def labelled(table: Table, level: int):
    trees = {name: build_hierarchy(spec, table.schema[name], table.frame[name]) for name, spec in SPECS.items()}
    levels = {name: min(level, tree.n_levels - 1) for name, tree in trees.items()}
    found = anonymized_table(table.frame, COLUMNS, trees, levels)
    found.originals.__dict__["named_persons"] = table.named_persons
    return found


def lies_below(values: pd.Series, labels: np.ndarray, known: Restorable, like: pd.Series, name: str) -> np.ndarray:
    """Whether each value lies below a node with this label, in the hierarchy of what may come out."""
    tree = known.hierarchy
    if tree is None:
        both = pd.concat([like, values], ignore_index=True).astype(like.dtype)
        tree = build_hierarchy(SPECS[name], next(one for one in COLUMNS if one.name == name), both)
        nodes = pd.Index(tree.labels).get_indexer(labels)
        return (nodes < 0) | tree.contains(nodes, values)
    return (np.array(tree.labels, dtype=object)[tree.node_of[tree.encode(values)]] == labels[:, None]).any(axis=1)


def n_holders(values: pd.Series, persons: np.ndarray | None) -> pd.Series:
    frame = pd.DataFrame(
        {"value": values.astype(object), "person": np.arange(len(values)) if persons is None else persons}
    )
    return frame.drop_duplicates().groupby("value").size()


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_every_value_stays_below_its_label_and_none_of_few_people_is_left(level: int, each: int) -> None:
    table = people(400, level, each)
    found = labelled(table, level)
    values = restorable(found, SPECS, ProtectOptions(), 5, np.random.default_rng(0))
    assert set(values) == set(SPECS)
    strategy = REGISTRY["learned"]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values)
    restored = fitted.restore(found.labels, np.random.default_rng(1)).table.frame
    for frame in (restored, pd.DataFrame({name: one.values for name, one in values.items()})):
        for at, name in enumerate(found.quasi_identifiers):
            labels = np.array(found.hierarchies[name].labels, dtype=object)[found.labels.nodes[:, at]]
            known = frame[name].notna().to_numpy()
            below = lies_below(frame[name][known], labels[known], values[name], table.frame[name], name)
            assert below.all(), name
            assert known.all() or level >= found.hierarchies[name].n_levels - 1
    held = n_holders(table.frame["town"], table.named_persons)
    assert set(values["town"].values.dropna()) <= set(held[held >= 5].index) | {"big", "Other", "*"}
    assert values["age"].values.max() < 117
    if level < 5:
        assert (values["zip"].values.astype(str).str[0] == table.frame["zip"].astype(str).str[0]).all()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_list_that_is_no_public_one_brings_no_value_of_one_person_out(name: str) -> None:
    """A list may be a copy of the table's own values: `hybrid init` writes such ones."""
    jobs = pd.Series(["nurse"] * 60 + ["doctor"] * 39 + ["porter"] + ["mason"] * 3 + ["smith"] * 3).astype("category")
    towns = pd.Series(["Ulm"] * 80 + ["Bonn"] * 3 + ["Kiel"] * 22 + ["CANARY"]).astype("category")
    frame = pd.DataFrame({"job": jobs, "town": towns, "ill": pd.Series(["yes", "no"] * 53).astype("category")})
    columns = (COLUMNS[2], COLUMNS[1], COLUMNS[6])
    table = Table(frame, Schema(columns))
    spec = {"job": SPECS["job"], "town": GroupsSpec(levels=({"u": ("Ulm",), "o": ("Bonn", "Kiel", "CANARY")},))}
    trees = {key: build_hierarchy(one, table.schema[key], table.frame[key]) for key, one in spec.items()}
    found = anonymized_table(table.frame, columns, trees, {"job": 1, "town": 1})
    values = restorable(found, ["job", "town"], ProtectOptions(), 5, np.random.default_rng(0))
    strategy = REGISTRY[name]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values)
    restored = fitted.restore(found.labels, np.random.default_rng(1)).table
    assert set(restored.frame["town"]) == {"Ulm", "Kiel"}
    assert set(restored.frame["job"].iloc[:100]) <= {"nurse", "doctor"}
    # Nobody in craft has enough like him, and all together are the label.
    assert set(restored.frame["job"].iloc[100:]) == {"craft"}


def test_a_list_is_public_where_most_of_its_values_have_no_holder() -> None:
    jobs = pd.Series(["nurse", "doctor", "mason"] * 5).astype("category")
    tree = build_hierarchy(SPECS["job"], COLUMNS[2], jobs)
    assert not has_public_list(tree, jobs)
    assert has_public_list(tree, jobs.iloc[:2])
    towns = build_hierarchy(SPECS["town"], COLUMNS[1], pd.Series(["Ulm", "Jena"], dtype="category"))
    assert not has_public_list(towns, pd.Series(["Ulm", "Bonn"], dtype="category"))
    assert not has_public_list(build_hierarchy(MaskSpec(), COLUMNS[0], jobs), jobs)


def test_towns_and_codes_of_few_people_are_written_as_groups() -> None:
    """120 people of as many codes: 20 each below six nodes of four characters; no town has two people."""
    zips = pd.Series([f"7{block}{at:03d}" for block in range(6) for at in range(20)]).astype("category")
    towns = pd.Series([f"Dorf{at}" for at in range(120)]).astype("category")
    table = Table(pd.DataFrame({"zip": zips, "town": towns}), Schema(COLUMNS[:2]))
    trees = {name: build_hierarchy(SPECS[name], table.schema[name], table.frame[name]) for name in ("zip", "town")}
    found = anonymized_table(table.frame, COLUMNS[:2], trees, {"zip": 4, "town": 1})
    values = restorable(found, ["zip", "town"], ProtectOptions(), 5, np.random.default_rng(0))
    assert set(values["town"].values) == {"Other"}
    # Ten people share four characters ("7000*"), and come through surely.
    assert list(values["zip"].values) == [f"{text[:4]}*" for text in zips]
    strategy = REGISTRY["uniform"]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values)
    restored = fitted.restore(found.labels, np.random.default_rng(1)).table.frame
    assert set(restored["zip"].astype(str)) == {f"7{block}0{ten}*" for block in range(6) for ten in range(2)}
    assert set(restored["town"]) == {"Other"}


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 5), st.sampled_from(sorted(REGISTRY)), st.sampled_from([2, 5, 12]))
def test_every_transition_restores_below_the_labels(seed: int, level: int, name: str, k: int) -> None:
    """Whatever the level, labels of few people among them, and some missing values."""
    table = people(60, seed)
    for column in ("zip", "job"):
        table.frame[column] = table.frame[column].mask(np.random.default_rng(seed).random(60) < 0.1)
    found = labelled(table, level)
    values = restorable(found, SPECS, ProtectOptions(), k, np.random.default_rng(seed))
    strategy = REGISTRY[name]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values)
    restored = fitted.restore(found.labels, np.random.default_rng(1)).table
    assert restored.schema == table.schema and len(restored) == 60
    held = n_holders(table.frame["town"].dropna(), None)
    shown = set(held[held >= max(5, k)].index)
    labels = set(np.array(found.hierarchies["town"].labels, dtype=object)[found.labels.nodes[:, 1]])
    assert set(restored.frame["town"].dropna()) <= shown | {"big", "Other", "*"} | (labels if k == 2 else set())
    for column in ("zip", "town", "job"):
        assert set(restored.frame[column].dropna()) <= set(values[column].values.dropna())


def test_labels_of_a_run_are_those_of_the_true_values(tmp_path: Path) -> None:
    """Rare countries and ages were other people's before, and the loss was below the optimum of ARX."""
    (row,) = (
        row
        for row in reference("arx_adult.csv")
        if (row["k"], row["l_model"], row["limit"], row["metric"], row["qi_set"])
        == ("20", "none", "0.02", "loss_arith", "Q8")
    )
    (tmp_path / "adult.csv").write_bytes(content("adult.csv"))
    names = [pair.split("=")[0] for pair in row["levels_by_attr"].split()]
    columns = {}
    for name in names:
        file = tmp_path / f"{name}.csv"
        lines = csv.reader(io.StringIO(content(f"adult_hierarchy_{name}.csv").decode()), delimiter=";")
        file.write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in lines))
        columns[name] = {"role": "quasi_identifier", "hierarchy": str(file)}
    config = parse_config(
        {
            "version": 1,
            "name": "adult",
            "data": {
                "path": str(tmp_path / "adult.csv"),
                "separator": ";",
                "columns": columns,
                "unlisted": "insensitive",
            },
            "split": {"control": 0},
            "anonymize": {"k": 20, "suppression_limit": 0.02, "loss": {"name": "loss", "mean": "arithmetic"}},
            "transition": {"method": "tree"},
            "synthesize": {"generator": "none"},
            "seed": 1,
        }
    )
    run = TableRun(config)
    assert run.protected is not None and run.anonymized is not None
    result = run.anonymized.result
    assert " ".join(f"{name}={result.levels[name]}" for name in names) == row["levels_by_attr"]
    assert result.loss["value"] == pytest.approx(float(row["loss"]), abs=1e-9)
    assert result.suppressed == int(row["suppressed_flagged"])


def test_protection_leaves_quasi_identifiers_alone_and_others_as_before() -> None:
    table = people(300, 3)
    trees = {name: build_hierarchy(spec, table.schema[name], table.frame[name]) for name, spec in SPECS.items()}
    found = protect(table, ProtectOptions(), np.random.default_rng(0), 5, hierarchies=trees)
    for name in SPECS:
        assert found.labelled.frame[name].equals(table.frame[name])
        assert not found.table.frame[name].equals(table.frame[name])
    assert found.labelled.frame["ill"].equals(found.table.frame["ill"])
