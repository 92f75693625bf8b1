"""Options of the laboratory as they are promised, and its page as a person has looked at it."""

from __future__ import annotations

from hybrid.lab.plan import LabPlan
from hybrid.pipeline.config import RunConfig
from tests.helpers.kept import as_text, assert_kept, figures


def test_options_have_the_stated_defaults_and_limits() -> None:
    form = LabPlan.model_json_schema()
    assert form["$defs"].pop("RetrainOptions") == RunConfig.model_json_schema()["$defs"]["RetrainOptions"]
    assert_kept("lab_options.json", as_text({"LabPlan": form}))


def test_figures_are_those_that_were_looked_at(page: str) -> None:
    assert_kept("lab_figures.json", figures(page))
