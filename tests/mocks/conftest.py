"""The command line, in a folder of its own."""

from tests.cli.conftest import hybrid

__all__ = ["hybrid"]
