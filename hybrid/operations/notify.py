"""Notices of a night's outcome to other programs."""

from __future__ import annotations

import json
import logging
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from hybrid.base.sentence import sentence

logger = logging.getLogger(__name__)
Outcome = Literal["released", "kept", "waiting", "refused", "stopped", "failed", "interrupted"]
_SECONDS = 10
_OUTCOMES: Mapping[Outcome, str] = {
    "released": "night.outcome.released",
    "kept": "night.outcome.kept",
    "waiting": "night.outcome.waiting",
    "refused": "night.outcome.refused",
    "stopped": "night.outcome.stopped",
    "failed": "night.outcome.failed",
    "interrupted": "night.outcome.interrupted",
}


@dataclass(frozen=True)
class Notice:
    """Outcome of a night. No cell value, no path, no credential."""

    data_set: str
    outcome: Outcome
    message: str
    release: str | None = None
    """Name of the release that is out now."""
    run: str | None = None
    """Name of the run's folder that waits for an approval, or was refused."""
    found: tuple[str, ...] = ()
    """What does not fit in the folder of releases, such as a changed release; empty if all does."""

    @property
    def is_held_back(self) -> bool:
        """True if the gate did not let the night's run out."""
        return self.outcome in ("waiting", "refused")

    def __str__(self) -> str:
        return ". ".join((self.words, *self.found))

    @property
    def words(self) -> str:
        """Outcome and message."""
        outcome = sentence(_OUTCOMES[self.outcome])
        return sentence("night.said", data_set=self.data_set, outcome=outcome, message=self.message)


def post(notice: Notice, url_env: str) -> None:
    """Send a notice as JSON to the URL in an environment variable; a failure is logged and nothing else."""
    url = os.environ.get(url_env, "")
    try:
        if not url.startswith(("https://", "http://")):
            raise ValueError
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(asdict(notice)).encode(), headers)
        with urllib.request.urlopen(request, timeout=_SECONDS):
            pass
    except (OSError, ValueError) as error:
        # The error's text may hold the URL, and the URL a token.
        logger.warning("the webhook of %s was not reached (%s)", url_env, type(error).__name__)
