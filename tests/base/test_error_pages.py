"""Errors lead to the page of the documentation that explains them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid.base import errors
from hybrid.base.errors import ConfigError, HybridError
from hybrid.cli.console import print_error
from tests.docs.documentation_pages import DOCS


def _classes(base: type[HybridError] = HybridError) -> Iterator[type[HybridError]]:
    for one in base.__subclasses__():
        yield one
        yield from _classes(one)


def test_every_error_of_a_user_names_a_page_that_exists() -> None:
    found = [one for one in _classes() if one.__module__ == errors.__name__]
    assert len(found) > 10
    for one in found:
        is_there = bool(one.page) and (DOCS / one.page).is_file()
        assert is_there or one is errors.OutputError, one.__name__


def test_a_message_ends_with_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(ConfigError("the key is wrong", hint="write it otherwise"))
    assert capsys.readouterr().err.splitlines()[-1].strip() == "read: hybrid help your-table"
    assert not Path(ConfigError.page).is_absolute()
