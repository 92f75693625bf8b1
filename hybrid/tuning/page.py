"""Results of a tune in words, as a page and as JSON; chosen values in the text of a configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hybrid.base.atomic import write_text
from hybrid.base.sentence import SENTENCES, sentence, sentences_in, with_sentences
from hybrid.base.sentence import sentences as joined
from hybrid.base.yaml_document import YamlDocument
from hybrid.comparison.results import ROWS
from hybrid.pipeline.config_file import with_settings
from hybrid.pipeline.starter.comments import said
from hybrid.report.charts.exploration import FrontierPoint, frontier_chart
from hybrid.report.charts.svg import Figure
from hybrid.tuning.measured import CHANCE, Auc, Measured

if TYPE_CHECKING:
    from hybrid.tuning.search import Tuned


MARK = "# tune: "
"""Begins the comment; an earlier one is replaced."""
_WIDTH = 110


def applied(document: YamlDocument, values: Mapping[str, Any], reason: str) -> YamlDocument:
    """The document with chosen values, if any, and the reason above the first, in the language of a terminal."""
    if not values:
        return document
    changed = with_settings(document, values)
    first = min(line for key in values if (line := changed.line_of(tuple(key.split(".")))) is not None)
    lines = changed.text.splitlines(keepends=True)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    comment = [
        f"{indent}{MARK}{part}\n" for part in wrap(said(reason), _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
    before, after = lines[:first], lines[first:]
    text = "".join([*(one for one in before if not _ours(one)), *comment, *(one for one in after if not _ours(one))])
    return YamlDocument(text, document.name)


def _ours(line: str) -> bool:
    return line.lstrip().startswith(MARK)


PAGE, RESULT = "tune.html", "tune.json"
HEAD = ("setting", "exposed", "random", "leak", "models", "link", "column", "obstacle")
"""Columns of the table of settings."""
KEY = (
    "exposed, random: how well an attacker who can train the generator again finds out who was in, of the people least "
    "like others and of random people; .5 is a guess, in brackets the upper end of the 95 % interval. "
    "leak: how far copies of people who are alone, near copies, links of two halves and rows that point at one person "
    "are likely beyond what the policy allows; 0: not at all.",
    "models, link, column: what the table lost, 0 is nothing: the mean score of models that predict nothing, since "
    "real rows predict no column; the largest fall of a link of two columns; the largest share of a column that moved.",
    "obstacle: what is the farthest beyond what the policy allows, among them models of other columns and a group of "
    "people that is missing; -: nothing, so that a run is expected to pass.",
)
"""Meaning of the columns of the table; what is between, where no column is predicted."""


def row(one: Measured) -> tuple[str, ...]:
    """One setting as cells of the table."""
    falls = (f"{fall:.3f}" for fall in (one.falls.prediction, one.falls.link, one.falls.column))
    leak = f"{max(one.leak, 0.0):.3f}"
    attacked = (f"{each.value:.3f} ({each.high:.3f})" for each in one.attack)
    return one.name, *attacked, leak, *falls, one.obstacle or "-"


def key(found: Tuned) -> str:
    """Meaning of the columns of the table."""
    attacks, lost, obstacle = KEY
    targets = tuple(found.targets)
    return joined(attacks, sentence("tune.lost", targets=targets) if targets else lost, obstacle)


def legend(found: Tuned) -> Iterator[str]:
    """Values of the settings of the last round."""
    yield from (
        sentence("tune.setting", name=one.name, words=found.setting(one.name).words) for one in found.rounds[-1]
    )


def sentences(found: Tuned) -> Iterator[str]:
    """Sentences about the choice, its ground, and its power."""
    yield reason(found)
    last, choice = found.rounds[-1], found.choice
    if not choice.passing:
        yield (
            "No setting is expected to pass the policy: the one that is nearest to it was taken. "
            "Fewer columns, a larger table or another generator may help."
        )
    if not found.has_rule:
        yield sentence("tune.no_rule", auc=f"{choice.chosen.worse_attack.allowed:.2f}")
    if choice.alike:
        yield sentence(
            "tune.alike", n=found.people, auc=f"{_reach(last):.2f}", names=(choice.chosen.name, *choice.alike)
        )
    if found.failed:
        yield sentence("tune.failed", n=len(found.failed), file=ROWS)
    yield (
        "These numbers are the best of several on the training people, and about tables of half their number: a run "
        "measures anew."
    )
    if found.has_control:
        yield (
            "The control people of a run with the same seed, or the same private zone, were not looked at: its verdict "
            "is about people without a part in the choice."
        )
    else:
        yield "No control people were set apart: the verdict of a run is about people who had a part in the choice."


def reason(found: Tuned) -> str:
    """Ground of the choice, in one line without a name of a column."""
    one = found.choice.chosen
    exposed, anyone = map(_interval, one.attack)
    passing = len(found.choice.passing)
    return sentence(
        "tune.reason",
        setting=found.setting(one.name).words,
        chosen=sentence("tune.passing", n=passing)
        if passing
        else "the nearest to passing, and none is expected to pass",
        tried=len(found.settings),
        exposed=exposed,
        anyone=anyone,
        use=f"{one.usefulness:.3f}",
    )


def picture(found: Tuned) -> Figure:
    """Disclosure against usefulness of every setting, by its last round."""
    across = "AUC of the attacker who trains again, of the worse of both groups"
    chart = frontier_chart(
        _points(found), found.choice.chosen.worse_attack.allowed, across, "usefulness (1: as the source)"
    )
    return Figure((("Disclosure and usefulness", chart),), _text(found))


def write_results(found: Tuned, folder: Path) -> None:
    picture(found).write(folder / PAGE)
    content = {
        "settings": {one.name: dict(one.values) for one in found.settings},
        "rounds": [[asdict(one) for one in each] for each in found.rounds],
        "chosen": found.choice.chosen.name,
        "values": dict(found.chosen.values),
        "reason": reason(found),
        "passing": found.choice.passing,
        "targets": found.targets,
        "people": found.people,
        "said": [*sentences(found), *legend(found), key(found)],
        "points": [asdict(one) for one in _points(found)],
    }
    content[SENTENCES] = sentences_in(content)
    write_text(folder / RESULT, json.dumps(content, ensure_ascii=False, indent=1).replace("NaN", "null") + "\n")


def read_results(folder: Path) -> dict[str, Any] | None:
    """Results that :func:`write_results` wrote, with their sentences; None without a file of that form."""
    try:
        found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        known = {"values", "reason", "said", "points", SENTENCES} <= set(found)
        return dict(with_sentences(found, found[SENTENCES])) if known else None
    except (OSError, ValueError, TypeError):
        return None


def _text(found: Tuned) -> Markup:
    words = "".join(f"<p>{escape(one)}</p>" for one in [*sentences(found), *legend(found), key(found)])
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row(one)) + "</tr>" for one in found.rounds[-1]
    )
    return Markup(f"<div>{words}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>")


def _points(found: Tuned) -> list[FrontierPoint]:
    latest = {one.name: one for each in found.rounds for one in each}
    last = {one.name for one in found.rounds[-1]}
    return [_point(one, one.name in last, one.name == found.choice.chosen.name) for one in latest.values()]


def _point(one: Measured, decided: bool, chosen: bool) -> FrontierPoint:
    worse = one.worse_attack
    return FrontierPoint(one.name, worse.value, worse.low, worse.high, one.usefulness, decided, chosen)


def _interval(one: Auc) -> str:
    return sentence("compared.value", n=f"{one.value:.3f}", low=f"{one.low:.3f}", high=f"{one.high:.3f}")


def _reach(found: Sequence[Measured]) -> float:
    """Mean width of half an interval of the attack."""
    halves = [(each.high - each.low) / 2 for one in found for each in one.attack]
    return sum(halves) / len(halves) if halves else CHANCE
