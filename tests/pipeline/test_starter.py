"""What `hybrid init` writes can be loaded, checked and run right away, whatever the table looks like."""

from __future__ import annotations

import random
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError, DataError
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.starter import GuessedConfig, guess_config, guess_frame
from hybrid.pipeline.starter.config_text import Extent, drawing_lines, labels_line, split_lines
from hybrid.pipeline.starter.reading import MOST_COLUMNS
from hybrid.pipeline.table_run import TableRun
from hybrid.synthesize.generators.cart import leaf_of_sampled
from hybrid.table import Kind, Role
from hybrid.table.read_file import read_table
from tests.helpers.whole_demo import write_whole_demo


def _started(data: Path, folder: Path | None = None) -> tuple[GuessedConfig, RunConfig]:
    """Guess, write, load and check: no errors."""
    guessed = guess_config(data)
    path = (folder or data.parent) / "started.yaml"
    guessed.write(path)
    config = load_config(path)
    assert not [finding for finding in diagnose(config) if finding.level == "error"]
    return guessed, config


def _roles(config: RunConfig) -> dict[str, str]:
    return {name: str(column.role) for name, column in config.data.columns.items()}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_demo_runs_from_a_guess(tmp_path: Path, format: str) -> None:
    write_whole_demo(tmp_path / "demo", 800, format=format)  # type: ignore[arg-type]
    data = tmp_path / "demo" / f"admissions.{format}"
    _, config = _started(data, tmp_path / "elsewhere")
    roles = _roles(config)
    assert roles["patient_id"] == "identifier"
    assert roles["diagnosis"] == "sensitive"
    assert {name for name, role in roles.items() if role == "quasi_identifier"} == {
        *("age", "sex", "postcode", "nationality", "occupation")
    }
    assert roles["admission_date"] == "undecided", "do others know it? somebody has to say"
    assert not any(column.target for column in config.data.columns.values()), "what users predict is asked"
    assert config.data.path == f"../demo/admissions.{format}"
    pipeline = TableRun(config, seed=1)
    assert pipeline.anonymized is not None
    assert pipeline.anonymized.result.min_class_size >= 5
    assert pipeline.synthetic.schema.names == read_table(data, config.data).without_left_out().schema.names


def test_adult_runs_from_a_guess(census: Path, tmp_path: Path) -> None:
    guessed, config = _started(census, tmp_path)
    assert set(config.data.missing) == {"", "?"}
    roles = _roles(config)
    assert {roles[name] for name in ("age", "education", "education-num", "race", "native-country")} == {
        "quasi_identifier"
    }
    assert roles["fnlwgt"] == "insensitive"
    assert any("what will users predict? perhaps income:" in note for note in guessed.notes)
    assert any("% of rows are of people who are alone" in note for note in guessed.notes)
    assert not any(text in "".join(guessed.notes) for text in ("United-States", "Private"))


def test_german_file(tmp_path: Path) -> None:
    random.seed(1)
    rows = [
        f"{i};{random.choice(['Köln', 'Nürnberg', 'Bonn'])};{random.randint(0, 9999)},50;{random.choice('123')}.05.2024"
        for i in range(50)
    ]
    data = tmp_path / "kunden.csv"
    data.write_bytes(("Nr;Wohnort;Betrag;birth_date\r\n" + "\r\n".join(rows)).encode("cp1252"))
    _, config = _started(data)
    assert (config.data.separator, config.data.decimal, config.data.encoding) == (";", ",", "cp1252")
    kinds = {name: column.kind for name, column in config.data.columns.items()}
    assert kinds == {"Nr": "integer", "Wohnort": "categorical", "Betrag": "decimal", "birth_date": "date"}
    assert _roles(config)["Nr"] == "excluded", "it counts the rows"
    assert config.data.columns["birth_date"].format == "%d.%m.%Y"


