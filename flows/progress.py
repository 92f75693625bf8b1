"""Display in Prefect, which never decides how a run ends; progress of a night with time left."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.exceptions import PrefectException

from hybrid.pipeline.stages import STAGES

logger = logging.getLogger("hybrid.flows")


@contextmanager
def server_may_be_gone(what: str) -> Iterator[None]:
    """Show something; where Prefect's server is gone, the log says so and the run continues."""
    try:
        yield
    except (httpx.HTTPError, PrefectException) as error:
        logger.warning("Prefect's server did not take the %s (%s)", what, type(error).__name__)


STEPS = tuple(stage.name for stage in STAGES)
"""Stages of a single table's run, as its progress names them."""
_EVERY_SECONDS = 2.0
_LEAST_SECONDS = 0.1


class ShownProgress:
    """A :class:`hybrid.base.progress.Progress` that Prefect shows.

    Parameters
    ----------
    key : str
        Of the artifact.
    """

    def __init__(self, key: str) -> None:
        self.steps: Sequence[str] = STEPS
        """Stages of the run, in the order in which they are computed."""
        self.seconds: Mapping[str, float] = {}
        """Seconds of each stage in the latest release; where empty, all stages count alike."""
        self.artifact: UUID | None = None
        self.key = key
        self.current = STEPS[0]
        self._last = 0.0

    def __call__(self, step: str, done: int, total: int | None = None, **values: float) -> None:  # noqa: ARG002
        """Show where the work is, at most every two seconds, except when a stage begins."""
        stage = next((name for name in self.steps if _is_part(step, name)), None)
        begins = stage is not None
        if stage is not None:
            self.current = stage
        elif time.monotonic() - self._last < _EVERY_SECONDS:
            return
        self._last = time.monotonic()
        self._show(step, 0.0 if begins or not total else min(done / total, 1.0))

    def finish(self) -> None:
        """Everything is done."""
        self._write(100.0, "done")

    def _show(self, step: str, share: float) -> None:
        at = self.steps.index(self.current) if self.current in self.steps else 0
        weights = [_LEAST_SECONDS + sum(self._of(name)) for name in self.steps]
        whole = sum(weights)
        done = sum(weights[:at]) + share * weights[at]
        left = f", about {_duration(whole - done)} left by what the last release took" if self.seconds else ""
        self._write(100 * done / whole, f"{step}{left}")

    def _of(self, name: str) -> list[float]:
        return [seconds for stage, seconds in self.seconds.items() if _is_part(stage, name)]

    def _write(self, percent: float, description: str) -> None:
        with server_may_be_gone("progress"):
            if self.artifact is None:
                self.artifact = create_progress_artifact(progress=percent, key=self.key, description=description)
            else:
                update_progress_artifact(self.artifact, progress=percent, description=description)


def _is_part(step: str, stage: str) -> bool:
    """True for a stage and its parts: evaluate-original, evaluate-synthetic, ..."""
    return step == stage or step.startswith(f"{stage}-")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
