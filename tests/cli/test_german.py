"""With ``HYBRID_LANGUAGE=de`` the command line speaks German: results, progress, common errors, written comments."""

from __future__ import annotations

import ast
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import hybrid.cli
from hybrid.base.language import catalogue
from hybrid.cli import app
from hybrid.cli.spoken import paragraphs
from hybrid.cli.tour import tour_steps
from tests.cli.cli_jobs import edit, exit_code
from tests.cli.printed import printed
from tests.helpers.german import not_german, words_of
from tests.pipeline.tables import hospital

GERMAN = catalogue("de")
OWN = {"length_of_stay", "A. Muster", "good", "config.yaml", "report.html", "Ada Lovelace", "classes are large", "KEY"}


@pytest.fixture(autouse=True)
def speaks_german(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYBRID_LANGUAGE", "de")
    monkeypatch.chdir(tmp_path)


def english_lines(text: str, data: set[str]) -> list[str]:
    """Lines with an English word, number or day beside the data's own; commands and options are code."""
    text = re.sub(r"\b[a-z_]+(\.[a-z_]+)+\b|'\w+'", " ", text)
    code = re.sub(r"hybrid [a-z-]+( [a-z-]+)?( (?=[\w./-]*[A-Z./])[\w./-]+)*|(?<!\w)--?[a-z-]+( [A-Z]+)?", " ", text)
    return not_german("".join(f"<p>{escape(line)}</p>" for line in code.splitlines()), data)


def test_init_and_its_comments(job: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(job.parent / "admissions.csv", tmp_path / "table.csv")
    (tmp_path / "l").mkdir()
    hospital.write(tmp_path / "l")
    (tmp_path / "l" / "config.yaml").unlink()
    assert exit_code("init", "table.csv") == exit_code("init", "l") == 0
    data = words_of(tmp_path) | OWN | {"review"}
    said = capsys.readouterr()
    assert english_lines(f"{said.out}{said.err}", data) == []
    for file in ("config.yaml", "l/config.yaml"):
        written = (tmp_path / file).read_text(encoding="utf-8")
        comments = [found[1] for found in re.finditer(r"(?m)(?:^|\s)# (?:review: )?(.*)$", written)]
        prose = [one for one in comments if not one.startswith(("yaml-language", " ")) and ": {" not in one]
        assert len(prose) > 15 and english_lines("\n".join(prose), data) == []
        assert "# review: " in written and "# zu prüfen" not in written, "what the program reads stays"
        assert yaml.safe_load(written)["version"] == 1


def test_check_run_and_release(job: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = words_of(job.parent) | OWN | {str(job), str(job.parent), "cart", "tree", "test"}
    assert exit_code("check", job) == 0
    assert exit_code("run", job, "--out", tmp_path / "out") == 0
    assert exit_code("release", tmp_path / "out") == 0
    said = capsys.readouterr()
    assert "Hinweis" in said.out and "Bericht" in said.out and "Synthese ..." in said.err
    assert english_lines(f"{said.out}{said.err}", data) == []
    (name,) = (one.name for one in (tmp_path / "releases").iterdir() if one.is_dir() and not one.is_symlink())
    of_program = {"tstr", "default", "python -m", "exact", "out", *(f"{tmp_path / 'out'}",)}
    capsys.readouterr()
    assert exit_code("deliver", job) == 2
    assert "nennt keinen Ort" in capsys.readouterr().err
    for command in (
        ["anonymize", job, "--out", tmp_path / "labels"],
        ["trade-off", job, "--k", 3, "--limit", 0.02],
        ["hierarchy", "show", job, "age"],
        ["hierarchy", "check", job, "age"],
        ["status"],
        ["difference", tmp_path / "out"],
        ["side-by-side", tmp_path / "out", tmp_path / "out"],
        ["verify", tmp_path / "releases" / name],
        ["retain", "--keep", 1],
        ["keys", "rotate"],
        ["policies"],
        ["withdraw", name, "--by", "A. Muster", "--reason", "good"],
    ):
        assert exit_code(*command) == 0, command
        said = capsys.readouterr()
        text = f"{said.out}{said.err}".replace(name, " ")
        assert said.out and english_lines(text, data | of_program) == [], command


@pytest.mark.parametrize(
    ("changes", "german"),
    [
        ({"anonymize__kk": 3}, "Zeile 58: anonymize.kk: unbekannter Schlüssel"),
        ({"anonymize__k": "five"}, "anonymize.k: erwartet wurde eine ganze Zahl (gefunden: 'five')"),
        ({"data__columns__sex__role": "secret"}, "erwartet wurde 'identifier', "),
        ({"synthesize__generator": "cartt"}, "unbekannter Generator 'cartt'; meinten Sie 'cart'?"),
        ({"data__path": "nowhere.csv"}, "nowhere.csv: die Datendatei gibt es nicht"),
        ({"data__columns__nowhere": {}}, "die Konfiguration nennt die Spalte 'nowhere'"),
        ({"data__columns__ward__kind": "integer"}, "die Spalte 'ward' ist als ganze Zahl angegeben"),
        ({"anonymize__k": 5000}, "k ist 5000, "),
        ({"policy": "nowhere"}, "'nowhere' ist keine mitgelieferte Richtlinie"),
        ({"data__columns__sex__hierarchy": "nowhere.csv"}, "nowhere.csv: die Hierarchiedatei gibt es nicht"),
    ],
)
def test_common_errors(
    job: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], german: str, tmp_path: Path
) -> None:
    edit(job, **changes)
    assert exit_code("run", job, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert german.partition(": ")[2] in said or german in said
    data = words_of(job.parent) | OWN | {str(job.parent), "nowhere", "cartt"}
    assert english_lines(said, data) == []


@pytest.mark.parametrize(
    "command",
    [
        ["check", "absent.yaml"],
        ["check", "table.csv"],
        ["init", "absent.csv"],
        ["run", "config.yaml", "--out", "full"],
        ["release", "full"],
        ["release", "config.yaml", "--accept-review"],
        ["approve", "full", "--by", "A. Muster", "--reason", "good"],
        ["sample", "full"],
        ["check", "config.yaml", "--set", "anonymize.k"],
        ["init", "table.csv", "--out", "config.yaml"],
    ],
)
def test_common_mistakes(job: Path, capsys: pytest.CaptureFixture[str], command: list[str], tmp_path: Path) -> None:
    shutil.copy(job.parent / "admissions.csv", tmp_path / "table.csv")
    shutil.copy(job, tmp_path / "config.yaml")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    assert exit_code(*command) == 2
    said = capsys.readouterr().err
    assert said and english_lines(said, OWN) == []


def test_every_message_that_is_said_with_facts_is_said_somewhere() -> None:
    """Templates have the same places in both languages, and the program's text, or a part of it that makes them."""
    package = Path(hybrid.cli.__file__).parents[1]
    pages = [*package.glob("*/templates/*.html"), *package.glob("report/run/sections/*.py")]
    page = " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in sorted(pages))
    others = ("base/progress.py", "report/charts/exploration.py", "publication/actions.py")
    files = [*package.glob("cli/*.py"), *(package / name for name in others)]
    said = {
        node.value.strip("\n ")
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\{\w+(:\w+)?\}", node.value)
    }
    assert len(said & {one.english for one in (*GERMAN.messages, *GERMAN.templates)}) > 40
    for one in GERMAN.templates:
        assert set(one.kinds) == one.translated_places, one.english
        assert not one.kinds or one.english in page or any(_is_part(part, one.english) for part in said), one.english


def _is_part(part: str, of: str) -> bool:
    return part in of or of in part


def _commands() -> dict[tuple[str, ...], Any]:
    """Every command of the program in English, by the words that call it."""
    found: dict[tuple[str, ...], Any] = {(): typer.main.get_command(app)}
    for words, one in [*found.items()]:
        found |= {(*words, name): below for name, below in one.commands.items()}
    for words, one in [*found.items()]:
        found |= {(*words, name): below for name, below in getattr(one, "commands", {}).items()}
    return found


def test_every_text_of_help_has_a_german_one() -> None:
    commands = _commands()
    assert len(commands) > 45
    for words, command in commands.items():
        for one in (command, *command.params):
            told = [*paragraphs(getattr(one, "help", None) or ""), getattr(one, "rich_help_panel", None)]
            missing = [text for text in told if isinstance(text, str) and GERMAN.alone(text) is None]
            assert not missing, (words, missing)


def test_help_is_german(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    names = {name for words, one in _commands().items() for name in (*words, *(param.name for param in one.params))}
    for words in _commands():
        assert exit_code(*words, "--help") == 0
        said = capsys.readouterr().out
        assert "Aufruf:" in said and "Diese Hilfe zeigen" in said
        assert english_lines(_NOT_PROSE.sub(" ", said), names) == [], words
    monkeypatch.delenv("HYBRID_LANGUAGE")
    assert exit_code("--help") == 0
    assert "Usage:" in capsys.readouterr().out


_NOT_PROSE = re.compile(r"[│╭╰─╯╮]|\[[^\]]*\]|\b[A-Z][A-Z|:=.]+\b")
"""Frames, choices, and what stands for a value."""


def test_every_text_that_a_command_prints_has_a_german_one() -> None:
    known = {*GERMAN.terms, *(one.english for one in (*GERMAN.messages, *GERMAN.templates))}
    texts = [*printed()]
    assert len(texts) > 150
    missing = [(where, text) for where, text in texts if text is None or not (text in known or CODE.fullmatch(text))]
    assert not missing


CODE = re.compile(r"hybrid( [a-z-]+)+( CONFIG)?|ssh-keygen -Y sign -n hybrid-approval -f KEY FILE")
"""Command lines, which are the same in every language."""


def test_steps_of_the_tour_are_german() -> None:
    for step in tour_steps(300):
        assert all(GERMAN.alone(text) is not None for text in (step.title, step.before, step.after)), step.title


@pytest.mark.parametrize(
    "command",
    [
        ["chek"],
        ["check"],
        ["check", "x", "y"],
        ["check", "x", "--foo"],
        ["mock", "x", "--rows"],
        ["mock", "x", "--rows", "a"],
        ["mock", "x", "--rows", "0"],
        ["--log-format", "x", "check"],
        ["init"],
        ["demo", "x", "--linked", "--single"],
    ],
)
def test_a_line_that_cannot_be_read(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert exit_code(*command) == 2
    said = capsys.readouterr().err
    assert "Fehler: " in said and english_lines(said, {"chek"}) == []
