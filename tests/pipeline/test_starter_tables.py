"""What `hybrid init` finds in a folder and in a database: keys, references, the person table, public tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError, DataError
from hybrid.pipeline.config import load_config
from hybrid.pipeline.links import LinkOptions
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.starter import GuessedLinks, guess_links, read_database, read_folder
from hybrid.pipeline.starter.column_names import denotes_people, name_likeness
from hybrid.pipeline.starter.guessed_roles import evidence_of
from hybrid.pipeline.starter.references import Declared, find_key, find_references, find_tree
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.typed_table import read_frame
from tests.pipeline.several_tables import write_clinic


def table(**columns: object) -> Table:
    return read_frame(pd.DataFrame(columns), DataOptions(path="frame.csv"))


def texts(*numbers: int, prefix: str = "P") -> list[str]:
    return [f"{prefix}{number:05d}" for number in numbers]


def found(**tables: Table) -> set[tuple[str, str, str, str]]:
    return {(one.table, one.column, one.parent, one.key) for one in find_references(tables)}


@pytest.mark.parametrize(
    ("column", "of", "key", "likeness"),
    [
        ("patient_id", "patients", "patient_id", 1),
        ("PatNr", "Patienten", "PatNr", 1),
        ("patient_id", "patients", "id", 0.9),
        ("PATIENT", "patients", "Id", 0.9),
        ("pat_nr", "patients", "patient_id", 0.9),
        ("category", "categories", "id", 0.9),
        ("home_hospital_id", "hospitals", "hospital_id", 0.7),
        ("id", "patients", "id", 0),
        ("district_id", "district", "A1", 0.7),
        ("Vertrag", "Vertraege", "VertragNr", 0.9),
        ("code", "drugs", "code", 0),
        ("age", "patients", "id", 0),
        ("visit_id", "patients", "patient_id", 0),
    ],
)
def test_likeness_of_names(column: str, of: str, key: str, likeness: float) -> None:
    assert name_likeness(column, of, key) == likeness


@pytest.mark.parametrize(("sizes", "child"), [((60, 90), "first"), ((90, 60), "second"), ((70, 70), "second")])
def test_of_two_unique_columns_the_larger_or_earlier_one_is_the_key(sizes: tuple[int, int], child: str) -> None:
    """Neither name tells whose the numbers are."""
    tables = {name: table(number=texts(*range(size))) for name, size in zip(("first", "second"), sizes, strict=True)}
    ((one, _, parent, _),) = found(**tables)
    assert {one, parent} == {"first", "second"} and one == child


def test_words_for_people() -> None:
    assert denotes_people("Patienten") and denotes_people("customer_id") and not denotes_people("hospitals")
    assert denotes_people("providers") and not denotes_people("providers", staff=False)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_references_are_found_whatever_the_order_of_rows(data: st.DataObject) -> None:
    n = data.draw(st.integers(3, 30))
    owners = data.draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=60))
    order = data.draw(st.permutations(range(n)))
    patients = table(patient_id=texts(*order), town=["x"] * n)
    visits = table(visit_id=range(len(owners)), patient_id=texts(*owners))
    (one,) = find_references({"visits": visits, "patients": patients})
    assert (one.table, one.column, one.parent, one.key) == ("visits", "patient_id", "patients", "patient_id")
    assert one.whole and one.childless == n - len(set(owners))
    assert one.most == max(owners.count(owner) for owner in owners)
    tree = find_tree({"visits": visits, "patients": patients}, [one])
    assert tree.private == ("patients", "visits")


def test_rows_that_refer_to_no_row_are_counted() -> None:
    visits = table(patient_id=[*texts(*range(20)), "P99999", None])
    (one,) = find_references({"patients": table(patient_id=texts(*range(20))), "visits": visits})
    assert (one.unknown, one.missing, one.whole) == (1, 1, False)


def test_a_row_number_is_no_key_where_a_column_has_the_name_that_refers() -> None:
    numbered = table(nr=range(1, 41), client_id=range(1, 41))
    assert found(client=numbered, visit=table(client_id=[1, 1, 2])) == {("visit", "client_id", "client", "client_id")}


def test_too_many_unknown_values_are_no_reference() -> None:
    assert not found(patients=table(patient_id=texts(*range(10))), visits=table(patient_id=texts(*range(5, 25))))


def test_numbers_within_the_range_of_a_key_are_no_reference() -> None:
    patients = table(id=range(1, 101), name=["x"] * 100)
    visits = table(id=range(1, 51), age=[20 + i for i in range(50)], patient_id=[1 + i // 2 for i in range(50)])
    assert found(patients=patients, visits=visits) == {("visits", "patient_id", "patients", "id")}


def test_a_bare_number_that_repeats_is_the_one_of_another_table() -> None:
    patients = table(id=range(1, 101), name=["x"] * 100)
    assert found(patients=patients, visits=table(id=[1, 1, 2, 3], day=[0, 7, 0, 0])) == {
        ("visits", "id", "patients", "id")
    }
    assert not found(patients=patients, visits=table(id=[1, 1, 200], day=[0, 7, 0]))


def test_particular_values_refer_without_a_name() -> None:
    keys = [f"{i * 7919:08x}" for i in range(1, 41)]
    assert found(subjects=table(subject_id=keys), events=table(who=[keys[i % 30] for i in range(60)])) == {
        ("events", "who", "subjects", "subject_id")
    }


def test_one_row_per_person_in_both_tables() -> None:
    patients, cards = table(patient_id=texts(*range(30))), table(patient_id=texts(*range(20)), card=["x"] * 20)
    assert found(cards=cards, patients=patients) == {("cards", "patient_id", "patients", "patient_id")}


def test_database_says_more_than_names() -> None:
    tables = {"a": table(k=range(5), x=["u"] * 5), "b": table(q=[0, 1, 4, 4, 0])}
    assert not find_references(tables)
    (one,) = find_references(tables, Declared({"a": "k"}, frozenset({("b", "q", "a", "k")})))
    assert one.declared and one.whole


def test_key_without_references() -> None:
    drugs = table(text=["a", "b", "c"], drug_no=[3, 1, 2])
    assert find_key("drugs", drugs, []) == "drug_no"
    assert find_key("drugs", table(text=["a", "b"], n=[1, 1]), []) is None


def test_tables_without_a_person_table() -> None:
    tables = {"visits": table(patient_id=texts(1, 1, 2)), "labs": table(patient_id=texts(1, 2, 2))}
    with pytest.raises(DataError, match=r"one row per person.*patient_id is in several tables"):
        find_tree(tables, find_references(tables))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GuessedLinks]:
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder)
    return folder, guess_links(read_folder(folder))


def written(guessed: GuessedLinks, config: Path) -> tuple[LinkOptions, dict]:
    guessed.write(config)
    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    return LinkOptions.model_validate({key: content[key] for key in ("person", "tables")}), content


def test_folder_of_another_hospital(clinic: tuple[Path, GuessedLinks], tmp_path: Path) -> None:
    folder, guessed = clinic
    links, content = written(guessed, tmp_path / "config.yaml")
    assert links.person == "patients"
    tables = links.tables
    assert {name: one.key for name, one in tables.items()} == {
        "patients": "Id",
        "encounters": "Id",
        "medications": None,
        "organizations": "Id",
    }
    assert tables["encounters"].parent.model_dump() == {
        "table": "patients",
        "column": "PATIENT",
        "through": None,
        "orphans": "refuse",
    }
    assert tables["medications"].parent.table == "encounters", "the lower of two parents"
    assert tables["medications"].columns["PATIENT"].role == "identifier"
    assert tables["encounters"].order == "START"
    assert tables["encounters"].references == {"ORGANIZATION": "organizations"}
    assert tables["organizations"].public and not any(tables[name].public for name in guessed.tree.private)
    assert tables["patients"].columns["GENDER"].role == "quasi_identifier"
    assert (tmp_path / tables["patients"].columns["GENDER"].hierarchy).is_file()
    assert content["split"]["control"] == "cross" and content["anonymize"]["k"] == 5
    assert not any(one.role == "quasi_identifier" for one in tables["encounters"].columns.values())
    assert (tmp_path / tables["patients"].path).resolve() == folder / "patients.csv"
    notes = "\n".join(guessed.notes)
    assert "claims_transactions is left out" in notes
    assert "organizations: 5 rows, proposed as public" in notes
    assert "Boston" not in notes and "Boston" not in (tmp_path / "config.yaml").read_text(encoding="utf-8")


def test_values_that_a_public_table_lacks_are_counted(tmp_path: Path) -> None:
    (tmp_path / "patient.csv").write_text(
        "patient_id,region_id,age\n" + "".join(f"{i},{i % 30},40\n" for i in range(60))
    )
    (tmp_path / "visit.csv").write_text("visit_id,patient_id\n" + "".join(f"{i},{i % 60}\n" for i in range(90)))
    (tmp_path / "region.csv").write_text("region_id,area\n" + "".join(f"{i},{i * 7}\n" for i in range(29)))
    said = "patient: region_id refers to region.region_id, but 2 rows have a value that is not there"
    assert any(note.startswith(said) for note in guess_links(read_folder(tmp_path)).notes)


def test_existing_files_stay(clinic: tuple[Path, GuessedLinks], tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="the file exists"):
        clinic[1].write(tmp_path / "config.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    clinic[1].write(tmp_path / "config.yaml", force=True)
    assert "patients" in (tmp_path / "config.yaml").read_text(encoding="utf-8")


def test_only_some_tables(clinic: tuple[Path, GuessedLinks]) -> None:
    place = read_folder(clinic[0], ["patients", "encounters"])
    assert guess_links(place).tree.private == ("patients", "encounters")
    with pytest.raises(ConfigError, match="no table 'visits'"):
        read_folder(clinic[0], ["visits"])


def test_folder_of_one_table(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("patient_id\n1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="1 tables; linked tables are 2 to"):
        read_folder(tmp_path)


def test_all_unreadable_files_at_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("x,x\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_folder(tmp_path)
    assert len(error.value.problems) == 2


def test_doctors_and_large_tables_are_not_public(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    pd.DataFrame({"patient_id": range(40), "town_id": rng.integers(1200, size=40)}).to_csv(
        tmp_path / "patients.csv", index=False
    )
    visits = {"patient_id": rng.integers(40, size=2000), "doctor_id": rng.integers(6, size=2000)}
    pd.DataFrame(visits | {"drug_id": rng.integers(3, size=2000)}).to_csv(tmp_path / "visits.csv", index=False)
    pd.DataFrame({"doctor_id": range(6), "room": range(6)}).to_csv(tmp_path / "doctors.csv", index=False)
    pd.DataFrame({"drug_id": range(3), "last_name": ["a", "b", "c"]}).to_csv(tmp_path / "drugs.csv", index=False)
    pd.DataFrame({"town_id": range(1200)}).to_csv(tmp_path / "towns.csv", index=False)
    tree = guess_links(read_folder(tmp_path)).tree
    assert (tree.private, tree.public) == (("patients", "visits"), ())
    assert set(tree.left_out) == {"doctors", "drugs", "towns"}


def test_accounts_are_not_public(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    districts = pd.DataFrame({"A1": range(1, 20), "A2": [f"town {i}" for i in range(19)]})
    clients = pd.DataFrame({"client_id": range(60), "district_id": rng.integers(1, 20, size=60)})
    accounts = pd.DataFrame({"account_id": range(50), "frequency": rng.choice(["M", "W"], 50)})
    held = pd.DataFrame({"client_id": rng.integers(60, size=70), "account_id": rng.integers(50, size=70)})
    for name, frame in {"district": districts, "client": clients, "account": accounts, "disp": held}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    guessed = guess_links(read_folder(tmp_path))
    assert (guessed.tree.private, guessed.tree.public) == (("client", "account", "disp"), ("district",))
    assert guessed.tables[0].named(Role.QUASI_IDENTIFIER) == ["district_id"]
    over = guessed.tree.parents["account"].through
    assert over is not None and (over.table, over.prefer) == ("disp", None)


def test_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(tmp_path / "clinic.db") as database:
        database.executescript(
            """
            create table person (nr integer primary key, born integer, town text);
            create table stay (nr integer primary key, who integer references person (nr), admitted date);
            create table sample (stay integer references stay (nr), value real);
            """
        )
        database.executemany("insert into person values (?, ?, ?)", [(i, 1950 + i, "ab"[i % 2]) for i in range(30)])
        database.executemany(
            "insert into stay values (?, ?, ?)", [(i, i % 25, f"2024-01-{1 + i % 28:02d}") for i in range(60)]
        )
        database.executemany("insert into sample values (?, ?)", [(i % 50, i / 7) for i in range(90)])
    monkeypatch.setenv("CLINIC", f"sqlite:///{tmp_path / 'clinic.db'}")
    guessed = guess_links(read_database("CLINIC"))
    links, _ = written(guessed, tmp_path / "config.yaml")
    assert links.person == "person"
    assert links.tables["stay"].parent.column == "who" and links.tables["stay"].order == "admitted"
    assert links.tables["sample"].parent.table == "stay" and links.tables["sample"].key is None
    assert links.tables["sample"].sql.model_dump(exclude_defaults=True) == {"url_env": "CLINIC", "table": "sample"}
    assert "declared by the database" in (tmp_path / "config.yaml").read_text(encoding="utf-8")


def test_a_linked_table_of_hundreds_of_columns_gets_no_constraints_and_a_note(tmp_path: Path) -> None:
    write_clinic(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.read_csv(tmp_path / "medications.csv")
    more = pd.DataFrame({f"q{at}": rng.integers(0, 5, len(frame)) for at in range(210)})
    pd.concat([frame, more], axis=1).to_csv(tmp_path / "medications.csv", index=False)
    notes = guess_links(read_folder(tmp_path)).notes
    assert "no constraints between columns were looked for in medications: more than 200 columns" in notes


def test_members_of_a_household_and_taught_subjects(tmp_path: Path) -> None:
    """A number of a household is a question; a subject of few words in many rows is taught, of numbers treated."""
    rng = np.random.default_rng(2)
    pupils = pd.DataFrame({"pupil_no": range(300), "family_no": np.arange(300) // 2 + 9_000, "grade": 5})
    rows = pd.DataFrame({"pupil_no": rng.integers(0, 300, 900), "subject": rng.choice(["Art", "Maths", "Sports"], 900)})
    for name, frame in {"pupils": pupils, "marks": rows.assign(mark=rng.integers(1, 7, 900))}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    guessed = guess_links(read_folder(tmp_path))
    assert any("tables.pupils.household: family_no keeps its members on one side" in note for note in guessed.notes)
    roles = {one.column.name: one.role for one in guessed.tables[1].columns}
    assert roles["subject"].role is Role.UNDECIDED and "its values do not" in roles["subject"].reason
    said = evidence_of(Column("subject", Role.INSENSITIVE, Kind.CATEGORICAL), rows["subject"])
    assert said is not None and said.partial and not said.strong, "it is no open point of a verdict, once decided"
    people = table(subject=[f"S-{at % 12:02d}" for at in range(900)], doctor_id=["Meyer", "Ott", "Roth"] * 300)
    found = {name: evidence_of(people.schema[name], people.frame[name]) for name in people.schema.names}
    assert all(one is not None and not one.partial for one in found.values())


def test_dates_in_order_are_declared_and_nothing_ends_before_it_begins(tmp_path: Path) -> None:
    rng, n, m = np.random.default_rng(4), 300, 900
    begins = pd.Timestamp("2025-09-01") + pd.to_timedelta(rng.integers(0, 280, m), "D")
    days = rng.geometric(0.4, m)
    pupils = {"pupil_id": [f"S{at:04d}" for at in range(n)], "sex": rng.choice(["f", "m"], n)}
    absences = {"pupil_id": [f"S{at:04d}" for at in rng.integers(n, size=m)], "from": begins}
    absences |= {"until": begins + pd.to_timedelta(days - 1, "D"), "hours": 6 * days}
    for name, columns in (("pupils", pupils), ("absences", absences)):
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    guessed = guess_links(read_folder(tmp_path))
    guessed.write(tmp_path / "config.yaml")
    config = load_config(tmp_path / "config.yaml", {"split.control": 0})
    assert [one.columns for one in config.views["absences"].constraints] == [("from", "until")]
    drawn = Pipeline(config, seed=1).released["absences"].frame
    lasting = (drawn["until"] - drawn["from"]).dt.days + 1
    assert lasting.min() >= 1 and np.corrcoef(lasting, drawn["hours"].astype(float))[0, 1] > 0.8
