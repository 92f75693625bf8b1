"""Options of the laboratory as they are promised, and its page as a person has looked at it."""

from __future__ import annotations

from hybrid.lab.plan import LabPlan
from tests.helpers.kept import as_text, assert_kept, figures


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("lab_options.json", as_text({"LabPlan": LabPlan.model_json_schema()}))


def test_figures_are_those_that_were_looked_at(page: str) -> None:
    assert_kept("lab_figures.json", figures(page))