def test_missing_markers(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text(
        "weight,grade,plan,day\n70.5,A,None,2024-01-01\n-,B,basic,NULL\nNaN,-,None,2024-01-02\n71,A,?,unknown\n"
    )
    config = guess_config(data).options
    assert set(config.missing) == {"", "-", "NaN", "NULL", "?", "unknown"}
    frame = read_table(data, config).frame
    assert frame["weight"].isna().sum() == 2
    assert frame["plan"].tolist()[:3] == ["None", "basic", "None"]


@pytest.mark.parametrize(
    ("texts", "marker"),
    [
        (["1,3", "0,98", "k.A."], "k.A."),
        (["12", "7", "Not available"], "Not available"),
        ([*(f"{at},5" for at in range(20)), "nicht gemessen"], "nicht gemessen"),
        (["1", "2", "nicht gemessen"], None),
        ([*map(str, range(20)), "viele", "wenige", "keine"], None),
        ([*map(str, range(20)), "Station"], None),
        (["A", "B", "k.A."], None),
    ],
)
def test_words_that_mean_missing_among_numbers(tmp_path: Path, texts: list[str], marker: str | None) -> None:
    """In a German table of laboratory values all decimals were categories, since one text stood among them."""
    data = tmp_path / "data.csv"
    rows = [f"{at};{texts[at % len(texts)]};{('Station', 'Ambulanz')[at % 2]}" for at in range(500)]
    data.write_text("nr;wert;ort\n" + "\n".join(rows) + "\n", encoding="cp1252")
    config = guess_config(data).options
    assert set(config.missing) == {"", *([marker] if marker else [])}
    assert (read_table(data, config).schema["wert"].kind is Kind.CATEGORICAL) is (marker is None)


def test_a_text_of_few_people_among_numbers_is_not_named_in_the_configuration(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("nr,age\n" + "".join(f"{at},{'Mustermann' if at < 3 else at % 60}\n" for at in range(300)))
    guessed = guess_config(data)
    assert guessed.options.missing == ("",)
    guessed.write(tmp_path / "config.yaml")
    assert "Mustermann" not in (tmp_path / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("state", Kind.CATEGORICAL),
        ("MaritalStatus", Kind.CATEGORICAL),
        ("occupation", Kind.CATEGORICAL),
        ("city_population", Kind.INTEGER),
        ("industry_growth", Kind.INTEGER),
    ],
)
def test_whole_numbers_named_after_what_has_a_name_are_codes(tmp_path: Path, name: str, kind: Kind) -> None:
    data = tmp_path / "people.csv"
    data.write_text(f"{name},age\n" + "".join(f"{10 + i % 40},{20 + i % 30}\n" for i in range(200)))
    _, config = _started(data)
    found = config.data.columns.get(name)
    assert (Kind.INTEGER if found is None else found.kind) is kind


def test_codes_are_no_quantities(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("zip,age\n" + "".join(f"{10000 + i % 40 * 7},{20 + i % 30}\n" for i in range(200)))
    guessed, config = _started(data)
    assert config.data.columns["zip"].kind is Kind.CATEGORICAL
    hierarchy = yaml.safe_load((tmp_path / "hierarchies" / "zip.yaml").read_text())
    assert hierarchy == {"type": "mask", "keep": [4, 3, 2, 1]}
    assert guessed.table.schema["age"].kind is Kind.INTEGER


def test_a_sampling_weight_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(
        "age,factor_expansion,kg\n" + "".join(f"{20 + i % 50},{100 + i * 1.5},{50 + i * 0.1:.1f}\n" for i in range(80))
    )
    columns = {one.column.name: one.role for one in guess_config(path).columns}
    assert "is it a sampling weight? then its role is weight" in columns["factor_expansion"].reason
    assert "weight" not in columns["kg"].reason


@pytest.mark.parametrize("rows", [30, 31])
def test_only_small_tables_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr("hybrid.pipeline.starter.write.COMPARED_ROWS", 30)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"town": rng.choice(["a", "b"], rows), "size": rng.normal(size=rows)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = _started(tmp_path / "t.csv")[1].evaluate
    assert (options.original, options.baseline) == (rows == 30, rows == 30)


def test_whole_numbers_that_pandas_made_floats(tmp_path: Path) -> None:
    data = tmp_path / "data.parquet"
    pd.DataFrame({"age": [20, None, 31] * 10, "bmi": [20.5, 21.0, None] * 10}).to_parquet(data)
    _, config = _started(data)
    assert config.data.columns["age"].kind is Kind.INTEGER
    assert config.data.columns["bmi"].kind is Kind.DECIMAL


def test_a_target_of_few_whole_numbers_is_classes(tmp_path: Path) -> None:
    for target, kind in (
        (["1.0", "0.0"], Kind.CATEGORICAL),
        (["1", "0"], Kind.CATEGORICAL),
        (["0.5", "0.0"], Kind.DECIMAL),
    ):
        data = tmp_path / "data.csv"
        data.write_text("other,churn\n" + "".join(f"{at % 7},{target[at % 2]}\n" for at in range(60)))
        (column,) = (one.column for one in guess_config(data).columns if one.column.name == "churn")
        assert column.kind is kind


def test_names_and_values_that_yaml_would_misread(tmp_path: Path) -> None:
    names = ["no", "a: b", "# c", "city", "City", "City?", "état/civil", "'q'", "1", "country, code", "null"]
    data = tmp_path / "data.csv"
    header = ",".join(f'"{name}"' for name in names)
    cells = ("no", "yes: 1", "x#y", "01", "null")
    rows = [",".join(f'"{cells[(i + j) % 5]}"' for j in range(len(names))) for i in range(40)]
    data.write_text(header + "\n" + "\n".join(rows) + "\n", encoding="utf-8")
    guessed, config = _started(data)
    assert list(config.data.columns) == names
    assert len({path.name.lower() for path in config.hierarchy_sources.values()}) == len(config.hierarchy_sources) >= 4
    assert guessed.table.schema["no"].kind is Kind.CATEGORICAL


def test_columns_that_say_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,sex,city,x\n" + ",f,Rome,1\n" * 10)
    _, config = _started(data)
    assert set(_roles(config).values()) == {"insensitive"}
    assert config.anonymize is None


def test_a_late_character_of_another_encoding_is_read(tmp_path: Path) -> None:
    """Only the first megabyte was once looked at, and the rest could not be read."""
    rows = [b"Anna,%d,%s" % (at, b"x" * 90) for at in range(12_000)] + [b"Zo\xeb,3,\x81"]
    (tmp_path / "late.csv").write_bytes(b"town,size,note\n" + b"\n".join(rows) + b"\n")
    _, config = _started(tmp_path / "late.csv")
    assert config.data.encoding == "iso-8859-1"


@pytest.mark.parametrize(("ends", "gap"), [("\r", ","), ("\n", " "), ("\r\n", ";")])
def test_line_ends_and_blanks_between_fields(tmp_path: Path, ends: str, gap: str) -> None:
    """A file with the line ends of old Macs was refused for its columns, one with blanks was a single column."""
    rows = [gap.join((f"{at % 7}", f"{at % 3}", f"k{at % 4}")) for at in range(3_000)]
    (tmp_path / "t.csv").write_bytes(ends.join([gap.join(("status", "duration", "purpose")), *rows, ""]).encode())
    guessed, config = _started(tmp_path / "t.csv")
    assert (config.data.separator, len(guessed.table), len(guessed.columns)) == (gap, 3_000, 3)


def test_a_title_without_separators_is_refused(tmp_path: Path) -> None:
    """The records were once the values of one column."""
    (tmp_path / "t.csv").write_text("Staff 2024\nid;age\n" + "".join(f"{at};{at % 9}\n" for at in range(60)))
    with pytest.raises(DataError) as refused:
        guess_config(tmp_path / "t.csv")
    assert "title" in str(refused.value.problems[0].hint)


def test_without_a_quasi_identifier_the_anonymization_is_a_comment(tmp_path: Path) -> None:
    file = tmp_path / "marks.csv"
    file.write_text("mark,hours\n" + "".join(f"{row % 7},{row % 11}\n" for row in range(60)))
    text = guess_config(file).to_yaml(tmp_path)
    assert "\n#   k: 5 " in text and "\n# transition: {method: tree, order: pre}" in text
    assert "\nanonymize:" not in text


def test_one_row(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,sex\n5,f\n")
    guessed = guess_config(data)
    guessed.write(tmp_path / "started.yaml")
    assert load_config(tmp_path / "started.yaml").anonymize is None


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("email", [f"a{i}@b.org" for i in range(30)], Role.IDENTIFIER),
        ("last_name", ["Li", "Wu"] + [f"N{i}" for i in range(28)], Role.IDENTIFIER),
        ("reference", [f"{i * 37 % 1009}" for i in range(30)], Role.IDENTIFIER),
        ("weight", [f"{i * 37 % 1009}.5" for i in range(30)], Role.INSENSITIVE),
        ("salary", [f"{i % 15}" for i in range(30)], Role.SENSITIVE),
        ("date_of_birth", [f"1990-01-{i % 28 + 1:02}" for i in range(30)], Role.QUASI_IDENTIFIER),
        ("postage", [f"{i % 7}" for i in range(30)], Role.INSENSITIVE),
        ("nameLast", [f"N{i % 9}" for i in range(30)], Role.IDENTIFIER),
        ("NM_SOCIAL_CANDIDATO", [f"N{i % 9}" for i in range(30)], Role.IDENTIFIER),
        ("ManagerID", [f"{i % 9}" for i in range(30)], Role.IDENTIFIER),
        ("family", [f"{i % 60:03}" for i in range(120)], Role.IDENTIFIER),
        ("family", [f"type {i % 4}" for i in range(120)], Role.QUASI_IDENTIFIER),
        ("bookpageID", [f"B{i // 2}" for i in range(60)], Role.UNDECIDED),
        ("raceethnicity", ["Black", "White", "Other"] * 10, Role.QUASI_IDENTIFIER),
        ("tract_ce", [f"{100 * (i % 9)}" for i in range(30)], Role.QUASI_IDENTIFIER),
        ("DateofHire", [f"2020-01-{i % 28 + 1:02}" for i in range(30)], Role.UNDECIDED),
        ("Aufnahmedatum", [f"{i % 28 + 1:02}.01.2020" for i in range(30)], Role.UNDECIDED),
        ("admitted", [f"2020-01-{i % 28 + 1:02}" for i in range(30)], Role.UNDECIDED),
        ("date_sortie", [f"2020-01-{i % 28 + 1:02}" for i in range(30)], Role.UNDECIDED),
        ("todesdatum", [f"2020-01-{i % 28 + 1:02}" for i in range(30)], Role.QUASI_IDENTIFIER),
        ("agea", [f"{i % 60 + 15}" for i in range(90)], Role.QUASI_IDENTIFIER),
        ("eduyrs", [f"{i % 20}" for i in range(90)], Role.QUASI_IDENTIFIER),
        ("JobSatisfaction", [f"{i % 4 + 1}" for i in range(30)], Role.INSENSITIVE),
        ("Arbeitszufriedenheit (Zufriedenheit)", [f"{i % 7 + 1}" for i in range(30)], Role.INSENSITIVE),
        ("quality of family relationships", [f"{i % 5 + 1}" for i in range(30)], Role.INSENSITIVE),
        ("pan_day", [f"{i % 104 + 4}" for i in range(400)], Role.INSENSITIVE),
        ("visit_no", [f"{i % 3 + 1}" for i in range(90)], Role.INSENSITIVE),
        ("visit_no", [f"{i // 2 + 1}" for i in range(90)], Role.IDENTIFIER),
        ("patient_no", [f"{i % 3 + 1}" for i in range(90)], Role.IDENTIFIER),
        ("Annual Salary", [f'"{40 + i},448.00"' for i in range(30)], Role.UNDECIDED),
        ("Kosten", [f"{i}50 €" for i in range(30)], Role.UNDECIDED),
        ("stage", [f"{i % 7}" for i in range(30)], Role.INSENSITIVE),
        ("black", [f"{i % 2}" for i in range(30)], Role.QUASI_IDENTIFIER),
        ("educ", [f"{i % 12}" for i in range(60)], Role.QUASI_IDENTIFIER),
        ("single", ["yes", "no", "no"] * 10, Role.QUASI_IDENTIFIER),
        ("hours_tv_per_school_day", [f"{i % 6}" for i in range(30)], Role.INSENSITIVE),
        ("school_night_hours_sleep", [f"{i % 6 + 4}" for i in range(30)], Role.INSENSITIVE),
        ("white_blood_cells", [f"{i % 7}" for i in range(30)], Role.INSENSITIVE),
    ],
)
def test_roles(tmp_path: Path, name: str, values: list[str], role: Role) -> None:
    data = tmp_path / "data.csv"
    data.write_text(f"{name},other\n" + "".join(f"{value},{i % 4}\n" for i, value in enumerate(values)))
    (column,) = (c for c in guess_config(data).columns if c.column.name == name)
    assert column.role.role is role


def test_the_person_of_several_rows_is_the_patient_and_not_the_physician(tmp_path: Path) -> None:
    rows = 300
    table = pd.DataFrame(
        {
            "visit_id": range(rows),
            "physician_id": [f"D{row % 10}" for row in range(rows)],
            "patient_id": [1000 + row // 2 for row in range(rows)],
            "date_of_admission": [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(rows)],
        }
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    guessed = guess_config(tmp_path / "visits.csv")
    assert guessed.person == "patient_id"
    roles = {column.column.name: column.role.role for column in guessed.columns}
    assert roles["physician_id"] is Role.IDENTIFIER
    assert roles["date_of_admission"] is Role.UNDECIDED


def test_of_repeated_names_the_one_that_tells_most_persons_apart_is_the_person(tmp_path: Path) -> None:
    people = [(f"Ann{row // 2 % 5}", f"Fox{row // 2 % 29}") for row in range(200)]
    table = pd.DataFrame(people, columns=["first", "last"])
    table.insert(0, "name", table["first"] + " " + table["last"])
    table["ward"] = [f"W{row % 4}" for row in range(200)]
    table.to_csv(tmp_path / "visits.csv", index=False)
    assert guess_config(tmp_path / "visits.csv").person == "name"


def test_hierarchies_are_for_their_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,sex\n" + "".join(f"{20 + i % 9},{'mfd'[i % 3]}\n" for i in range(40)))
    *hierarchies, _ = guess_config(data).write(tmp_path / "config.yaml")
    assert "d" in (tmp_path / "hierarchies" / "sex.csv").read_text()
    assert {stat.S_IMODE(path.stat().st_mode) for path in hierarchies} == {0o600}


def _patients(rows: int = 600) -> pd.DataFrame:
    """Age decides about disease; ``text`` tells the class of the score, ``same`` is constant."""
    rng = np.random.default_rng(5)
    age = rng.integers(1, 90, rows)
    score = rng.integers(1, 9, rows)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "disease": ((age > 60) & (rng.random(rows) < 0.2)).astype(int),
            "diagnosis_group": np.where(age < 40, "none", rng.choice(["a", "b", "c"], rows)),
            "score": score,
            "score_text": np.where(score > 6, "high", "low"),
            "salary": 1,
            "stroke": (rng.random(rows) < 0.1).astype(int),
        }
    )


def _written(frame: pd.DataFrame, folder: Path, name: str = "patients") -> tuple[GuessedConfig, str]:
    frame.to_csv(folder / f"{name}.csv", index=False)
    guessed = guess_config(folder / f"{name}.csv")
    return guessed, guessed.to_yaml(folder)


def test_no_rule_is_proposed_whose_rare_value_it_would_spread_over_everybody(tmp_path: Path) -> None:
    """Nobody below 60 is ill: with two values in every class age was left out, and nothing said so."""
    frame = _patients()[["age", "sex", "disease"]]
    guessed, text = _written(frame, tmp_path)
    (rule,) = guessed.rules
    assert rule.against and any(rule.against in note and "l-diversity of disease" in note for note in guessed.notes)
    guessed.write(tmp_path / "config.yaml")
    assert load_config(tmp_path / "config.yaml").anonymize is not None
    assert load_config(tmp_path / "config.yaml").anonymize.models == ()  # type: ignore[union-attr]
    assert "  # models: [{model: l_diversity, kind: distinct, l: 2, attribute: disease}]" in text


def test_a_rule_is_proposed_where_it_costs_little_and_not_where_it_costs_a_column(tmp_path: Path) -> None:
    """Half of the people have no diagnosis, all of them young: the share alone would let the rule pass."""
    dear, _ = _written(_patients()[["age", "sex", "diagnosis_group"]], tmp_path)
    assert dear.rules[-1].against.startswith("because of l-diversity of diagnosis_group, age would be ")
    rng = np.random.default_rng(1)
    cheap, text = _written(_patients()[["age", "sex"]].assign(diagnosis=rng.choice(["a", "b", "c"], 600)), tmp_path)
    assert [rule.against for rule in cheap.rules] == [""]
    assert "\n  models: [{model: l_diversity, kind: distinct, l: 2, attribute: diagnosis}]   # review\n" in text


def test_target_and_secrets_are_asked_and_never_constants_or_told_by_others(tmp_path: Path) -> None:
    guessed, text = _written(_patients().drop(columns="diagnosis_group"), tmp_path, "stroke")
    asked = [note for note in guessed.notes if note.startswith("what ")]
    assert any("what will users predict? perhaps stroke:" in note for note in asked)
    assert any(
        "what do attackers want to learn? perhaps disease, score and stroke, sensitive by name:" in one for one in asked
    )
    assert "\n# evaluate: {secrets: [disease, score, stroke]}   # once" in text
    assert all(f"# review: {note}" in text for note in asked)
    first = _patients()[["stroke", "age", "score"]].rename(columns={"stroke": "pill"})
    first = first.assign(dose=np.linspace(0, 9, 600))
    assert any("predict? perhaps pill:" in note for note in _written(first, tmp_path)[0].notes), "few values, at an end"
    frame = _patients().assign(churned=lambda one: one["stroke"], churn_code=lambda one: one["stroke"] + 5)
    targets = [one.column.name for one in _written(frame, tmp_path)[0].columns if one.role.target]
    assert targets == [], "each is told by another column"
    frame = _patients().drop(columns="stroke").assign(churn=lambda one: (one["age"] % 7 == 0).astype(int))
    targets = [one.column.name for one in _written(frame.drop(columns="age"), tmp_path)[0].columns if one.role.target]
    assert targets == ["churn"]


def test_names_of_rows_are_excluded_and_copies_are_asked(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(5), 200
    frame = pd.DataFrame(
        {
            "rownames": [f"Mazda RX{at}" for at in range(rows)],
            "X": np.arange(1, rows + 1),
            "nr": np.arange(rows),
            "row_id": np.sort(rng.choice(9 * rows, rows, replace=False)),
            "row.names": [float(f"{year}.{at}") for year in range(1978, 1988) for at in range(1, rows // 10 + 1)],
            "patient_id": np.arange(1, rows + 1),
            "x": rng.permutation(rows),
            "age": rng.integers(20, 90, rows),
            "ward": rng.choice(["north", "south"], rows),
        }
    ).assign(age_again=lambda one: one["age"], station=lambda one: one["ward"])
    guessed, text = _written(frame, tmp_path)
    roles = {one.column.name: str(one.role.role) for one in guessed.columns}
    of_rows = {"rownames", "row.names", "X", "nr", "row_id"}
    assert {name for name, role in roles.items() if role == "excluded"} == of_rows
    assert roles["patient_id"] == "identifier" and roles["x"] == "identifier"
    assert {name for name, role in roles.items() if role == "undecided"} == {"age_again", "station"}
    assert "a copy of age, equal in every row: excluded, or the same role and the constraint" in text
    assert not any(of_rows & set(one.constraint.columns) for one in guessed.constraints)


@pytest.mark.parametrize(
    ("people", "alike", "small"), [(24_999, 0.0, True), (25_000, 0.09, False), (25_000, 0.1, True)]
)
def test_tables_of_few_people_or_of_people_alike_are_judged_on_folds(people: int, alike: float, small: bool) -> None:
    extent = Extent(people, alike)
    assert ("control: cross" in "".join(split_lines("records", extent))) is small
    assert ("recoding: local" in labels_line(extent)) is small
    assert ("beta: 0.35" in "".join(drawing_lines(extent))) is small


def test_people_are_alike_however_often_their_rows_occur(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"patient_id": np.arange(300), "ward": ["north", "south", "west"] * 100, "age": np.arange(300)}
    )
    frame.loc[:59, "age"] = 40
    found = [_written(pd.concat([frame] * times), tmp_path)[0].extent for times in (1, 3)]
    assert [one.people for one in found] == [300, 300]
    assert [one.alike for one in found] == pytest.approx([60 / 300] * 2)


def test_a_town_in_its_state_is_declared(tmp_path: Path) -> None:
    """Two towns of 90 have a namesake in another state; blood groups lie in no state."""
    rng, rows = np.random.default_rng(6), 900
    town = rng.integers(0, 90, rows)
    state = np.where(rng.random(rows) < 0.5, town % 9, np.where(town < 2, 5, town % 9))
    frame = pd.DataFrame(
        {
            "city": [f"Town{at}" for at in town],
            "state": [f"S{at}" for at in state],
            "region": ["east" if at < 4 else "west" for at in state],
            "blood_county": rng.choice(["A", "B", "0"], rows),
            "age": rng.integers(20, 90, rows),
        }
    )
    guessed, text = _written(frame, tmp_path)
    assert [one.constraint.columns for one in guessed.constraints if one.sure] == [("region", "state", "city")]
    assert "\nconstraints:\n" in text
    guessed.write(tmp_path / "config.yaml")
    (declared,) = load_config(tmp_path / "config.yaml").constraints
    assert declared.columns == ("region", "state", "city")
    run = TableRun(load_config(tmp_path / "config.yaml"), seed=1)
    pairs = set(zip(frame["city"], frame["state"], strict=True))
    released = run.synthetic.frame[["city", "state"]].astype(str)
    real = released[released["city"].isin(set(frame["city"]))]
    assert len(real) > 100 and set(zip(real["city"], real["state"], strict=True)) <= pairs


def test_numbers_of_codes_are_categories(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {name: rng.choice([162864005, 44054006, 59621000], 90) for name in ("CODE", "REASONCODE", "icd")}
    )
    guessed, _ = _written(frame.assign(count=range(90), episodes=rng.integers(1, 9, 90)), tmp_path)
    kinds = {one.column.name: one.column.kind for one in guessed.columns}
    assert {name for name, kind in kinds.items() if kind is Kind.CATEGORICAL} == {"CODE", "REASONCODE", "icd"}


def test_numbers_that_hold_a_birth_are_offered_to_be_split(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(3), 300
    days = rng.integers(20, 99, rows) * 10_000 + rng.integers(1, 13, rows) * 100 + rng.integers(1, 29, rows)
    births = days + 5_000 * rng.integers(0, 2, rows)
    guessed, _ = _written(
        pd.DataFrame({"birth_number": births, "card_number": rng.integers(10**5, 10**6, rows)}), tmp_path
    )
    reasons = {one.column.name: one.role.reason for one in guessed.columns}
    assert "holds dates of birth, and more: write them into a column of their own" in reasons["birth_number"]
    assert "dates of birth" not in reasons["card_number"]


def test_a_constant_column_is_never_asked_whose_a_row_is(tmp_path: Path) -> None:
    guessed, _ = _written(pd.DataFrame({"name": ["ESS9"] * 60, "agea": range(60)}), tmp_path)
    assert not any("whose is a row?" in note for note in guessed.notes)


def test_nothing_is_overwritten_unless_told(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,city\n" + "".join(f"{20 + i % 9},T{i % 5}\n" for i in range(40)))
    guessed = guess_config(data)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "age.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"age\.yaml: the file exists"):
        guessed.write(tmp_path / "config.yaml")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["age.yaml", "data.csv"]
    assert (tmp_path / "hierarchies" / "age.yaml").read_text() == "mine"
    *_, config = guessed.write(tmp_path / "config.yaml", force=True)
    assert config == tmp_path / "config.yaml"
    assert (tmp_path / "hierarchies" / "age.yaml").read_text() != "mine"


def test_every_line_of_a_column_is_marked_for_review(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,city\n" + "".join(f"{20 + i % 9},T{i % 5}\n" for i in range(40)))
    lines = guess_config(data).to_yaml(tmp_path).splitlines()
    for name in ("age", "city"):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[at - 1].startswith("    # review: ")


def test_the_stub_for_readers_of_a_release_is_valid_without_its_comment_marks(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text('"age: in years",city\n' + "".join(f"{20 + i % 9},T{i % 5}\n" for i in range(40)))
    *_, path = guess_config(data).write(tmp_path / "config.yaml")
    before, mark, stub = path.read_text().partition("# publish:\n")
    lines = [line.removeprefix("# ") for line in (mark + stub).splitlines()]
    path.write_text(before + "\n".join(lines) + "\n")
    said = load_config(path).publish
    assert said.license == "CC-BY-4.0" and said.contact is not None and list(said.columns) == ["age: in years"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        guess_config(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="empty"):
        guess_config(tmp_path / "empty.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_with_more_columns_than_anybody_can_decide_is_refused_before_it_is_read(
    tmp_path: Path, suffix: str
) -> None:
    wide = pd.DataFrame([range(MOST_COLUMNS + 1)] * 2, columns=[f"c{at}" for at in range(MOST_COLUMNS + 1)])
    path = tmp_path / f"wide.{suffix}"
    wide.to_csv(path, index=False) if suffix == "csv" else wide.to_parquet(path)
    with pytest.raises(DataError, match=r"2,001 columns.*at most 2,000") as refused:
        guess_config(path)
    assert refused.value.problems[0].hint


def test_the_order_of_a_persons_rows_is_the_first_full_date_that_changes(tmp_path: Path) -> None:
    rows = 60
    days = pd.date_range("2024-01-01", periods=rows).strftime("%Y-%m-%d").to_numpy(object)
    frame = pd.DataFrame(
        {
            "patient_id": [f"P{i % 20:05d}" for i in range(rows)],
            "birth_date": [f"{1950 + i % 20}-05-01" for i in range(rows)],
            "discharged": np.where(np.arange(rows) % 7 == 0, None, days),
            "admitted": days,
            "age": [30 + i % 20 for i in range(rows)],
        }
    )
    frame.to_csv(tmp_path / "visits.csv", index=False)
    guessed = guess_config(tmp_path / "visits.csv")
    assert (guessed.person, guessed.order) == ("patient_id", "admitted")
    guessed.write(tmp_path / "config.yaml")
    assert load_config(tmp_path / "config.yaml").data.order == "admitted"
    alone = frame.assign(patient_id=[f"P{i:05d}" for i in range(rows)])
    alone.to_csv(tmp_path / "alone.csv", index=False)
    assert guess_config(tmp_path / "alone.csv").order is None


def test_a_year_that_rises_from_row_to_row_orders_the_rows_of_a_person(tmp_path: Path) -> None:
    """In a panel without dates rows came out in any order, and a tenth of them in a year of the person's other rows."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 3)
    frame = pd.DataFrame(
        {
            "person_id": [f"P{one:05d}" for one in person],
            "birth_year": 1950 + person % 20,
            "hours": rng.integers(10, 60, len(person)),
            "year": 1970 + person % 4 + 2 * (np.arange(len(person)) % 3),
        }
    )
    frame.to_csv(tmp_path / "panel.csv", index=False)
    assert guess_config(tmp_path / "panel.csv").order == "year"
    frame.loc[1, "year"] = frame.loc[0, "year"]
    frame.to_csv(tmp_path / "twice.csv", index=False)
    assert guess_config(tmp_path / "twice.csv").order is None


def test_a_secret_that_a_quasi_identifier_tells_is_none(tmp_path: Path) -> None:
    """Each age has one salary; another table with one exception keeps the secret."""
    data = tmp_path / "data.csv"
    rows = [f"{20 + i % 12},{1000 * (i % 4)}" for i in range(240)]
    for lines, role in ((rows, Role.QUASI_IDENTIFIER), ([*rows, "20,7"], Role.SENSITIVE)):
        data.write_text("age,salary\n" + "".join(f"{line}\n" for line in lines))
        (column,) = (c for c in guess_config(data).columns if c.column.name == "salary")
        assert column.role.role is role, column.role.reason
        assert ("each value of age" in column.role.reason) == (role is Role.QUASI_IDENTIFIER)


def test_numbers_of_people_that_a_program_wrote_as_decimals_name_them(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(5), 300
    person = rng.integers(0, 120, rows)
    age = rng.integers(20, 90, 120)[person]
    frame = pd.DataFrame({"PatientId": 29_872_499_824_000.0 + person, "age": age, "stay": rng.integers(1, 9, rows)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    _, config = _started(tmp_path / "data.csv")
    assert "29872499824" in (tmp_path / "data.csv").read_text(), "as pandas writes it: 29872499824000.0"
    assert config.data.columns["PatientId"].kind is Kind.CATEGORICAL
    assert _roles(config)["PatientId"] == "identifier"
    assert config.data.person == "PatientId"


@pytest.mark.parametrize("name", ["school_id", "schoolid", "hospitalId", "region_id"])
def test_numbers_of_places_are_codes(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({name: rng.choice([2020, 2040, 2180, 2330], 200), "age": rng.integers(20, 60, 200)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    _, config = _started(tmp_path / "data.csv")
    assert config.data.columns[name].kind is Kind.CATEGORICAL


def test_a_number_that_nearly_tells_the_age_is_known_as_the_age_is(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(7), 400
    age = rng.integers(23, 68, rows)
    frame = pd.DataFrame(
        {"age": age, "experience": age - 25 + rng.integers(0, 2, rows), "hours": rng.integers(5, 60, rows)}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    guessed, config = _started(tmp_path / "data.csv")
    assert _roles(config) == {"age": "quasi_identifier", "experience": "quasi_identifier", "hours": "insensitive"}
    (reason,) = (one.role.reason for one in guessed.columns if one.column.name == "experience")
    assert "it nearly tells age" in reason
    assert any("do users need experience" in note for note in guessed.notes)


@pytest.mark.parametrize("people", [24_999, 25_000])
def test_few_people_are_crossed_sampled_and_recoded_locally(people: int) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 90, people), "sex": rng.choice(["f", "m"], people)})
    frame["height_of_desk"] = rng.normal(size=people)
    content = yaml.safe_load(guess_frame(frame).to_yaml(Path()))
    anonymize = content["anonymize"]
    assert content["synthesize"]["options"] == {"min_leaf": leaf_of_sampled(people)}
    if people < 25_000:
        assert content["split"]["control"] == "cross" and content["sample"] == {"method": "beta", "beta": 0.35}
        assert anonymize == {"k": 5, "recoding": "local"}
    else:
        assert content["split"]["control"] == 0.3 and content["sample"] == {"method": "beta", "beta": 0.5}
        assert anonymize == {"k": 5, "suppression_limit": 0.05}


def test_a_repeating_number_of_a_family_is_a_question_about_households(tmp_path: Path) -> None:
    rows = "\n".join(f"{home},{20 + home % 50},{'mf'[child % 2]}" for home in range(60) for child in range(3))
    for name, asked in (("family_id", True), ("hh_nr", True), ("batch_id", False)):
        (tmp_path / "people.csv").write_text(f"{name},age,sex\n{rows}\n")
        notes = guess_config(tmp_path / "people.csv").notes
        assert any(f"{name} looks like the number of a household" in one for one in notes) is asked, (name, notes)


def test_a_column_that_another_one_tells_is_no_target(tmp_path: Path) -> None:
    """The square of a number, and a code of a category that has a column of its own, are computed, not predicted."""
    rng = np.random.default_rng(1)
    size, level = rng.integers(0, 40, 400) / 10, rng.integers(1, 5, 400)
    frame = pd.DataFrame({"grade": rng.normal(size=400), "size": size, "level": level, "sizesq": size**2})
    frame.to_csv(tmp_path / "students.csv", index=False)
    assert any(
        "what will users predict? no column looks like it" in note
        for note in guess_config(tmp_path / "students.csv").notes
    )
    frame.drop(columns="sizesq").assign(level4=(level == 4) * 1).to_csv(tmp_path / "levels.csv", index=False)
    assert any(
        "what will users predict? no column looks like it" in note
        for note in guess_config(tmp_path / "levels.csv").notes
    )


def test_numbers_with_a_fraction_number_no_persons(tmp_path: Path) -> None:
    income = np.random.default_rng(1).integers(1, 5_000, 400) / 16
    pd.DataFrame({"inc86": income, "inc86sq": income**2}).to_csv(tmp_path / "men.csv", index=False)
    columns = {one.column.name: one.role.role for one in guess_config(tmp_path / "men.csv").columns}
    assert columns["inc86sq"] is not Role.UNDECIDED
