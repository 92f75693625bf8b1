"""Quasi-identifiers of tables below the person table: k persons share the labels of a row and of the rows above it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.verify_table import covered
from hybrid.base.errors import ConfigError, HybridError, InfeasibleError
from hybrid.base.progress import silent
from hybrid.cli import app
from hybrid.hierarchy import Hierarchy
from hybrid.jobs.run import write_labels
from hybrid.pipeline import event_labels
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.event_labels import anonymize_below
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.repetition import learned_rows
from hybrid.publication.dossier.facts import _anonymized
from hybrid.publication.gate import judge
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.pipeline.tables.hospital import content, frames, with_labels_below, write


def run_in(folder: Path, **anonymize: Any) -> Pipeline:
    return Pipeline(load_config(write(folder, settings=with_labels_below(**anonymize))))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return run_in(tmp_path_factory.mktemp("labels"))


def labels_by_source_row(run: Pipeline, name: str) -> dict[int, tuple[str, ...]]:
    """Own labels of each row of a source that has any: texts, without a class of the program's."""
    table = run.tables[name]
    found = table.anonymized
    assert found is not None
    texts = found.labels.to_table().frame[found.quasi_identifiers].astype(str)
    return dict(zip(table.labelled_rows[0].tolist(), texts.itertuples(index=False, name=None), strict=True))


def joint_labels(run: Pipeline) -> dict[str, pd.DataFrame]:
    """Person and all labels of each row, joined by the keys of the source tables alone."""
    patients, visits, drugs = (run.sources.tables[name].frame for name in ("patients", "visits", "drugs"))
    own = {name: labels_by_source_row(run, name) for name in ("patients", "visits", "drugs")}
    person_of = {patients.patient[row]: labels for row, labels in own["patients"].items()}
    rows: dict[str, list[tuple[str, tuple[str, ...]]]] = {"visits": [], "drugs": []}
    of_visit = {}
    for row, labels in own["visits"].items():
        person = visits.patient[row]
        of_visit[visits.visit[row]] = person, (*person_of[person], *labels)
        rows["visits"].append(of_visit[visits.visit[row]])
    for row, labels in own["drugs"].items():
        person, above = of_visit[drugs.visit[row]]
        rows["drugs"].append((person, (*above, *labels)))
    return {name: pd.DataFrame(found, columns=["person", "labels"]) for name, found in rows.items()}


def test_k_persons_share_the_labels_of_each_row_and_of_all_rows_above(run: Pipeline) -> None:
    for name, joint in joint_labels(run).items():
        people = joint.groupby("labels")["person"].nunique()
        result = run.tables[name].anonymized
        assert result is not None and len(joint) > 50 and len(people) > 3, name
        assert people.min() == result.result.smallest >= 3, name
        assert result.result.with_above and set(result.result.columns) == set(result.quasi_identifiers)


def test_local_recoding_keeps_the_labels_above_and_more_rows(run: Pipeline, tmp_path: Path) -> None:
    local = run_in(tmp_path, recoding="local")
    for name, joint in joint_labels(local).items():
        result = local.tables[name].anonymized.result
        assert joint.groupby("labels")["person"].nunique().min() == result.smallest >= 3, name
        assert result.suppressed <= 0.3 * result.records and result.levels is None
    same = run.tables["visits"].anonymization
    options = same.options.model_copy(update={"recoding": "local"})
    found = anonymize_below(same.train, same.above, same.hierarchies, options, silent)
    assert found.result.suppressed < same.anonymized.result.suppressed, (
        "only rows that no label of their own would keep"
    )
    assert len(set(zip(same.above[found.rows], map(tuple, found.labels.nodes), strict=True))) == found.result.classes
    said = [finding.message for finding in diagnose(local.config)]
    assert any(one.startswith("visits.admitted: ") and "of the rows; then" in one for one in said)


