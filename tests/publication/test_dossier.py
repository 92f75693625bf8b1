"""Dossiers: every fact is where it says, for every kind of run, and no text of a person is markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from hybrid.base.errors import ConfigError, DataError, VerificationError
from hybrid.base.ownership import seal
from hybrid.cli import app
from hybrid.publication.criteria import QUESTIONS
from hybrid.publication.dossier.dossier import FACTS, Dossier, dossier_of, headings
from hybrid.publication.dossier.render import html, markdown
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish
from hybrid.publication.withdraw import withdraw
from tests.publication.conftest import MEASURED, RunMaker, a_policy

HOSTILE = "<img src=x onerror=alert(1)> [click](javascript:alert(1)) **bold** `code` | ![a](b) <script>x</script> \\"


def policy(review: float, block: float | None = None, name: str = "copies") -> Policy:
    rule = {"name": name, "metric": "identical_match", "direction": "lower", "compare": "excess"}
    rules = [rule | {"review": review, "block": block, "reason": "Copies are people."}]
    return Policy.model_validate(a_policy().model_dump(mode="json") | {"rules": rules})


def texts(dossier: Dossier) -> list[str]:
    facts = [*dossier.head, *(fact for part in dossier.parts for item in part.items for fact in item.facts)]
    return [fact.text for fact in facts]


def of(dossier: Dossier, heading: str) -> list[str]:
    return [
        f.text for part in dossier.parts for item in part.items if item.heading.startswith(heading) for f in item.facts
    ]


def accepted_release(make_run: RunMaker, tmp_path: Path, **options: Any) -> Path:
    run = make_run(measured=MEASURED, judged_by=policy(0.0002), **options)
    zones = tmp_path / "releases", tmp_path / "work"
    return publish(run, *zones, accept_review=True, by="Ida Rhodes", reason=HOSTILE)


def test_every_heading_names_facts_and_a_box() -> None:
    used = {name for part in headings()["parts"] for item in part["items"] for name in item["facts"]}
    assert used <= FACTS.keys() and FACTS.keys() - used == {"open_rules"}  # of the first lines
    assert all(item["person"].endswith(".") for part in headings()["parts"] for item in part["items"])
    titles = " ".join(part["title"] for part in headings()["parts"])
    for framework in (
        "WP216",
        "Recital 26",
        "Data Protection Board",
        "Article 66",
        "HealthDCAT-AP",
        "27559",
        "UK",
        "800-226",
    ):
        assert framework in titles, framework
    opened = " ".join(item["heading"] for part in headings()["parts"][:1] for item in part["items"])
    assert all(
        question[1:].rstrip("?") in opened.replace("does the table", "does it") for question in QUESTIONS.values()
    )


def test_a_release_that_people_accepted(make_run: RunMaker, tmp_path: Path) -> None:
    found = dossier_of(
        accepted_release(make_run, tmp_path, publish={"source": "Adults of 1994.", "uses": ["Teaching."]})
    )
    assert "no legal conclusion" in found.note
    assert all(item.facts and item.person for part in found.parts for item in part.items)
    (copies,) = of(found, "Copies")
    assert copies.startswith("copies: review. The score is 3 in 1,000 above") and "(between 0.213 and 5.79)" in copies
    assert "allowed is at most 0.2 in 1,000" in copies
    (linked,) = of(found, "Linkability")
    assert linked == "linkability: 0.21 (interval 0.2 to 0.22); the reference is 0.2. No rule of the policy limits it."
    assert of(found, "Singling out") == ["No number was measured for this question."]
    said = texts(found)
    assert "Not met: copies." in said and "For: Teaching." in said
    assert "Real records behind the table: Adults of 1994." in said
    assert any(text.startswith("Accepted by Ida Rhodes on ") and "<script>" in text for text in said)
    assert any("not in the data: 1." in text for text in of(found, "First baseline"))
    assert [part.title for part in found.parts if "NIST" in part.title] == []
    assert all("certificate.json" in f.where or "datapackage.json" in f.where or not f.where for f in found.head)


def test_where_a_fact_says_it_is_there_it_is(make_run: RunMaker, tmp_path: Path) -> None:
    for folder in (accepted_release(make_run, tmp_path), make_run("unpublished")):
        found = dossier_of(folder)
        places = {f.where for part in found.parts for item in part.items for f in item.facts} | {
            f.where for f in found.head
        }
        for place in filter(None, places):
            file, _, rest = place.partition(": ")
            content = json.loads((folder / file).read_text(encoding="utf-8"))
            for key in rest.split(", ")[0].split("."):
                assert key in content, place
                content = content[key]


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_reason_and_a_column_are_no_markup(make_run: RunMaker, tmp_path: Path) -> None:
    columns = {HOSTILE: {"role": "identifier"}, "a\x1b[31m_b_": {"role": "sensitive"}}
    release = accepted_release(make_run, tmp_path, data={"path": "x.csv", "columns": columns})
    found = dossier_of(release)
    page = _Tags(html(found))
    assert page.tags <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "h3",
        "p",
        "b",
        "ul",
        "li",
        "small",
    }
    assert page.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class"}
    for text in (markdown(found), (release / "README.md").read_text(encoding="utf-8")):
        assert "\x1b" not in text
        tokens = [
            token
            for block in MarkdownIt("gfm-like", {"linkify": False}).parse(text)
            for token in [block, *(block.children or ())]
        ]
        kinds = {token.type for token in tokens}
        assert not {"html_inline", "html_block", "link_open", "image"} & kinds
        shown = "".join(token.content for token in tokens if token.type == "text")
        assert "**bold**" in shown and "`code`" in shown and "<script>x</script>" in shown


@pytest.mark.parametrize(
    ("limits", "said"), [((0.5, None), "Every rule of the policy is met."), ((0.0001, 0.0002), "must not leave")]
)
def test_a_run_that_is_not_published(make_run: RunMaker, limits: tuple[float, float | None], said: str) -> None:
    found = dossier_of(make_run(measured=MEASURED, judged_by=policy(*limits)))
    assert any(said in text for text in texts(found)) and found.title == "adult, a run that is not published"
    assert "The run is not published. Publishing judges it with all earlier releases." in texts(found)
    assert of(found, "Governance")[-1] == "Nothing is signed."


def test_rows_without_a_generator_are_not_called_synthetic(make_run: RunMaker) -> None:
    found = dossier_of(make_run(judged_by=policy(0.5), synthesize={"generator": "none"}, anonymized=None))
    whole = " ".join(texts(found))
    assert "No row is synthetic" in whole and "is synthetic: a program" not in whole
    assert "No model was trained." in whole and "Nothing was anonymized." in whole


def test_changed_and_withdrawn_releases(make_run: RunMaker, tmp_path: Path) -> None:
    release = publish(make_run(), tmp_path / "releases", tmp_path / "work")
    withdraw(release.name, tmp_path / "releases", tmp_path / "work", "Ada", "too fine")
    assert any("withdrawn on" in text and "by Ada: too fine" in text for text in texts(dossier_of(release)))
    (release / "README.md").chmod(0o644)
    (release / "README.md").write_text("all is well")
    with pytest.raises(VerificationError, match=r"README\.md was changed"):
        dossier_of(release)


def test_an_audit_and_an_unclaimed_run_say_why_not(make_run: RunMaker, tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    seal(tmp_path / "audit", "other", "audit")
    with pytest.raises(DataError, match="audit does not know how the table was made"):
        dossier_of(tmp_path / "audit")
    with pytest.raises(DataError, match="not the folder of a finished run"):
        dossier_of(tmp_path)
    privacy = {"mode": "dp", "epsilon": 1.0, "delta": 1e-6, "columns": {}}
    with pytest.raises(ConfigError, match="claims no differential privacy"):
        dossier_of(make_run("seeded", privacy=privacy))


def test_the_command_prints_and_writes(make_run: RunMaker, tmp_path: Path) -> None:
    run, command = make_run(), CliRunner()
    printed = command.invoke(app, ["dossier", str(run)])
    assert printed.exit_code == 0 and printed.stdout.startswith("# Dossier: adult")
    out = tmp_path / "for-the-committee"
    written = command.invoke(app, ["dossier", str(run), "--out", str(out), "--json"])
    assert written.exit_code == 0 and {path.name for path in out.iterdir()} == {"dossier.md", "dossier.html"}
    assert (out / "dossier.md").read_text(encoding="utf-8") == printed.stdout
    assert json.loads(written.stdout[written.stdout.index("{") :])["title"] == "adult, a run that is not published"
    inside = command.invoke(app, ["dossier", str(run), "--out", str(run / "dossier")])
    assert isinstance(inside.exception, ConfigError) and not (run / "dossier").exists()
