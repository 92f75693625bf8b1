"""README, dossier and terminal in German: no English sentence beside what people and tables say in their own words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybrid.base.language import NOT_TRANSLATED, catalogue
from hybrid.base.sentence import sentence
from hybrid.cli import app, console
from hybrid.publication.actions import Action
from hybrid.publication.dossier.dossier import dossier_of
from hybrid.publication.dossier.render import html, markdown
from hybrid.publication.gate import DrawNumber
from hybrid.publication.publish import publish
from hybrid.publication.verdict import Check, Verdict
from tests.helpers.marking import ENGLISH, marking, nodes, unsaid
from tests.publication.conftest import MEASURED, RunMaker, a_policy

GERMAN = catalogue("de")
SAID = {
    "language": "de-AT",
    "title": "Einkommen",
    "uses": ["Lehre"],
    "not_for": ["Werbung"],
    "source": "Steuerfälle aus Wien, 2024.",
    "license": "CC-BY-4.0",
    "contact": {"name": "Datenstelle"},
}


@pytest.fixture
def released(make_run: RunMaker, tmp_path: Path) -> Path:
    strict = a_policy().model_dump(mode="json")
    strict["rules"][0] |= {"review": 0.0001, "block": None, "reason": "Kopien sind Personen.", "hint": "weniger lernen"}
    policy = type(a_policy()).model_validate(strict)
    run = make_run(measured=MEASURED, judged_by=policy, publish=SAID)
    places = tmp_path / "releases", tmp_path / "work"
    return publish(run, *places, accept_review=True, by="Erika Muster", reason="Der Nutzen überwiegt.")


def test_readme_of_a_release_is_german(released: Path) -> None:
    text = (released / "README.md").read_text(encoding="utf-8")
    assert "## Was getan wurde" in text and NOT_TRANSLATED not in text
    assert "Der Nutzen überwiegt." in text and "Wofür**: Lehre" in text and "Kopien sind Personen." in text
    assert not ENGLISH.search(re.sub(r"`[^`]*`|\S+\.json\S*|the tests", "", text))


def test_dossier_is_german_and_says_where_each_fact_is(released: Path) -> None:
    language = marking("de")
    found = dossier_of(released)
    assert found.language == "de-AT"
    page = html(found, language)
    assert '<html lang="de">' in page and NOT_TRANSLATED not in page
    places = re.compile(r"^(certificate|datapackage|facts|manifest|withdrawn)\.json")
    assert not [one for one in unsaid(nodes(page)) if not places.match(one)]
    lines = (line.strip("⟦⟧ ") for line in nodes(page).split("\n"))
    said = "\n".join(line for line in lines if not places.match(line)).replace("the tests", "")
    assert not ENGLISH.search(re.sub(r"Information Commissioner's Office|NIST [^\n]*", "", said))
    chosen = CliRunner().invoke(app, ["dossier", str(released)]).output
    assert chosen == markdown(found, GERMAN)
    assert CliRunner().invoke(app, ["dossier", str(released), "--language", "en"]).output == markdown(found)
    refused = CliRunner().invoke(app, ["dossier", str(released), "--language", "xx"])
    assert refused.exit_code and "en, de" in str(refused.exception)


def test_terminal_is_german_or_english_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    known = Check(
        "exact copies",
        "review",
        sentence("allowed.most", found=sentence("score", n=0.5), limit=0.1),
        "another generator",
        (Action("larger groups", "anonymize.k", 10),),
    )
    console.print_verdict(Verdict.of("default 7", (known,)), DrawNumber(3, 3).words, (), GERMAN)
    text = capsys.readouterr().out
    assert "ZU PRÜFEN" in text and "genaue Kopien: Der Wert ist 0,5; erlaubt ist höchstens 0,1." in text
    assert (
        "dritte Ziehung" in text and "Was helfen kann: größere Gruppen (anonymize.k: 10); ein anderer Generator" in text
    )
    unknown = Verdict.of("default 7", (Check("exact copies", "review", "Something else was found."),))
    console.print_verdict(unknown, language=GERMAN)
    said = capsys.readouterr().out
    console.print_verdict(unknown)
    assert said == f"{capsys.readouterr().out}{NOT_TRANSLATED}\n"
