"""Descriptions of a release: valid for the validators of each format, true, and without anything private."""

from __future__ import annotations

import json
import logging
import platform
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlcroissant
import pyshacl
import pytest
import rdflib
from frictionless import Package
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.base.errors import VerificationError
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.description.croissant import croissant
from hybrid.publication.description.datapackage import datapackage
from hybrid.publication.description.dcat import dcat
from hybrid.publication.description.description import (
    DescribedColumn,
    DescribedTable,
    Description,
    PublishOptions,
    ReleasedFile,
    describe,
)
from hybrid.publication.description.readme import readme
from hybrid.publication.finished_run import REPORT, read_run
from hybrid.publication.first_page import FirstPage
from hybrid.publication.key import release_tag
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.publish import publish
from hybrid.publication.unfit import unfit
from hybrid.publication.verdict import Check
from hybrid.publication.verify import verify
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema
from tests.publication.conftest import FINGERPRINT, SEED, RunMaker, a_policy

SHAPES = Path(__file__).parents[1] / "data" / "dcat" / "dcat_ap_mandatory.ttl"
PROV = rdflib.Namespace("http://www.w3.org/ns/prov#")
SIDECAR = "synthetic.csv-metadata.json"
DESCRIPTIONS = ("README.md", "croissant.json", "datapackage.json", "dcat.jsonld", "provenance.jsonld", SIDECAR)
HOSTILE = "a/b | <c> ü"
"""Name of a column that is no part of an address, a table of Markdown or HTML."""
SAID: dict[str, Any] = {
    "title": "Income of adults",
    "description": "Records of a census.",
    "license": "CC-BY-4.0",
    "contact": {"name": "Data office", "email": "data@example.org"},
    "publisher": {"name": "Office", "url": "https://office.example.org"},
    "keywords": ["census", "income"],
    "language": "en",
    "url": "https://data.example.org/releases",
    "columns": {"weight": {"description": "Weight | at entry", "unit": "kg"}},
    "provenance": True,
}
SCHEMA = Schema(
    tuple(
        Column(name, Role.INSENSITIVE, kind, format=ColumnFormat(**form))
        for name, kind, form in (
            ("age", Kind.INTEGER, {"missing": "?"}),
            ("weight", Kind.DECIMAL, {"decimal_mark": ","}),
            (HOSTILE, Kind.CATEGORICAL, {"missing": "none"}),
            ("smoker", Kind.BOOLEAN, {"true": "ja", "false": "nein"}),
            ("born", Kind.DATE, {"date_format": "%d.%m.%Y"}),
            ("seen", Kind.DATETIME, {"date_format": "%Y-%m-%d %H:%M:%S"}),
        )
    )
)
ROWS = f"age;weight;{HOSTILE};smoker;born;seen\n41;70,5;x;ja;01.02.1980;2020-01-01 10:00:00\n?;;none;nein;;\n"
DATA = {"path": "/secret-place/adult.csv", "separator": ";"}

Publisher = Callable[..., Path]


@pytest.fixture
def published(make_run: RunMaker, tmp_path: Path) -> Publisher:
    def make(said: dict[str, Any] | None = SAID, **options: Any) -> Path:
        sections = {} if said is None else {"publish": said}
        run = make_run(rows=ROWS, schema=SCHEMA, data=DATA, **sections, **options)
        return publish(run, tmp_path / "releases", tmp_path / "work")

    return make


def read(release: Path, name: str) -> Any:
    return json.loads((release / name).read_text(encoding="utf-8"))


def conforms(content: dict[str, Any]) -> bool:
    """By the shapes of tests/data/dcat."""
    data = rdflib.Graph().parse(data=json.dumps(content), format="json-ld", publicID="https://example.org/release/")
    assert len(data) > 20
    return bool(pyshacl.validate(data, shacl_graph=rdflib.Graph().parse(SHAPES))[0])


@pytest.mark.parametrize("said", [SAID, None, {"license": "LicenseRef-own"}])
def test_every_validator_accepts_its_format(published: Publisher, said: dict[str, Any] | None) -> None:
    release = published(said)
    issues = mlcroissant.Dataset(jsonld=str(release / "croissant.json")).metadata.ctx.issues
    assert not issues.errors
    assert ["license" in warning for warning in issues.warnings] == ([True] if said is None else [])
    report = Package.from_descriptor(str(release / "datapackage.json")).validate()
    assert report.valid, report.flatten(["message"])
    assert [task.stats["rows"] for task in report.tasks] == [2]
    assert conforms(read(release, "dcat.jsonld"))


