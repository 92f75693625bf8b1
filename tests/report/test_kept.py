"""Pages made from fixed inputs are those that a person has looked at."""

from __future__ import annotations

import re

from hybrid.report import ReportInputs, render_report
from tests.helpers.kept import assert_kept


def test_figures_and_words_are_those_that_were_looked_at(full_inputs: ReportInputs) -> None:
    page = render_report(full_inputs)
    body = page[page.index("<body") :]
    assert body.count("<svg") > 10
    lines = re.sub(r"\s+", " ", body).replace("> <", "><").replace("><", ">\n<")
    assert_kept("report_page.html", lines)
