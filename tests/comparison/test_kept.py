"""Options of comparison as they are promised."""

from __future__ import annotations

from hybrid.comparison.plan import ComparePlan
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("comparison_options.json", as_text({"ComparePlan": ComparePlan.model_json_schema()}))
