"""Guess a starter config and starter hierarchies from a table; every guess is marked for review."""

from hybrid.guess.guess import guess_config
from hybrid.guess.write import GuessedConfig

__all__ = ["GuessedConfig", "guess_config"]
