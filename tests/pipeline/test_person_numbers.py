"""Numbers of persons are found by what persons keep; names of data standards are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import load_config
from hybrid.pipeline.decided_roles import refuse_without_person, without_person
from hybrid.pipeline.starter.columns import guess_columns
from hybrid.pipeline.starter.guess_config import guess_frame
from hybrid.pipeline.starter.guessed_roles import person_key
from hybrid.pipeline.starter.person_numbers import (
    agreement,
    contradiction,
    lasting_traits,
    people_again,
    person_numbers,
)
from hybrid.pipeline.starter.reading import guess_frame_reading
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.read_file import read_table
from hybrid.table.typed_table import read_frame


def _table(frame: pd.DataFrame) -> Table:
    return read_frame(frame, guess_frame_reading(frame))


def _panel(people: int = 300, years: int = 5) -> pd.DataFrame:
    """A panel of persons: what they keep, and what changes."""
    rng = np.random.default_rng(0)
    born, race = rng.integers(40, 60, people), rng.integers(1, 4, people)
    each = np.repeat(np.arange(people), years)
    return pd.DataFrame(
        {
            "idcode": each + 1,
            "year": np.tile(np.arange(years), people),
            "birth_yr": born[each],
            "race": race[each],
            "industry_code": rng.integers(1, 90, len(each)),
            "hours": rng.integers(10, 90, len(each)),
        }
    )


def _roles(frame: pd.DataFrame) -> dict[str, Role]:
    return {guessed.column.name: guessed.role.role for guessed in guess_columns(_table(frame))}


def _person(frame: pd.DataFrame) -> str | None:
    table = _table(frame)
    return person_key(table, {guessed.column.name: guessed.role for guessed in guess_columns(table)})


def test_the_number_of_a_panel_s_persons_is_the_person() -> None:
    """Its name says nothing, and each value goes with one race: it was once taken for a quasi-identifier."""
    assert _roles(_panel())["idcode"] is Role.IDENTIFIER
    assert _person(_panel()) == "idcode"
    assert _roles(_panel())["industry_code"] is not Role.IDENTIFIER


def test_traits_of_a_second_person_hide_no_number() -> None:
    """A partner's race is not kept: the number of the person was once a quasi-identifier."""
    rng = np.random.default_rng(4)
    frame = _panel().assign(sex=lambda rows: rows["idcode"] % 2, birth_yr=1990)
    frame["race_o"] = rng.integers(1, 5, len(frame))
    frame["income"] = (frame["idcode"] * 31).where(frame["idcode"] % 2 == 0).astype("Int64")
    assert _roles(frame)["idcode"] is Role.IDENTIFIER
    assert _person(frame) == "idcode"
    assert _roles(frame)["income"] is Role.SENSITIVE, "half of the rows have none: it numbers nobody"


def test_codes_that_look_like_diagnoses_are_numbers_where_they_go_with_persons() -> None:
    frame = _panel().assign(code=lambda rows: "M" + rows["idcode"].map("{:06d}".format)).drop(columns="idcode")
    frame["lastname"] = ("name" + (frame["code"].str[-2:])).to_numpy()
    assert _roles(frame)["code"] is Role.IDENTIFIER
    assert _person(frame) == "code"


def test_a_scale_of_seven_points_is_no_person() -> None:
    frame = _panel().assign(uid=lambda rows: rows["idcode"] * 7 + 3).drop(columns=["idcode", "race", "birth_yr"])
    frame["pid7"] = np.arange(len(frame)) % 7 + 1
    assert _person(frame) == "uid"
    assert _person(frame.drop(columns="uid")) is None


def test_a_number_whose_rows_have_different_births_is_no_person() -> None:
    frame = _panel().assign(contract_id=lambda rows: rows["idcode"] % 40).drop(columns="idcode")
    assert _roles(frame)["contract_id"] is Role.IDENTIFIER
    assert _person(frame) is None


