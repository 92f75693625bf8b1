"""Releases with privacy.mode dp: the public folder depends on the drawn table, its account and the configuration."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from hybrid.base.errors import ConfigError
from hybrid.cli.console import print_verdict
from hybrid.jobs.nightly import Night
from hybrid.jobs.places import Places
from hybrid.jobs.release import release
from hybrid.jobs.start import configuration, run
from hybrid.pipeline import table_run
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.certificate import Acceptance
from hybrid.publication.difference import verdict_of
from hybrid.publication.dossier.dossier import dossier_of
from hybrid.publication.dossier.render import markdown
from hybrid.publication.facts import promise_of_run
from hybrid.publication.finished_run import read_run
from hybrid.publication.folder import releases_in
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import tags_of
from hybrid.publication.publish import publish
from hybrid.publication.verify import verify
from tests.jobs.private_clinic import content, people, write_clinic
from tests.publication.falsifiers import patterns_of, sentences
from tests.publication.private_sentences import FALSIFIERS

REASON = "three rare rows looked at"
SECRET = "wardofone"


@pytest.fixture(scope="module")
def drawn() -> Generated:
    """A table of the real generator, with its account."""
    chosen = configuration({**content(), "policy": None}, people(400, 1))
    found = TableRun(chosen).drawn
    assert found.budget is not None
    return found


def released(folder: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Path:
    write_clinic(folder, frame)
    monkeypatch.chdir(folder)
    return folder / release("config.yaml", **options).folder


@pytest.fixture(scope="module")
def three(drawn: Generated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Releases of one drawn table from a source, its neighbour without a person, and people all unlike."""
    base = tmp_path_factory.mktemp("zones")
    whole = people(400, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_run, "drawn_privately", lambda *_: drawn)
        found = {
            "whole": released(base / "a", whole, patch),
            "neighbour": released(base / "b", whole[whole["id"] != "p7"], patch),
        }
        other = people(301, 2, ("north", "south", SECRET)).assign(age=lambda one: one["age"] // 9)
        accept = Acceptance("Ida Rhodes", REASON)
        found["unlike"] = released(base / "c", other, patch, accept=accept)
        yield found


def content_of(path: Path) -> bytes:
    """A file's content; of the envelope what was signed."""
    text = path.read_bytes()
    return base64.b64decode(json.loads(text)["payload"]) if path.name == "certificate.dsse.json" else text


def declared(path: Path, release_dir: Path) -> bytes:
    """A file's content without time, id and signature."""
    text = content_of(path)
    certificate = json.loads((release_dir / "certificate.json").read_text())
    created = certificate["created"]
    known = {
        release_dir.name: "ID",
        created: "TIME",
        re.sub(r"\.\d+", "", created).replace("+00:00", "Z"): "TIME",
        certificate["checksum"]: "CHECKSUM",
        certificate["signing"]["keyid"]: "KEY",
    }
    for name in (
        "README.md",
        "croissant.json",
        "datapackage.json",
        "dcat.jsonld",
        "provenance.jsonld",
        "synthetic.csv-metadata.json",
    ):
        known[certificate["files"][name]["sha256"]] = f"SHA of {name}"
    known[hashlib.sha256((release_dir / "certificate.json").read_bytes()).hexdigest()] = "SHA of certificate.json"
    for value, stand_in in known.items():
        text = text.replace(value.encode(), stand_in.encode())
    return text


def test_public_folder_is_the_same_for_neighbours_and_for_people_all_unlike(three: dict[str, Path]) -> None:
    whole = three["whole"]
    names = sorted(path.name for path in whole.iterdir())
    assert {"synthetic.csv", "report.html", "evaluation.json", "manifest.json", "certificate.json"} <= set(names)
    for other in (three["neighbour"], three["unlike"]):
        assert sorted(path.name for path in other.iterdir()) == names
        for name in names:
            assert declared(whole / name, whole) == declared(other / name, other), name
        sizes = [json.loads((found / "certificate.json").read_text())["files"] for found in (whole, other)]
        assert [about["bytes"] for about in sizes[0].values()] == [about["bytes"] for about in sizes[1].values()]


def test_verdicts_differed_and_nothing_of_them_is_public(three: dict[str, Path]) -> None:
    entries = {name: Ledger(path.parents[1] / "work").entries()[-1] for name, path in three.items()}
    assert (entries["whole"].status, entries["unlike"].status) == ("pass", "review")
    assert entries["unlike"].acceptances[0].reason == REASON
    assert entries["whole"].metrics and entries["whole"].metrics != entries["unlike"].metrics
    for found in three.values():
        text = b"".join(content_of(path) for path in found.iterdir())
        for word in (REASON, "Ida Rhodes", SECRET, "column_shapes (", '"pass"', '"review"', "peak_memory_bytes"):
            assert word.encode() not in text, word


TIME_OF_DAY = re.compile(rb"(?<![\w.])[0-2]?\d:[0-5]\d(?![\w])|\d{4}-\d\d-\d\d[T ]\d\d")


def test_no_file_of_a_release_has_a_time_of_day(three: dict[str, Path]) -> None:
    assert TIME_OF_DAY.search(b'"created": "2026-11-23T04:05:06.7+00:00"') and TIME_OF_DAY.search(b"at 4:05 UTC")
    for found in three.values():
        for path in found.iterdir():
            for whole in (path.read_bytes(), content_of(path)):
                text = re.sub(rb"(2020-01-01|2026-12-31)T00:00:00", b"", whole)  # the bounds that were declared
                assert TIME_OF_DAY.search(text) is None, (path.name, TIME_OF_DAY.search(text))
        certificate = json.loads((found / "certificate.json").read_text())
        assert certificate["created"] == found.name[:10]
        (entry,) = Ledger(found.parents[1] / "work").entries()
        assert entry.created.startswith(f"{certificate['created']}T")


def test_releases_of_one_day_keep_their_order(three: dict[str, Path], tmp_path: Path) -> None:
    first, second = (tmp_path / f"2026-11-23-{name}" for name in ("bbbbbbbb", "aaaaaaaa"))
    for at, folder in enumerate((first, second)):
        shutil.copytree(three["whole"], folder)
        os.utime(folder / "certificate.json", (1e9 + at, 1e9 + at))
    assert [found.path for found in releases_in(tmp_path)] == [first, second]


def words_of(page: Path) -> str:
    """Text of a page without markup, styles and figures."""
    bare = re.sub(r"<(style|svg)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def test_what_a_private_run_prints_about_protection_is_true(three: dict[str, Path]) -> None:
    """The operator's pages state the terms first, and nothing of stages that such a run does not have."""
    for found in three.values():
        run = next(path for path in (found.parents[1] / "runs").iterdir())
        operator = words_of(run / "report.html")
        terms = "differentially private for each person, with epsilon = 2 and delta = 0.00001."
        for text in (operator, words_of(found / "report.html")):
            assert terms in text and text.index(terms) < text.index("How people are protected")
        for untrue in ("Protection is off", "went into everything", "Left as they are", "left as they are", "coarse"):
            assert untrue not in operator, untrue
        assert "put random noise on all that it took from these counts" in operator
        hints = re.findall(r"To try: (.*?)\.(?: |$)", operator)
        assert not any(re.search(r"anonymize|transition|min_leaf|sample\.|protect|hierarch", hint) for hint in hints)


def test_certificate_states_account_and_decision(three: dict[str, Path]) -> None:
    found = three["whole"]
    certificate = json.loads((found / "certificate.json").read_text())
    schema = json.loads(files("hybrid.publication.signing").joinpath("certificate.schema.json").read_text("utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(certificate)] == []
    assert set(certificate) <= set(schema["properties"])
    assert verify(found) == []
    assert "draw" not in certificate
    assert certificate["verdict"] == {"status": "withheld", "policy": "house 1", "checks": []}
    assert certificate["decided"]["by"] == "Grace Hopper"
    stated = certificate["differential_privacy"]
    assert (stated["unit"], stated["rows_per_person"], stated["epsilon"]) == ("person: id", 2, 2.0)
    assert sum(part["rho"] for part in stated["parts"]) == pytest.approx(stated["rho"])
    assert all(part["name"] in certificate["explanation"] for part in stated["parts"])
    assert certificate["config"]["privacy"]["epsilon"] == 2.0
    assert (certificate["metrics"], certificate["acceptances"]) == ([], [])
    page = (found / "report.html").read_text()
    assert all(f"{part['rho']:.4g}" in page for part in stated["parts"])
    assert [text for text in sentences(certificate) if len(patterns_of(text, FALSIFIERS)) != 1] == []
    operator = next((found.parents[1] / "runs").iterdir()) / "report.html"
    assert operator.read_text() != page


def test_dossier_and_first_lines_of_a_private_release(three: dict[str, Path]) -> None:
    """The dossier is the same for neighbours, and states the budget and no stage that such a run does not have."""
    found = {name: markdown(dossier_of(path)).replace(path.name, "ID") for name, path in three.items()}
    assert all(item.facts for part in dossier_of(three["whole"]).parts for item in part.items)
    keys = {json.loads((path / "certificate.json").read_text())["signing"]["keyid"] for path in three.values()}
    for key in keys:
        found = {name: text.replace(key, "KEY") for name, text in found.items()}
    assert len(set(found.values())) == 1
    text, readme = found["whole"], (three["whole"] / "README.md").read_text(encoding="utf-8")
    terms = "with epsilon = 2 and delta = 0.00001."
    assert "NIST SP 800-226" in text and terms in text.partition("## 1.")[0] and "rho of zero-concentrated" in text
    assert terms in readme.partition("## Columns")[0]
    run = next((three["whole"].parents[1] / "runs").iterdir())
    before = markdown(dossier_of(run))
    assert "The run is not published. The operator's report has its verdict." in before and "Published by" not in before
    for page in (text, before, readme):
        for untrue in ("k-anonym", "k = ", "Nothing was anonymized", "Protection is off", "coarse"):
            assert untrue not in page, untrue


def test_the_line_of_the_verdict_has_the_budget(three: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = read_run(next((three["whole"].parents[1] / "runs").iterdir()))
    print_verdict(verdict_of(found), promise=promise_of_run(found))
    lines = " ".join(capsys.readouterr().out.split())
    said = "The table is differentially private for each person, with epsilon = 2 and delta = 0.00001."
    assert f"PASS policy house 1 {said}" in lines


def test_withheld_verdict_without_budget_is_no_release(three: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / three["whole"].name
    copy.mkdir()
    for path in three["whole"].iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    certificate = json.loads((copy / "certificate.json").read_text())
    certificate["differential_privacy"]["parts"] = []
    (copy / "certificate.json").chmod(0o644)
    (copy / "certificate.json").write_text(json.dumps(certificate))
    assert any("states no privacy budget" in problem.message for problem in verify(copy))


def test_tags_are_in_the_ledger_alone(three: dict[str, Path]) -> None:
    found = three["whole"]
    ledger = Ledger(found.parents[1] / "work")
    (one,) = releases_in(found.parent)
    assert one.certificate["source"]["tag"] == one.certificate["release_tag"] == "withheld"
    assert tags_of(one, ledger).release == ledger.entries()[0].release_tag
    assert tags_of(one, Ledger(found.parents[1] / "elsewhere")) == ("", "")


def test_night_keeps_a_release_of_the_same_records_and_draws_for_others(
    three: dict[str, Path], drawn: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = three["neighbour"].parents[1]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(table_run, "drawn_privately", lambda *_: drawn)
    places = Places(Path("work"), Path("runs"), Path("releases"))
    night = Night(Pipeline(configuration("config.yaml"), None, places.store, ledger_dir=places.work), places).run()
    assert (night.outcome, night.release) == ("kept", three["neighbour"].name)
    people(390, 5).to_csv("people.csv", index=False)
    after = Night(Pipeline(configuration("config.yaml"), None, places.store, ledger_dir=places.work), places).run(
        accept_drift=True
    )
    assert (after.outcome, after.release != night.release) == ("released", True)


def test_run_that_claims_nothing_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path, people(400, 1), evaluate={"metrics": ["column_shapes"]})
    run("config.yaml", out="mine", seed=7)
    assert not Path("mine/public-report.html").exists()
    with pytest.raises(ConfigError, match="nothing is claimed"):
        release("config.yaml", seed=7)
    with pytest.raises(ConfigError, match="claims no differential privacy"):
        publish(Path("mine"), Path("out"), Path("work"))
    assert not Path("out").exists()
