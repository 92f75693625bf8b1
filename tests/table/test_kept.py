"""Options of table as they are promised."""

from __future__ import annotations

from hybrid.table.data_options import DataOptions
from hybrid.table.split import SplitOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept(
        "table_options.json",
        as_text({"DataOptions": DataOptions.model_json_schema(), "SplitOptions": SplitOptions.model_json_schema()}),
    )