def _candidates(places: int = 40, each: int = 10) -> pd.DataFrame:
    """Candidates: their numbers on the ballot start anew in every place, and some have the same name."""
    rng = np.random.default_rng(1)
    rows = places * each
    return pd.DataFrame(
        {
            "candidate_no": np.tile(np.arange(each) + 10, places) * 100 + rng.integers(0, 30, rows),
            "name": [f"Maria Silva{at}" if at % 50 else "Not Known" for at in range(rows)],
            "tax_id": [f"{at:011d}" for at in range(rows)],
            "sex": rng.choice(["f", "m"], rows),
            "birth_date": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 15_000, rows), "D"),
        }
    )


def test_names_and_numbers_of_several_people_are_no_person() -> None:
    """A placeholder among names was once the person of all its rows, and k counted it once."""
    frame = _candidates()
    assert frame["candidate_no"].duplicated().any() and frame["name"].duplicated().any()
    assert {_roles(frame)[name] for name in ("candidate_no", "name", "tax_id")} == {Role.IDENTIFIER}
    assert _person(frame) is None
    assert any(note.startswith("whose is a row? candidate_no and name repeat,") for note in guess_frame(frame).notes)
    twice = pd.concat([frame, frame.head(30).assign(candidate_no=lambda rows: rows["candidate_no"] + 5000)])
    assert _person(twice.reset_index(drop=True)) == "tax_id"


def test_a_manager_of_many_is_not_whose_a_row_is(tmp_path: Path) -> None:
    """Each employee has a number; that managers come again was an error, until someone wrote person: none."""
    rng = np.random.default_rng(3)
    names = ("EmpID", "ManagerID", "age")
    columns = rng.permutation(300) + 1000, rng.integers(100, 120, 300), rng.integers(20, 60, 300)
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    for number, repeating in (("EmpID", ()), ("badge", ("ManagerID",))):
        rows = frame.rename(columns={"EmpID": number})
        rows.to_csv(tmp_path / "staff.csv", index=False)
        roles = {name: {"role": "identifier"} for name in (number, "ManagerID")}
        data = {"path": "staff.csv", "columns": roles | {"age": {"role": "insensitive"}}}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump({"version": 1, "data": data}))
        config = load_config(tmp_path / "config.yaml")
        assert without_person(config, read_table(tmp_path / "staff.csv", config.data)) == repeating


def test_years_at_an_address_are_no_address() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"address": rng.integers(0, 35, 800), "street": rng.integers(1, 40, 800)})
    assert _roles(frame) == {"address": Role.INSENSITIVE, "street": Role.IDENTIFIER}


def test_contradiction_by_hand() -> None:
    """Of four repeated rows two have another known sex or birth; what is missing contradicts nothing."""
    frame = pd.DataFrame(
        {
            "name": ["a", "a", "a", "b", "b", "b", None],
            "sex": ["f", None, "m", "f", "f", "f", "m"],
            "birth_year": [1950, 1950, 1950, 1960, 1960, 1961, 1970],
            "physician_sex": ["f", "m", "f", "m", "f", "m", "f"],
        }
    )
    assert contradiction(_table(frame), "name") == 2 / 4
    assert contradiction(_table(frame[["name", "physician_sex"]]), "name") == 0.0
    assert contradiction(_table(frame.iloc[[0, 3]].reset_index(drop=True)), "name") == 0.0


def _visits(people: int = 200, each: int = 3) -> pd.DataFrame:
    """Visits with a number of their own, and names and births of their patients."""
    rng = np.random.default_rng(2)
    patients = pd.DataFrame(
        {
            "Vorname": rng.choice([f"Vor{at}" for at in range(30)], people),
            "Nachname": rng.choice([f"Nach{at}" for at in range(60)], people),
            "Geburtsdatum": pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, people), "D"),
            "Geschlecht": rng.choice(["w", "m"], people),
        }
    )
    rows = patients.loc[np.repeat(np.arange(people), each)].reset_index(drop=True)
    rows.insert(0, "Besuch_Nr", rng.permutation(len(rows)) + 1000)
    return rows.assign(Kosten=rng.integers(0, 50, len(rows)))