def test_the_validators_refuse_what_is_wrong(published: Publisher) -> None:
    release = published()
    content = read(release, "dcat.jsonld")
    for wrong in ({"dct:title": []}, {"dct:publisher": {"@type": "foaf:Agent"}}, {"dcat:distribution": []}):
        assert not conforms(content | wrong)
    croissant = read(release, "croissant.json")
    croissant["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"] = "other.csv"
    with pytest.raises(mlcroissant.ValidationError, match=r"other\.csv"):
        mlcroissant.Dataset(jsonld=croissant)
    package = read(release, "datapackage.json")
    package["resources"][0]["schema"]["fields"][1].pop("decimalChar")
    assert not Package.from_descriptor(package, basepath=str(release)).validate().valid


def test_a_file_is_read_by_its_croissant_description(make_run: RunMaker, tmp_path: Path) -> None:
    release = publish(make_run(), tmp_path / "releases", tmp_path / "work")
    records = list(mlcroissant.Dataset(jsonld=str(release / "croissant.json")).records("records"))
    assert records == [{"records/age": 41, "records/income": b"low"}]


def test_a_parquet_table_is_described_without_conventions_of_csv(make_run: RunMaker) -> None:
    folder = make_run(schema=SCHEMA)
    run = read_run(folder)
    run = replace(run, payload={"synthetic.parquet": "", REPORT: ""})
    (folder / "synthetic.csv").rename(folder / "synthetic.parquet")
    for name in ("anonymized.parquet", "policy.json", "anonymization.json"):
        (folder / name).unlink()  # no release has them
    page = FirstPage("It is.", ("Rows.",), (), ("Care.",), (), ())
    about = describe(run, folder, release="r", created="2026-11-21T00:00:00.000000+00:00", page=page)
    (table,) = datapackage(about)["resources"]
    assert (table["path"], table["format"]) == ("synthetic.parquet", "parquet")
    assert "dialect" not in table and {"name": "smoker", "type": "boolean"} in table["schema"]["fields"]
    content = croissant(about)
    assert not mlcroissant.Dataset(jsonld=content).metadata.ctx.issues.errors
    assert content["distribution"][0]["encodingFormat"] == "application/x-parquet"
    assert content["recordSet"][0]["field"][3]["dataType"] == "sc:Boolean"
    assert conforms(dcat(about)) and "| smoker | yes or no | not stated | null |" in readme(about)


@given(
    names=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5, unique=True),
    words=st.text(max_size=30).filter(str.strip),
)
def test_whatever_names_and_words_are_no_format_breaks(names: list[str], words: str) -> None:
    columns = tuple(DescribedColumn(name, Kind.CATEGORICAL, missing=words, description=words) for name in names)
    file = ReleasedFile("synthetic.csv", "0" * 64, 1, "the released table")
    said = PublishOptions(title=words, description=words)
    page = FirstPage(words, (words,), (words,), (words,), (), ())
    table = DescribedTable("synthetic", file, 1, columns)
    about = Description("d", "r", "2026-11-21T00:00:00+00:00", said, (table,), (), page, "s")
    rows = [line for line in readme(about).split("\n") if line.startswith("| ")]
    cells = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows]
    assert cells[: 1 + len(names)] == [5] * (1 + len(names))  # four cells in every row
    assert not re.search(r"(?<!\\)(?:\\\\)*<", readme(about))
    content = croissant(about)
    identifiers = [field["@id"] for field in content["recordSet"][0]["field"]]
    assert len(set(identifiers)) == len(names)
    assert all(re.fullmatch(r"records/[A-Za-z0-9._~%-]+", found) for found in identifiers)
    for format in (content, datapackage(about), dcat(about)):
        assert json.loads(json.dumps(format)) == format