def test_labels_of_their_own_alone_would_not_be_enough(run: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """The query finds a search that does not know the labels above: it can fail."""
    other = Pipeline(run.config)

    def alone(train: Table, above: np.ndarray, *how: Any) -> Any:
        return anonymize_below(train, np.zeros_like(above), *how)

    monkeypatch.setattr(event_labels, "anonymize_below", alone)
    assert joint_labels(other)["visits"].groupby("labels")["person"].nunique().min() < 3


def test_every_label_covers_its_value_and_what_is_left_out_is_counted(run: Pipeline) -> None:
    for name in ("visits", "drugs"):
        table, above = run.tables[name], run.tables["patients" if name == "visits" else "visits"]
        found = table.anonymized
        assert found is not None and found.rows is not None
        for at, column in enumerate(found.quasi_identifiers):
            assert covered(found.hierarchies[column], found.leaves[:, at], found.labels.nodes[:, at])
            true = table.train.frame[column].take(np.flatnonzero(np.isin(table.rows, table.labelled_rows[0])))
            assert (found.originals.frame[column].astype(str).to_numpy() == true.astype(str).to_numpy()).all()
        result, known = found.result, set(above.labelled_rows[0].tolist())
        came_in = [row for row in table.rows if table.link.owners[row] in known]
        assert result.records == len(came_in) and result.suppressed == len(came_in) - len(table.labelled_rows[0])
        persons = table.table.persons
        lost = set(persons[came_in]) - set(persons[table.labelled_rows[0]])
        assert result.suppressed_persons == len(lost) and result.persons == len(set(persons[came_in]))
        assert result.suppressed <= 0.3 * result.records


def test_restored_values_lie_below_their_labels_and_keep_order_and_constraints(run: Pipeline) -> None:
    for name in ("visits", "drugs"):
        table = run.tables[name]
        values, rows = table.kept
        found = table.anonymization.sampled.anonymized
        restored = table.anonymization.restored.table.frame
        for at, column in enumerate(found.quasi_identifiers):
            tree = found.hierarchies[column]
            known = restored[column].notna().to_numpy()
            texts = restored[column][known].astype(str).to_numpy()
            groups = ~np.isin(texts, tree.leaves.astype(str)) if tree.kind is Kind.CATEGORICAL else np.zeros(len(texts))
            plain = np.flatnonzero(known)[np.asarray(groups) == 0]
            if not tree.intervals:
                assert covered(tree, tree.encode(restored[column].iloc[plain]), found.labels.nodes[plain, at])
            else:
                nodes, day = found.labels.nodes[plain, at], restored[column].to_numpy()[plain]
                assert ((tree.low[nodes] <= day) & (day <= tree.high[nodes])).all()
        assert sorted(rows) == sorted(set(rows)) and set(rows) <= set(table.labelled_rows[0])
        order = values.schema.order
        days = values.frame[order].to_numpy().astype("datetime64[D]").astype(int)
        owners = table.link.owners[rows]
        for owner in set(owners):
            assert (np.diff(days[owners == owner]) >= 0).all()
    visits = run.tables["visits"].kept[0].frame
    assert (visits["admitted"] <= visits["discharged"]).all()


def test_dates_below_a_date_that_was_drawn_anew_keep_their_distance(run: Pipeline) -> None:
    """A drug is given 0 to 2 days after the admission, but for rare days, which are drawn anew within two months.

    Distances to restored admissions would be five weeks in the mean, and up to half a year.
    """
    visits, drugs = run.released["visits"].frame, run.released["drugs"].frame
    joined = drugs.merge(visits, on="visit")
    days = (joined["given"] - joined["admitted"]).dt.days
    assert len(days) > 20 and days.max() < 90 and days.mean() < 20
    assert {"admitted", "diagnosis"} <= set(run.tables["visits"].train.schema.quasi_identifiers), "attacks know them"


def test_the_release_is_whole(run: Pipeline) -> None:
    assert run.evaluation.find("orphans", "synthetic", table="visits").outcome.value == 0
    assert set(run.released["visits"].frame["patient"]) <= set(run.released["patients"].frame["patient"])


def test_what_a_person_is_restored_by_has_no_value_that_a_label_hides(run: Pipeline) -> None:
    names = learned_rows(run.tables).schema.names
    assert any("visits.hospital" in name for name in names), names
    hidden = ("visits.admitted", "visits.discharged", "visits.diagnosis", "drugs.drug")
    assert not any(column in name for name in names for column in hidden), "discharged is counted from admitted"


def test_sampled_people_bring_their_rows(tmp_path: Path) -> None:
    settings = with_labels_below() | {"sample": {"method": "beta", "beta": 0.5}}
    run = Pipeline(load_config(write(tmp_path, settings=settings)))
    people = set(run.person.kept[1].tolist())
    visits, drugs = run.tables["visits"], run.tables["drugs"]
    assert set(visits.table.persons[visits.kept[1]]) <= people
    assert set(drugs.link.owners[drugs.kept[1]]) <= set(visits.kept[1].tolist())
    assert joint_labels(run)["visits"].groupby("labels")["person"].nunique().min() >= 3, "k holds before sampling"
    assert len(visits.kept[1]) < len(visits.labelled_rows[0])


def test_two_known_rows_are_shared_by_k_persons(tmp_path: Path) -> None:
    run = run_in(tmp_path, known_rows=2, suppression_limit=0.9, k=2)
    joint = joint_labels(run)["visits"]
    pairs: dict[tuple[Any, Any], set[str]] = {}
    for person, labels in joint.groupby("person")["labels"]:
        for first, second in itertools.combinations(sorted(labels), 2):
            pairs.setdefault((first, second), set()).add(person)
    assert pairs and min(len(people) for people in pairs.values()) >= 2
    said = guarantee_sentence(run.anonymization, run.config.model_dump(mode="json"), run.evaluation)
    assert "Three rows of a person in visits" in said


def test_two_rows_of_a_person_can_be_those_of_one_person_alone(run: Pipeline) -> None:
    """What is not promised does not hold by itself."""
    joint = joint_labels(run)["visits"]
    pairs: dict[tuple[Any, Any], set[str]] = {}
    for person, labels in joint.groupby("person")["labels"]:
        for first, second in itertools.combinations(sorted(labels), 2):
            pairs.setdefault((first, second), set()).add(person)
    assert min(len(people) for people in pairs.values()) == 1
    said = guarantee_sentence(run.anonymization, run.config.model_dump(mode="json"), run.evaluation)
    assert "Two rows of a person in visits" in said


def test_certificate_gate_and_check_say_what_holds(run: Pipeline) -> None:
    result = run.anonymization
    assert result is not None and list(result.below) == ["visits", "drugs"]
    assert type(result).from_json(result.to_json()) == result
    said = guarantee_sentence(result, run.config.model_dump(mode="json"), run.evaluation)
    assert "of the other tables about people, visits, drugs alone have generalized columns" in said
    assert "In visits, admitted, diagnosis were generalized" in said and "whole histories is not promised" in said
    findings = [finding.message for finding in diagnose(run.config)]
    assert any(
        one.startswith("visits: every row has, with the rows above it, labels of rows of at") for one in findings
    )
    assert any(one.startswith("visits.admitted: ") and "while protected" in one for one in findings)
    assert "visits.admitted" not in run.roles.as_they_are and "visits.discharged" in run.roles.as_they_are


def test_labels_of_every_table_are_written_and_a_finished_run_knows_them(run: Pipeline, tmp_path: Path) -> None:
    """The certificate and the gate of a release read the file."""
    write_labels(run, tmp_path)
    kept = type(run.anonymization).from_json(json.loads((tmp_path / "anonymization.json").read_text()))
    assert json.dumps(kept.to_json()) == json.dumps(run.anonymization.to_json())
    assert list(kept.below) == ["visits", "drugs"]
    for name, file in {"visits": "anonymized-visits.parquet", "drugs": "anonymized-drugs.parquet"}.items():
        written, found = pd.read_parquet(tmp_path / file), run.tables[name].anonymized
        assert len(written) == len(found) and not {"patient", "visit", "drug_id"} & set(written.columns)
        assert set(found.quasi_identifiers) <= set(written.columns)
    (tmp_path / "job").mkdir()
    path = write(tmp_path / "job", settings=with_labels_below())
    assert CliRunner().invoke(app, ["anonymize", str(path), "--out", str(tmp_path / "out")]).exit_code == 0
    assert {one.name for one in (tmp_path / "out").glob("*.parquet")} == {
        *("anonymized.parquet", "anonymized-visits.parquet", "anonymized-drugs.parquet")
    }


def test_a_dossier_says_what_holds_in_every_table(run: Pipeline) -> None:
    said = list(_anonymized(run.anonymization))
    assert any(one.startswith("In visits, each row has the labels of rows of at least") for one in said)
    assert any(one.startswith("In drugs, each row") for one in said)


def test_the_gate_judges_the_worst_table(run: Pipeline) -> None:
    assert run.anonymization is not None
    worse = replace(run.anonymization.below["visits"], min_class_persons=2, suppressed=40, records=100)
    result = replace(run.anonymization, below={"visits": worse})
    rules = [
        {"name": "groups", "quantity": "k", "block": 3, "reason": "r"},
        {"name": "left out", "quantity": "suppressed_share", "block": 0.35, "reason": "r"},
    ]
    policy = type(run.policy).model_validate({"name": "p", "version": "1", "owner": "o", "anonymity": rules})
    found = {check.rule: check.status for check in judge(policy, run.evaluation, result).checks}
    assert found["groups"] == "block" and found["left out"] == "block"


def test_no_claim_of_differential_privacy_rests_on_columns_of_other_tables(run: Pipeline) -> None:
    beside = {column.name: column.role for column in run.person.beside}
    assert beside["visits.admitted"] is Role.INSENSITIVE


def test_persons_with_coarser_labels_keep_their_rows(tmp_path: Path) -> None:
    """No person is left out; rows that k persons do not share below the coarser labels are."""
    run = run_in(tmp_path, suppressed="coarsen", k=8)
    people = run.person.anonymized
    assert people is not None and people.coarsened is not None and people.coarsened.sum() >= 8
    assert len(people) == len(run.person.train)
    for name, joint in joint_labels(run).items():
        assert joint.groupby("labels")["person"].nunique().min() >= 8, name
    whose = set(people.originals.persons[people.coarsened].tolist())
    visits = run.tables["visits"]
    assert whose & set(visits.table.persons[visits.labelled_rows[0]].tolist())


@pytest.mark.parametrize(("anonymize", "said"), [({"technique": "microaggregation"}, "anonymize.technique")])
def test_what_labels_below_do_not_have_is_refused(anonymize: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, settings=with_labels_below(**anonymize)))
    assert said in str(caught.value)


