"""Guess a starter config and hierarchies from a table or linked tables; every guess is marked for review."""

from hybrid.pipeline.starter.guess_config import guess_config, guess_frame
from hybrid.pipeline.starter.linked import GuessedLinks, guess_links
from hybrid.pipeline.starter.reading import read_database, read_folder
from hybrid.pipeline.starter.write import GuessedConfig

__all__ = [
    "GuessedConfig",
    "GuessedLinks",
    "guess_config",
    "guess_frame",
    "guess_links",
    "read_database",
    "read_folder",
]
