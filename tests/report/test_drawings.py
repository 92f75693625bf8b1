"""Figures of pages made from fixed inputs are those that a person has looked at."""

from __future__ import annotations

import re

from hybrid.report import ReportInputs, render_report
from tests.helpers.kept import assert_kept


def test_figures_are_those_that_were_looked_at(full_inputs: ReportInputs) -> None:
    figures = re.findall(r"<svg\b.*?</svg>", render_report(full_inputs), re.DOTALL)
    assert len(figures) > 10
    assert_kept("figures.txt", "".join(re.sub(r"\s+", " ", figure) + "\n" for figure in figures))
