"""Options of a run configuration as they are promised."""

from __future__ import annotations

from hybrid.pipeline.config import RunConfig
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("run_config.json", as_text(RunConfig.model_json_schema()))
