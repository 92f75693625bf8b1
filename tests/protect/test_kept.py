"""Options of protect as they are promised."""

from __future__ import annotations

from hybrid.protect.options import ProtectOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    assert_kept("protect_options.json", as_text({"ProtectOptions": ProtectOptions.model_json_schema()}))