def test_a_quasi_identifier_needs_a_hierarchy(tmp_path: Path) -> None:
    settings = with_labels_below()
    del settings["tables"]["visits"]["columns"]["admitted"]["hierarchy"]
    with pytest.raises(ConfigError, match=r"tables\.visits\.columns\.admitted: a quasi-identifier needs a hierarchy"):
        load_config(write(tmp_path, settings=settings))
    settings["anonymize"] = None
    assert load_config(write(tmp_path, settings=settings)).generalized_below("visits") == ()


def test_too_low_a_limit_is_an_error_that_names_the_table(tmp_path: Path) -> None:
    run = run_in(tmp_path, suppression_limit=0.03, levels={"age": 1, "sex": 0})
    with pytest.raises(InfeasibleError, match=r"visits: no generalization .* labels of the rows above") as caught:
        _ = run.tables["visits"].anonymized
    assert "make the person table coarser" in str(caught.value)
    assert any(finding.level == "error" for finding in diagnose(run.config))


def test_other_configurations_are_as_before(tmp_path: Path) -> None:
    run = Pipeline(load_config(write(tmp_path, settings=content())))
    assert run.tables["visits"].anonymization is None and not run.anonymization.below
    assert "below" not in run.anonymization.to_json()


FLAT = pd.Series(["a", "b", "c"])


