"""A dossier as Markdown and as one HTML page without network access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Literal, NamedTuple

from hybrid.base.language import ENGLISH, Language, in_language
from hybrid.base.sentence import sentence
from hybrid.publication.dossier.dossier import TO_FILL, Dossier
from hybrid.publication.plain_markdown import plain

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "body{overflow-wrap:anywhere}"
    "h2{margin-top:2.5rem;border-top:1px solid #999;padding-top:1rem}li{margin:.3rem 0}small{color:#555}"
    ".note{border:2px solid #1b1b1b;padding:.7rem 1rem}.box{border:1px solid #777;padding:.5rem .8rem;min-height:4rem}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}small{color:#bbb}.note{border-color:#eee}}"
    "@media print{.box{break-inside:avoid}}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Block(NamedTuple):
    """A piece of the page."""

    kind: Literal["title", "note", "part", "text", "heading", "fact", "box"]
    text: str
    where: str = ""


def blocks(dossier: Dossier, language: Language = ENGLISH) -> Iterator[Block]:
    """Pieces of a dossier in their order, for every format; where a fact was found stays the key of a file."""
    say = language.say
    yield Block("title", f"{say('Dossier')}: {say(dossier.title)}")
    yield Block("note", say(dossier.note))
    yield Block("part", say("What it is, and what was decided"))
    yield from (Block("fact", say(fact.text), fact.where) for fact in dossier.head)
    for number, part in enumerate(dossier.parts, 1):
        yield Block("part", f"{number}. {say(part.title)}")
        yield Block("text", say(part.about))
        for at, item in enumerate(part.items, 1):
            yield Block("heading", f"{number}.{at} {say(item.heading)}")
            yield from (Block("fact", say(fact.text), fact.where) for fact in item.facts)
            yield Block("box", say(sentence("dossier.person", what=item.person)))


def markdown(dossier: Dossier, language: Language = ENGLISH) -> str:
    """Markdown in which no text of a person is markup."""
    return in_language(language, lambda chosen, note: _markdown(dossier, chosen, note))


def _markdown(dossier: Dossier, language: Language, note: str) -> str:
    lines: list[str] = []
    for kind, text, where in _noted(blocks(dossier, language), note):
        words, place = plain(text), f" ({plain(where)})" if where else ""
        match kind:
            case "title":
                lines.append(f"# {words}")
            case "note":
                lines += ["", f"**{words}**"]
            case "text":
                lines.append(words)
            case "part" | "heading":
                lines += ["", f"{'##' if kind == 'part' else '###'} {words}", ""]
            case "fact":
                lines.append(f"- {words}{place}")
            case "box":
                lines += ["", f"☐ {words} {TO_FILL}"]
    return "\n".join(lines) + "\n"


def html(dossier: Dossier, language: Language = ENGLISH) -> str:
    """One HTML page, with empty boxes to fill in on paper."""
    return in_language(language, lambda chosen, note: _html(dossier, chosen, note))


def _noted(pieces: Iterable[Block], note: str) -> Iterator[Block]:
    """The pieces of a page, with a note after its title if there is one."""
    for piece in pieces:
        yield piece
        if piece.kind == "title" and note:
            yield Block("text", note)


def _html(dossier: Dossier, language: Language, note: str) -> str:
    body: list[str] = []
    in_list = False
    for kind, text, where in _noted(blocks(dossier, language), note):
        words, place = escape(text), f" <small>{escape(where)}</small>" if where else ""
        if in_list != (kind == "fact"):
            body.append("</ul>" if in_list else "<ul>")
            in_list = not in_list
        match kind:
            case "title":
                body.append(f"<h1>{words}</h1>")
            case "note":
                body.append(f'<p class="note"><b>{words}</b></p>')
            case "text":
                body.append(f"<p>{words}</p>")
            case "part" | "heading":
                level = 2 if kind == "part" else 3
                body.append(f"<h{level}>{words}</h{level}>")
            case "fact":
                body.append(f"<li>{words}{place}</li>")
            case "box":
                body.append(f'<p class="box">☐ {words}</p>')
    return (
        f'<!doctype html>\n<html lang="{language.code}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(language.say(dossier.title))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
