"""Figures of pages made from fixed inputs are those that a person has looked at."""

from __future__ import annotations

import os

from hybrid.report import ReportInputs, render_report
from tests.report.drawings import KEPT, drawings


def test_figures_are_those_that_were_looked_at(full_inputs: ReportInputs) -> None:
    drawn = drawings(render_report(full_inputs))
    if os.environ.get("REDRAW"):
        KEPT.write_text(drawn, encoding="utf-8")
    assert drawn.count("<svg") > 10
    assert drawn.splitlines() == KEPT.read_text(encoding="utf-8").splitlines()