def test_names_and_births_that_recur_are_persons_with_several_rows() -> None:
    """The number of the visit never repeats: k once counted a patient's visits as so many people."""
    named = ("Vorname", "Nachname", "Geburtsdatum", "Geschlecht")
    assert people_again(_table(_visits())) == named
    assert people_again(_table(_visits(each=1))) == ()
    assert people_again(_table(_visits().drop(columns=["Vorname", "Nachname"]))) == named[2:]
    # Who has the same surname, or the same sex and birth by chance, is not the same person.
    assert people_again(_table(_visits().drop(columns=["Vorname", "Geburtsdatum"]))) == ()
    assert people_again(_table(_visits()[["Geburtsdatum", "Kosten"]])) == ()
    assert people_again(_table(_panel(people=3000, years=1))) == ()
    assert _person(_visits()) is None
    assert any("whose is a row? Vorname and Nachname repeat," in note for note in guess_frame(_visits()).notes)
    assert any("whose is a row? Geburts" in note for note in guess_frame(_visits().iloc[:, [0, 3, 4, 5]]).notes)


def test_a_sex_and_its_text_are_one_trait() -> None:
    """Of a table with both, each row of one sex was asked about as the same person as all others."""
    rng = np.random.default_rng(5)
    code = rng.integers(1, 3, 400)
    frame = pd.DataFrame({"sex": code, "gender": np.array(["m", "f"])[code - 1], "cost": rng.integers(0, 90, 400)})
    assert people_again(_table(frame)) == ()
    panel = _panel().assign(race_text=lambda rows: rows["race"].astype(str) + "!")
    assert person_numbers(_table(panel), ["idcode"]) == ("idcode",)
    assert person_numbers(_table(panel.drop(columns="birth_yr")), ["idcode"]) == person_numbers(
        _table(_panel().drop(columns="birth_yr")), ["idcode"]
    )


def test_first_names_and_surnames_alone_are_no_person() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"Nom": rng.choice(["BEGUE", "ROY", "MOREL"] + [f"N{at}" for at in range(300)], 900)})
    frame["Prenom"] = rng.choice([f"P{at}" for at in range(60)], 900)
    assert _person(frame) is None
    assert _person(frame[["Prenom"]]) is None


def test_agreement_by_hand() -> None:
    """Six rows of two values: four repeat, three of them keep the first row's traits."""
    values, traits = pd.Series(["a", "a", "a", "b", "b", "b", None]), np.array([1, 1, 2, 5, 5, 5, 9])
    assert agreement(values, traits) == 3 / 4
    assert agreement(pd.Series(["a", "b", "c", "c"]), traits[:4]) is None  # four rows of three values say too little


def test_traits_that_many_share_say_nothing() -> None:
    sex = Schema((Column("sex", Role.INSENSITIVE, Kind.CATEGORICAL),))
    assert lasting_traits(Table(pd.DataFrame({"sex": pd.Categorical(["f", "m"] * 50)}), sex)) is None
    assert lasting_traits(_table(_panel())) is not None
    assert person_numbers(_table(_panel()), ["idcode", "year", "race", "hours"]) == ("idcode",)
    assert person_numbers(_table(_panel()[["idcode", "year", "hours"]]), ["idcode"]) == ()
    assert person_numbers(_table(_panel(people=50)), ["idcode"]) == ()  # its name would have to say so


def test_a_release_of_visits_needs_a_decision_about_their_patients(tmp_path: Path) -> None:
    _visits().to_csv(tmp_path / "visits.csv", index=False)
    roles = dict.fromkeys(("Besuch_Nr", "Vorname", "Nachname"), "identifier")
    columns = {name: {"role": roles.get(name, "insensitive")} for name in _visits().columns}
    data = {"path": "visits.csv", "columns": columns}
    for person, refused in ((None, True), (["Vorname", "Nachname"], False), ("none", False)):
        content = {"version": 1, "name": "visits", "data": data | ({"person": person} if person else {})}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(content))
        config = load_config(tmp_path / "config.yaml")
        assert bool(without_person(config, read_table(tmp_path / "visits.csv", config.data))) is refused


