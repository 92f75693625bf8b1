"""Options of the transition strategies as they are promised."""

from __future__ import annotations

from hybrid.transition import REGISTRY
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    found = {name: strategy.Options.model_json_schema() for name, strategy in REGISTRY.items()}
    assert_kept("transition_options.json", as_text(found))
