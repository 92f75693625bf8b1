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
from hybrid.pipeline.pipeline import Pipeline
from hybrid.protect import ProtectOptions, protect
from hybrid.protect.below_labels import DELTA, EPSILON, has_public_list, keep_probability, restorable
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
    found.originals.__dict__["persons"] = table.persons
    return found


def with_values(values: pd.Series, others: pd.Series) -> pd.Series:
    """A column with the values of both."""
    both = pd.concat([values.astype(object), others.astype(object)], ignore_index=True)
    return both.astype("category" if isinstance(values.dtype, pd.CategoricalDtype) else values.dtype)


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
            tree, nodes = found.hierarchies[name], found.labels.nodes[:, at]
            labels = np.array(tree.labels, dtype=object)[nodes]
            again = build_hierarchy(SPECS[name], table.schema[name], with_values(table.frame[name], frame[name]))
            known = frame[name].notna().to_numpy()
            below = np.array(again.labels, dtype=object)[again.node_at(frame[name], tree.level_of()[nodes])]
            assert (below[known] == labels[known]).all(), name
            assert known.all() or level >= tree.n_levels - 1
    held = n_holders(table.frame["town"], table.persons)
    assert set(values["town"].values.dropna()) <= set(held[held >= 5].index) | {"Other", "Ulm", "Bonn"}
    assert values["age"].values.max() < 117
    if level < 5:
        assert (values["zip"].values.astype(str).str[0] == table.frame["zip"].astype(str).str[0]).all()


def test_hand_worked_threshold() -> None:
    """p(5) = .05; p(6) = e * .05 + .05 = .1859; p(7) = e * .1859 + .05 = .5554; p(8) = 1 - (1 - .6054) / e = .8548."""
    found = keep_probability(np.array([0, 4, 5, 6, 7, 8, 9, 10, 11, 500]), 5)
    assert found.round(4).tolist() == [0, 0, 0.05, 0.1859, 0.5554, 0.8548, 0.965, 1.0, 1.0, 1.0]


def test_one_person_more_or_less_changes_little() -> None:
    chance = keep_probability(np.arange(60), 7)
    for one, other in ((chance[1:], chance[:-1]), (chance[:-1], chance[1:])):
        assert (one <= np.exp(EPSILON) * other + DELTA + 1e-12).all()
        assert ((1 - one) <= np.exp(EPSILON) * (1 - other) + DELTA + 1e-12).all()
    assert (chance[:7] == 0).all() and (np.diff(chance) >= 0).all()


def test_a_listed_value_of_one_person_is_as_likely_as_one_of_nobody() -> None:
    """The only smith: smiths and bakers (listed, held by nobody) come out alike, and nurses as often as before."""
    rng = np.random.default_rng(4)
    jobs = pd.Series(["nurse"] * 60 + ["mason"] * 39 + ["smith"]).astype("category")
    table = Table(pd.DataFrame({"job": jobs}), Schema((COLUMNS[2],)))
    tree = build_hierarchy(SPECS["job"], COLUMNS[2], jobs)
    found = anonymized_table(table.frame, (COLUMNS[2],), {"job": tree}, {"job": 1})
    drawn = [
        restorable(found, ["job"], ProtectOptions(), 5, np.random.default_rng(int(rng.integers(2**31))), {"job"})[
            "job"
        ].values.iloc[-1]
        for _ in range(400)
    ]
    counts = pd.Series(drawn).value_counts()
    assert set(counts.index) == {"smith", "baker"} and abs(counts["smith"] - 200) < 50


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
    assert "porter" not in set(restored.frame["job"])
    # Nobody in craft has enough like him: all values of the group, those of nobody among them, and none of another.
    craft = restored.frame["job"].iloc[100:]
    assert set(craft) <= {"mason", "smith", "baker"}


def test_a_list_is_public_where_most_of_its_values_have_no_holder() -> None:
    jobs = pd.Series(["nurse", "doctor", "mason"] * 5).astype("category")
    tree = build_hierarchy(SPECS["job"], COLUMNS[2], jobs)
    assert not has_public_list(tree, jobs)
    assert has_public_list(tree, jobs.iloc[:2])
    towns = build_hierarchy(SPECS["town"], COLUMNS[1], pd.Series(["Ulm", "Jena"], dtype="category"))
    assert not has_public_list(towns, pd.Series(["Ulm", "Bonn"], dtype="category"))
    assert not has_public_list(build_hierarchy(MaskSpec(), COLUMNS[0], jobs), jobs)


def test_words_are_not_made_up_and_codes_keep_their_form() -> None:
    rng = np.random.default_rng(0)
    zips = pd.Series([f"7{at:04d}" for at in rng.permutation(9000)[:120]]).astype("category")
    towns = pd.Series([f"Dorf{at}" for at in range(120)]).astype("category")
    table = Table(pd.DataFrame({"zip": zips, "town": towns}), Schema(COLUMNS[:2]))
    trees = {name: build_hierarchy(SPECS[name], table.schema[name], table.frame[name]) for name in ("zip", "town")}
    found = anonymized_table(table.frame, COLUMNS[:2], trees, {"zip": 4, "town": 1})
    values = restorable(found, ["zip", "town"], ProtectOptions(), 5, rng)
    assert set(values["town"].values) == {"Other"}
    made = values["zip"].values.astype(str)
    assert made.str.fullmatch(r"7\d{4}").all() and made.nunique() <= 120 // 10
    strategy = REGISTRY["uniform"]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values)
    restored = fitted.restore(found.labels, np.random.default_rng(1)).table.frame
    assert set(restored["zip"].astype(str)) <= set(made) and set(restored["town"]) == {"Other"}


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
    assert set(restored.frame["town"].dropna()) <= set(held[held >= max(5, k)].index) | {"Ulm", "Bonn", "Other"}
    for column in ("zip", "town"):
        assert set(restored.frame[column].dropna()) <= set(values[column].values.dropna()) | {"Ulm", "Bonn"}


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
    run = Pipeline(config)
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