def test_each_format_says_what_the_publisher_said(published: Publisher) -> None:
    release = published()
    sha256 = read(release, "certificate.json")["files"]["synthetic.csv"]["sha256"]
    croissant = read(release, "croissant.json")
    assert croissant["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert croissant["url"] == f"https://data.example.org/releases/{release.name}/"
    assert croissant["distribution"][0]["sha256"] == sha256
    fields = {field["name"]: field for field in croissant["recordSet"][0]["field"]}
    assert fields["weight"]["description"] == "Weight | at entry (decimal number, in kg)"
    assert fields["born"]["source"]["format"] == "%d.%m.%Y"
    assert fields["smoker"]["dataType"] == "sc:Text"  # a reader would take "nein" as true
    assert " " not in fields[HOSTILE]["@id"] and "<" not in fields[HOSTILE]["@id"]
    for key in ("dataCollection", "dataLimitations", "dataBiases", "personalSensitiveInformation"):
        assert croissant[f"rai:{key}"]
    (table,) = read(release, "datapackage.json")["resources"]
    assert (table["hash"], table["bytes"]) == (f"sha256:{sha256}", len(ROWS.encode()))
    assert table["schema"]["fields"][0]["missingValues"] == ["", "?"]
    assert table["schema"]["fields"][1] | {"unit": "kg", "decimalChar": ","} == table["schema"]["fields"][1]
    dcat = read(release, "dcat.jsonld")
    assert dcat["dcat:distribution"]["spdx:checksum"]["spdx:checksumValue"]["@value"] == sha256
    assert dcat["stat:statUnitMeasure"] == [{"@type": "skos:Concept", "skos:prefLabel": "kg"}]
    text = (release / "README.md").read_text(encoding="utf-8")
    assert r"| weight | decimal number, in kg | Weight \| at entry | empty |" in text
    assert r"| a/b \| \<c\> ü | text | not stated | `none` |" in text
    assert "CC-BY-4.0" in text and "data@example.org" in text and sha256 in text
    assert "written ja and nein" in text and "separated by `;`" in text


def test_without_the_section_nothing_is_made_up_and_the_gap_is_named(
    published: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        release = published(None)
    assert "states no license and no contact" in caplog.text
    croissant = read(release, "croissant.json")
    assert not {"license", "url", "creator", "publisher"} & set(croissant)
    assert croissant["keywords"] == ["synthetic data"]
    assert croissant["name"] == "adult"
    text = (release / "README.md").read_text()
    assert "Licence: not stated" in text and "Contact: not stated" in text
    assert not (release / "provenance.jsonld").exists()


def test_nothing_private_is_in_a_description(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "host-canary")
    monkeypatch.setattr(platform, "node", lambda: "host-canary")
    for variable in ("USER", "LOGNAME", "LNAME", "USERNAME"):  # where getpass looks
        monkeypatch.setenv(variable, "user-canary")
    release = published()
    run = tmp_path / "runs" / "run"
    canaries = [str(SEED), FINGERPRINT, "secret-place", "label-of-a-real-record", str(tmp_path), str(run)]
    canaries += ["/opt/worker", "night@server", "policies/own.yaml", "host-canary", "user-canary"]
    for name in DESCRIPTIONS:
        text = (release / name).read_text(encoding="utf-8")
        assert not [canary for canary in canaries if canary in text], name
        assert "70,5" not in text and "01.02.1980" not in text, name  # values of rows


def test_a_path_in_the_publishers_words_stops_the_release(published: Publisher, tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match=r"README\.md holds the path of the run"):
        published(SAID | {"description": f"Made in {tmp_path.resolve() / 'runs' / 'run'}."})
    assert not list((tmp_path / "releases").glob("2*"))


def test_the_certificate_covers_every_description(published: Publisher) -> None:
    release = published()
    assert set(DESCRIPTIONS) <= set(read(release, "certificate.json")["files"]) and verify(release) == []
    for name in DESCRIPTIONS:
        path = release / name
        before = path.read_bytes()
        path.chmod(0o644)
        path.write_bytes(before + b" ")
        assert [problem.message for problem in verify(release)] == [f"{name} was changed"]
        path.write_bytes(before)


def test_lineage_leads_from_the_table_to_the_source_and_names_who_decided(
    make_run: RunMaker, tmp_path: Path, policy: Policy, evaluation: Callable[..., Evaluation]
) -> None:
    run = make_run(measured=evaluation(copies=0.0017), judged_by=policy, publish=SAID)
    zones = tmp_path / "releases", tmp_path / "work"
    release = publish(run, *zones, accept_review=True, by="Ada", reason="rare rows looked at")
    graph = rdflib.Graph().parse(release / "provenance.jsonld")
    base = f"https://data.example.org/releases/{release.name}/"
    table, source = rdflib.URIRef(f"{base}synthetic.csv"), rdflib.URIRef(f"{base}#source")
    assert source in set(graph.transitive_objects(table, PROV.wasDerivedFrom))
    steps = [found for found in graph.subjects(rdflib.RDF.type, PROV.Activity) if (found, PROV.used, None) in graph]
    names = {str(step).partition("#")[2] for step in steps}
    assert names == {"anonymize", "sample", "transition", "synthesize", "evaluate", "judge"}
    labels = {str(label) for label in graph.objects(None, rdflib.RDFS.label)}
    assert "the tests" in labels
    assert (rdflib.URIRef(f"{base}#approver-1"), rdflib.RDFS.label, rdflib.Literal("Ada")) in graph
    tag = read(release, "certificate.json")["source"]["tag"]
    assert (source, rdflib.DCTERMS.identifier, rdflib.Literal(tag)) in graph


def test_the_publishers_words_do_not_make_another_release(make_run: RunMaker) -> None:
    tags = {
        release_tag(b"k" * 32, read_run(make_run(name, **sections)).manifest)
        for name, sections in (("one", {}), ("two", {"publish": SAID}))
    }
    assert len(tags) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "https://user:password@example.org/"},
        {"url": "file:///home/ada"},
        {"license": "all rights reserved, see ./terms"},
        {"contact": {"name": "Ada", "email": "nobody"}},
        {"contact": {"email": "a@b"}},
        {"title": " "},
        {"licence": "CC-BY-4.0"},
    ],
)
def test_texts_that_no_format_can_carry_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PublishOptions.model_validate(wrong)


