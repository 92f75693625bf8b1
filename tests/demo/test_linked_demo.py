"""Simulated linked tables: references, order of dates, and what depends on what."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.constraints import AnyConstraint
from hybrid.demo import write_linked_demo
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.links import LinkOptions, TableOptions
from hybrid.pipeline.starter import guess_links, read_folder
from hybrid.table import Table
from hybrid.table.read_file import read_table

ADMISSIONS = 2_500


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    counts = write_linked_demo(folder, ADMISSIONS)
    assert counts["admissions"] == ADMISSIONS and counts["hospitals"] == 16
    return folder


@pytest.fixture(scope="module")
def links(demo: Path) -> LinkOptions:
    content = yaml.safe_load((demo / "config.yaml").read_text(encoding="utf-8"))
    return LinkOptions.model_validate({key: content[key] for key in ("person", "tables")})


def read(folder: Path, one: TableOptions) -> Table:
    """A table with its keys, which need no line under its columns."""
    return read_table(folder / one.path, one.model_copy(update={"unlisted": "insensitive"}))


@pytest.fixture(scope="module")
def tables(demo: Path, links: LinkOptions) -> dict[str, Table]:
    return {name: read(demo, one) for name, one in links.tables.items()}


@pytest.fixture(scope="module")
def frames(tables: dict[str, Table]) -> dict[str, pd.DataFrame]:
    return {name: table.frame for name, table in tables.items()}


def test_every_row_has_a_parent(links: LinkOptions, frames: dict[str, pd.DataFrame]) -> None:
    for name, one in links.tables.items():
        assert one.key is not None and frames[name][one.key].is_unique
        if one.parent is not None:
            key = links.tables[one.parent.table].key
            assert frames[name][one.parent.column].isin(frames[one.parent.table][key]).all()
    assert frames["admissions"]["hospital"].isin(frames["hospitals"]["hospital"]).all()


def test_patients_without_admissions_and_admissions_without_prescriptions(frames: dict[str, pd.DataFrame]) -> None:
    admitted = frames["patients"]["patient_id"].isin(frames["admissions"]["patient_id"])
    treated = frames["admissions"]["admission_id"].isin(frames["prescriptions"]["admission_id"])
    assert 0.1 < 1 - admitted.mean() < 0.5
    assert 0.05 < 1 - treated.mean() < 0.5
    assert frames["admissions"]["patient_id"].value_counts().max() > 5


def test_dates_are_in_order(frames: dict[str, pd.DataFrame]) -> None:
    stays = frames["admissions"].sort_values(["patient_id", "admitted"])
    assert (stays["admitted"] <= stays["discharged"]).all()
    same = stays["patient_id"].eq(stays["patient_id"].shift())
    assert (stays["admitted"] > stays["discharged"].shift())[same].all()
    died = stays["discharge"].eq("died")
    assert died.any() and not died.shift(fill_value=False)[same].any()
    given = frames["prescriptions"].merge(stays, on="admission_id")
    assert given["started"].between(given["admitted"], given["discharged"]).all()
    assert (given["started"] <= given["ended"]).all()


def test_readmitted_means_soon_again(frames: dict[str, pd.DataFrame]) -> None:
    stays = frames["admissions"].sort_values(["patient_id", "admitted"])
    after = stays["admitted"].shift(-1) - stays["discharged"]
    soon = stays["patient_id"].eq(stays["patient_id"].shift(-1)) & (after <= pd.Timedelta(days=30))
    assert soon.any() and (stays["readmitted"].astype(bool) == soon).all()


def test_diagnosis_drives_drugs_and_residence_the_hospital(frames: dict[str, pd.DataFrame]) -> None:
    given = frames["prescriptions"].merge(frames["admissions"], on="admission_id")
    insulin = given["drug"].astype(str).str.startswith("A10")
    diabetes = given["diagnosis"].astype(str).str.startswith("E1")
    assert insulin[diabetes].mean() > 4 * insulin[~diabetes].mean()
    stays = frames["admissions"].merge(frames["patients"], on="patient_id")
    dresden = stays["postcode"].astype(str).str.startswith("01")
    assert stays["hospital"].astype(str).isin(["KH01", "KH02"])[dresden].mean() > 0.5
    old = frames["patients"]["birth_year"] < 1950
    counts = frames["patients"]["patient_id"].map(frames["admissions"]["patient_id"].value_counts()).fillna(0)
    assert counts[old].mean() > 1.2 * counts[~old].mean()


def test_config_is_about_these_files(demo: Path, links: LinkOptions, tables: dict[str, Table]) -> None:
    for name, one in links.tables.items():
        known = {one.key, *one.columns, *([] if one.parent is None else [one.parent.column])}
        assert one.public or known == set(tables[name].schema.names)
        constraints: tuple[AnyConstraint, ...] = one.constraints
        assert all(constraint.holds(tables[name]) for constraint in constraints)
    columns = links.tables["patients"].columns
    paths = {name: demo / column.hierarchy for name, column in columns.items() if column.hierarchy}
    assert len(load_hierarchies(tables["patients"], paths)) == 5


def test_init_finds_what_the_config_says(demo: Path, links: LinkOptions) -> None:
    guessed = guess_links(read_folder(demo))
    assert guessed.tree.person == links.person
    assert guessed.tree.public == ("hospitals",)
    for one in guessed.tables:
        wanted = links.tables[one.name]
        assert (one.key, one.order, one.lookups) == (wanted.key, wanted.order, wanted.references)
        assert one.parent is None or one.parent.parent == wanted.parent.table
    person = {guess.column.name: guess.role.role for guess in guessed.tables[0].columns}
    assert person == {name: column.role for name, column in links.tables["patients"].columns.items()}


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_linked_demo(tmp_path / name, 60, seed)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    same = {path.name: (tmp_path / "a" / path).read_bytes() for path in files}
    assert same == {path.name: (tmp_path / "b" / path).read_bytes() for path in files}
    changed = {path.name for path in files if (tmp_path / "c" / path).read_bytes() != same[path.name]}
    assert changed == {"patients.csv", "admissions.csv", "prescriptions.csv"}


def test_parquet_holds_the_same_tables(tmp_path: Path) -> None:
    for name, format in (("a", "csv"), ("b", "parquet")):
        write_linked_demo(tmp_path / name, 40, 5, format)  # type: ignore[arg-type]
    content = yaml.safe_load((tmp_path / "b" / "config.yaml").read_text(encoding="utf-8"))
    for name, one in LinkOptions.model_validate({key: content[key] for key in ("person", "tables")}).tables.items():
        assert one.path == f"{name}.parquet"
        typed = read(tmp_path / "b", one)
        text = read(tmp_path / "a", one.model_copy(update={"path": f"{name}.csv"}))
        pd.testing.assert_frame_equal(typed.frame, text.frame, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize(("rows", "seed"), [(0, 1), (10**7, 1), (5, -1)])
def test_numbers_out_of_range(tmp_path: Path, rows: int, seed: int) -> None:
    with pytest.raises(ConfigError):
        write_linked_demo(tmp_path, rows, seed)
    assert not list(tmp_path.iterdir())