def tree() -> Hierarchy:
    from hybrid.hierarchy import flat_hierarchy

    return flat_hierarchy(Column("ward", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL), [FLAT])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.sampled_from("abc")), min_size=12, max_size=60),
    st.integers(2, 3),
)
def test_every_class_of_any_table_has_k_persons(rows: list[tuple[int, int, str]], k: int) -> None:
    """Persons are in one class above, as a person has one row in the person table."""
    frame = pd.DataFrame(rows, columns=["person", "above", "ward"])
    frame["above"] = frame.groupby("person")["above"].transform("first")
    column = Column("ward", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)
    wards = pd.DataFrame({"ward": frame["ward"].astype("category")})
    table = Table(wards, Schema((column,)), frame["person"].to_numpy(dtype=np.int64))
    options = AnonymizeOptions(k=k, suppression_limit=1.0)
    try:
        found = anonymize_below(table, frame["above"].to_numpy(), {"ward": tree()}, options, silent)
    except HybridError:
        assert frame.groupby("above")["person"].nunique().max() < k
        return
    assert found.rows is not None
    kept = frame.iloc[found.rows].assign(label=found.labels.nodes[:, 0])
    assert kept.groupby(["above", "label"])["person"].nunique().min() >= k
    assert len(found.rows) + len(found.suppressed) == len(frame)
    assert found.quasi_identifiers == ["ward"] and found.leaves.shape == (len(found.rows), 1)


def test_the_tables_of_the_tests_have_people_without_rows() -> None:
    tables = frames()
    assert tables["visits"]["patient"].nunique() < len(tables["patients"])
