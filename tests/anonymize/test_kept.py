"""Options of anonymize as they are promised."""

from __future__ import annotations

from hybrid.anonymize.options import AnonymizeOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("anonymize_options.json", as_text({"AnonymizeOptions": AnonymizeOptions.model_json_schema()}))
