"""Actions on an unmet check that the desk makes buttons: one changed setting, and a new run.

Only settings that protect people no less are offered so. What protects less, such as a smaller k, a person changes by
hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import RunConfig
from hybrid.publication.actions import Action
from hybrid.publication.verdict import Check


def remedies_of(check: Check, config: RunConfig) -> Iterator[Action]:
    """Actions of a check that change the configuration as it is now, which people may have edited since the run."""
    yield from (one for one in check.actions if one.known and one.protects and changes(config, one))


def changes(config: RunConfig, action: Action) -> bool:
    """True where a configuration differs once the action is taken, and is still one."""
    try:
        changed = config.with_values({action.key: action.value})
    except ConfigError:
        return False
    return changed.model_dump(mode="json") != config.model_dump(mode="json")
