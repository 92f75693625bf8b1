"""Renderer of a run's report: one self-contained, printable page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language, catalogue, in_language
from hybrid.evaluation.display import displayed_evaluation
from hybrid.publication.table_facts import few
from hybrid.report.charts.figures import percent
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import number
from hybrid.report.run.sections import SECTIONS
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.verdict import VERDICTS

MACROS = '{% from "parts.html" import exposure_table, metric_tables %}\n'
"""Imported by the template of every section."""

_STYLE = re.compile(r' style="--natural:[\d.]+px" preserveAspectRatio="xMidYMid meet"')
_LANGUAGE = re.compile(r'<html lang="([a-z]+)"')
_NUMBER = re.compile(r'<span class="at">\d+</span>')


@dataclass(frozen=True)
class _Part:
    anchor: str
    title: str
    lead: str
    content: Markup


@cache
def environment(code: str = ENGLISH.code) -> Environment:
    """Jinja environment of the report's templates, with escaping, in the language with a code.

    Templates write prose as ``_("...")``, with what fills its places, or as ``text|say``; names that a person may have
    chosen as ``text|own``; what holds numbers as ``text|form``; cells of numbers and short findings as
    ``text|figure``. All else is data, and stays as it is.
    """
    language = catalogue(code)
    templates = Environment(
        loader=PackageLoader("hybrid.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = {"number": number, "percent": percent, "count": "{:,}".format}
    templates.filters |= {name: _formed(language, write) for name, write in numbers.items()}
    templates.filters |= {
        "few": few,
        "say": language.say,
        "own": language.own,
        "form": language.number,
        "figure": language.figure,
        "label": language.label,
    }
    templates.globals |= {"_": language.say, "language": language}
    return templates


def _formed(language: Language, write: Callable[..., str]) -> Callable[..., str]:
    return lambda *about: language.number(write(*about))


@cache
def _compiled(template: str, code: str) -> Template:
    """Compiled once for all reports of a process: that takes longer than to fill it in."""
    return environment(code).from_string(MACROS + template)


def render_report(
    inputs: ReportInputs,
    sections: Sequence[Section] | None = None,
    other: tuple[str, str] | None = None,
    language: Language = ENGLISH,
) -> str:
    """Render the report of one run as one self-contained HTML document.

    It has inline styles and figures: no script, no link but to the other pages of the report. What is absent from
    ``inputs`` is said to be absent. Without ``sections``, all of a single table. ``other``: file and name of the page
    that belongs to this one. In another ``language`` than English, a page with a sentence that the catalogue does not
    know is English as a whole, and says so.
    """
    inputs = replace(inputs, evaluation=displayed_evaluation(inputs.evaluation))

    def draw(language: Language, note: str) -> str:
        found = (_part(section, inputs, language) for section in sections or SECTIONS)
        parts = [part for part in found if part is not None]
        verdict = VERDICTS[inputs.verdict.status] if inputs.verdict else None
        page = environment(language.code).get_template("report.html")
        return page.render(run=inputs, verdict=verdict, parts=parts, other=other, note=note)

    return in_language(language, draw)


def page_language(page: str) -> str:
    """Code of the language of a rendered report."""
    found = _LANGUAGE.search(page)
    return found[1] if found else ENGLISH.code


def section_of(page: str, anchor: str) -> Markup:
    """One section of a rendered report, for a page with other styles.

    Empty where the report has no such section.
    """
    _, found, rest = page.partition(f'<section id="{anchor}">')
    content = rest.partition("</section>")[0] if found else ""
    return Markup(_STYLE.sub("", _NUMBER.sub("", content)))


def _part(section: Section, inputs: ReportInputs, language: Language) -> _Part | None:
    values = section.values(replace(inputs, language=language))
    if values is None:
        return None
    content = _compiled(section.template, language.code).render(run=inputs, **values)
    return _Part(section.anchor, section.title, section.lead, Markup(content))
