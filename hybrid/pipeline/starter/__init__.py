"""Guess a starter config and starter hierarchies from a table.

Every guess is marked for review.
"""

from hybrid.pipeline.starter.guess_config import guess_config
from hybrid.pipeline.starter.write import GuessedConfig

__all__ = ["GuessedConfig", "guess_config"]
