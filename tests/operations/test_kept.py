"""Options of operations as they are promised."""

from __future__ import annotations

from hybrid.operations.deliver import DeliverOptions
from hybrid.operations.drift import DriftOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept(
        "operations_options.json",
        as_text(
            {"DriftOptions": DriftOptions.model_json_schema(), "DeliverOptions": DeliverOptions.model_json_schema()}
        ),
    )