@pytest.mark.parametrize("person", [None, "none"])
def test_a_release_needs_a_decision_about_persons(tmp_path: Path, person: str | None) -> None:
    """Whatever role somebody gave the number: k would count rows."""
    _panel().to_csv(tmp_path / "panel.csv", index=False)
    columns = {name: {"role": "insensitive", "kind": "integer"} for name in _panel().columns}
    data = {"path": "panel.csv", "columns": columns} | ({"person": person} if person else {})
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"version": 1, "name": "panel", "data": data}))
    config = load_config(tmp_path / "config.yaml")
    table = read_table(tmp_path / "panel.csv", config.data)
    if person is None:
        with pytest.raises(ConfigError, match=r"data\.person is not set: 'idcode'"):
            refuse_without_person(config, table)
    else:
        refuse_without_person(config, table)


STANDARDS = {
    "CDISC SDTM": {
        "identifier": ["USUBJID", "SUBJID"],
        "quasi_identifier": ["BRTHDTC", "DTHDTC", "RFSTDTC", "RFENDTC", "AESTDTC", "SITEID", "SEX", "RACE", "AGE"],
        "sensitive": ["AEDECOD", "CMDECOD", "MHDECOD"],
    },
    "OMOP CDM": {
        "identifier": ["person_id", "visit_occurrence_id"],
        "quasi_identifier": ["year_of_birth", "gender_concept_id", "race_concept_id", "visit_start_date", "death_date"],
        "sensitive": ["condition_concept_id", "drug_concept_id", "procedure_concept_id"],
    },
    "MIMIC": {
        "identifier": ["subject_id", "hadm_id", "stay_id"],
        "quasi_identifier": ["gender", "anchor_age", "admittime", "dischtime", "dod", "marital_status", "language"],
    },
    "Synthea": {
        "identifier": ["SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "MAIDEN", "ADDRESS"],
        "quasi_identifier": ["BIRTHDATE", "DEATHDATE", "RACE", "ETHNICITY", "GENDER", "CITY", "COUNTY", "ZIP", "LAT"],
    },
    "PCORnet": {
        "identifier": ["PATID", "ENCOUNTERID"],
        "quasi_identifier": ["BIRTH_DATE", "ADMIT_DATE", "DISCHARGE_DATE", "SEX", "RACE"],
        "sensitive": ["DX"],
    },
}


@pytest.mark.parametrize(
    ("name", "role"),
    [(name, role) for roles in STANDARDS.values() for role, names in roles.items() for name in names],
)
def test_columns_of_data_standards(name: str, role: str) -> None:
    values = pd.Series([f"{value % 60}" for value in range(400)])
    assert _roles(pd.DataFrame({name: values}))[name] == role


def test_dates_that_cannot_be_read_are_asked_about() -> None:
    """Years of two digits (which century?) and dates without a day were once phone numbers, or mere categories."""
    days = np.arange(60)
    frame = pd.DataFrame(
        {
            "birth_date": [f"{at % 12 + 1:02}/{at % 28 + 1:02}/{40 + at}" for at in days],
            "AESTDTC": [
                f"20{at % 20 + 10}-{at % 12 + 1:02}-{at % 28 + 1:02}"[: 7 if at % 9 == 0 else 10] for at in days
            ],
            "whole": [f"2024-{at % 12 + 1:02}-{at % 28 + 1:02}" for at in days],
        }
    )
    found = {guessed.column.name: guessed.role for guessed in guess_columns(_table(frame))}
    for name in ("birth_date", "AESTDTC"):
        assert found[name].role is Role.UNDECIDED and "write them as 2024-12-31" in found[name].reason
    assert found["whole"].is_event and "write them" not in found["whole"].reason


def test_constraints_are_not_looked_for_between_hundreds_of_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{at}": rng.integers(0, 5, 150) for at in range(230)})
    guessed = guess_frame(frame)
    assert guessed.constraints == ()
    assert "no constraints between columns were looked for: more than 200 columns" in guessed.notes
