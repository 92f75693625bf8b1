"""Options of linked tables as they are promised."""

from __future__ import annotations

from hybrid.pipeline.links import LinkOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("links_options.json", as_text({"LinkOptions": LinkOptions.model_json_schema()}))
