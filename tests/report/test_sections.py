"""The registry of the report's sections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hybrid.report import ReportInputs, render_report
from hybrid.report.run import render, sections
from hybrid.report.run.sections.section import Section
from tests.report.documents import Document


def added(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Section:
    """Register one more section, before the last one."""
    made = Section(anchor="extra", title="Extra <title>", **options)
    extended = (*sections.SECTIONS[:-1], made, sections.SECTIONS[-1])
    monkeypatch.setattr(sections, "SECTIONS", extended)
    monkeypatch.setattr(render, "SECTIONS", extended)
    return made


def test_a_registered_section_is_numbered_and_linked(
    monkeypatch: pytest.MonkeyPatch, full_inputs: ReportInputs
) -> None:
    before = Document(render_report(full_inputs))
    added(monkeypatch, template="<p>of {{ run.name }}: {{ n|count }}</p>\n", values=lambda _: {"n": 1234})
    document = Document(render_report(full_inputs))
    assert document.ids() == [*before.ids()[:-1], "extra", before.ids()[-1]]
    assert "Extra <title>" in document.text
    assert "of people: 1,234" in document.text


def test_a_section_without_values_is_left_out(monkeypatch: pytest.MonkeyPatch, full_inputs: ReportInputs) -> None:
    before = render_report(full_inputs)
    added(monkeypatch, template="never", values=lambda _: None)
    assert render_report(full_inputs) == before


def test_what_a_section_prints_is_escaped(monkeypatch: pytest.MonkeyPatch, full_inputs: ReportInputs) -> None:
    added(monkeypatch, template="{{ text }}", lead="<b>", values=lambda _: {"text": "<script>"})
    document = Document(render_report(full_inputs))
    assert {"script", "b"} & {tag for tag, _ in document.tags} <= {"b"}
    assert "<script>" in document.text


def test_a_section_collects_its_own_aggregates(monkeypatch: pytest.MonkeyPatch, full_inputs: ReportInputs) -> None:
    added(
        monkeypatch,
        template="{{ least }} of {{ rows }}",
        values=lambda inputs: inputs.collected.get("extra"),
        collect=lambda run, smallest: {"rows": len(run.train), "least": smallest},
    )

    class Run:
        train = range(77)

    monkeypatch.setattr(sections, "SECTIONS", [one for one in sections.SECTIONS if one.anchor == "extra"])

    collected = sections.collect_sections(Run(), 5)  # type: ignore[arg-type]
    assert collected == {"extra": {"rows": 77, "least": 5}}
    assert "5 of 77" in render_report(replace(full_inputs, collected=collected))
    assert "5 of 77" not in render_report(full_inputs)


def test_what_was_checked_again_is_a_sentence_and_no_object_of_the_program(full_inputs: ReportInputs) -> None:
    assert full_inputs.anonymization is not None
    pycanon = {"measured": {"k": 5.0}, "agrees": {"k": True}, "classes": 117, "of": 120, "not_asked": []}
    model = {"name": "distinct 2-diversity of 'icd10'", "reached": 4.0, "threshold": 2.0, "holds": True}
    for verified, there, absent in (
        ({"k": 5, "models": [model], "pycanon": pycanon}, "agrees on 117 of 120 classes.", "pycanon ="),
        ({"k": 5, "models": [], "pycanon": {"skipped": "pycanon is not installed"}}, "k = 5.", "models asked for"),
    ):
        inputs = replace(full_inputs, anonymization=full_inputs.anonymization | {"verified": verified})
        text = Document(render_report(inputs)).text
        assert "Checked again on the finished table, apart from the search: k = 5." in text
        assert there in text and absent not in text and "{'" not in text and "= [" not in text
