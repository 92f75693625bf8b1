"""A dossier as Markdown and as one HTML page without network access."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Literal, NamedTuple

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


def blocks(dossier: Dossier) -> Iterator[Block]:
    """Pieces of a dossier in their order, for every format."""
    yield Block("title", f"Dossier: {dossier.title}")
    yield Block("note", dossier.note)
    yield Block("part", "What it is, and what was decided")
    yield from (Block("fact", fact.text, fact.where) for fact in dossier.head)
    for number, part in enumerate(dossier.parts, 1):
        yield Block("part", f"{number}. {part.title}")
        yield Block("text", part.about)
        for at, item in enumerate(part.items, 1):
            yield Block("heading", f"{number}.{at} {item.heading}")
            yield from (Block("fact", fact.text, fact.where) for fact in item.facts)
            yield Block("box", item.person)


def markdown(dossier: Dossier) -> str:
    """Markdown in which no text of a person is markup."""
    lines: list[str] = []
    for kind, text, where in blocks(dossier):
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
                lines += ["", f"☐ A person adds: {words} {TO_FILL}"]
    return "\n".join(lines) + "\n"


def html(dossier: Dossier) -> str:
    """One HTML page, with empty boxes to fill in on paper."""
    body: list[str] = []
    in_list = False
    for kind, text, where in blocks(dossier):
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
                body.append(f'<p class="box">☐ A person adds: {words}</p>')
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(dossier.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
