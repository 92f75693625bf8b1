"""Options of sample as they are promised."""

from __future__ import annotations

from hybrid.sample.draw import SampleOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("sample_options.json", as_text({"SampleOptions": SampleOptions.model_json_schema()}))