def test_the_readme_of_an_accepted_review_names_rules_people_and_uses(make_run: RunMaker, tmp_path: Path) -> None:
    policy = a_policy().model_dump(mode="json") | {
        "rules": [
            {"name": "dates of a row", "metric": "gaps_between_dates", "direction": "lower", "compare": "low"}
            | {"review": 0.15, "reason": "Stays must be as long as in the real table.", "hint": "declare them"},
            {"name": "exact copies", "metric": "identical_match", "direction": "lower", "compare": "excess"}
            | {"review": 0.001, "reason": "No copies."},
        ]
    }
    measured = Evaluation(
        (
            MetricResult("gaps_between_dates", "fidelity", "synthetic", "lower", Measure(0.8035, 0.6453, 0.9617)),
            MetricResult("identical_match", "privacy", "synthetic", "lower", NotComputable("no control set")),
        )
    )
    run = make_run(measured=measured, judged_by=Policy.model_validate(policy))
    given = {"accept_review": True, "by": "Ida Rhodes", "reason": "seen | read"}
    release = publish(run, tmp_path / "releases", tmp_path / "work", **given)
    text = (release / "README.md").read_text(encoding="utf-8")
    certificate = read(release, "certificate.json")
    day = certificate["acceptances"][0]["at"][:10]
    for words in (
        "Of the policy's rules, 1 is not met and 1 could not be judged.",
        "- **dates of a row** (review): The score is 0.8035 (between 0.6453 and 0.9617); best is 0, worst 1.",
        "0.6453; allowed is at most 0.15. Stays must be as long as in the real table.",
        "- **exact copies** (not judged): Cannot tell: no control set.",
        f"- Ida Rhodes on {day} (not proven: the name as it was given). Reason: seen \\| read",
        "Do not study lengths of stay",
        "“Does it repeat real records?” was not answered as the policy asks.",
    ):
        assert words in text, words
    assert "Accepted by name all the same: Ida" in certificate["summary"]["answer"]
    assert "Your decision is needed" not in text and "A person must decide" not in text


def test_every_rule_of_the_packaged_policies_has_a_use_or_a_question() -> None:
    for path in packaged_policies().values():
        for rule in load_policy(path).rules:
            assert list(unfit((Check(rule.name, "review", "m", metric=rule.metric),))), rule.metric
    assert list(unfit(())) == []


@pytest.mark.parametrize(("language", "stated"), [("de", "de"), (None, "en")])
def test_the_language_is_the_one_that_the_publisher_states(language: str | None, stated: str) -> None:
    said = PublishOptions(title="Pay", description="What people earn.", language=language)
    column = DescribedColumn("pay", Kind.INTEGER, missing="", description="")
    table = DescribedTable("synthetic", ReleasedFile("synthetic.csv", "0" * 64, 1, "the table"), 1, (column,))
    page = FirstPage("It is.", ("Rows.",), (), ("Care.",), (), ())
    about = Description("d", "r", "2026-11-21T00:00:00+00:00", said, (table,), (), page, "s")
    assert croissant(about)["@context"]["@language"] == stated
