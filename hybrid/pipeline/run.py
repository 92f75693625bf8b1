"""Arguments that the run of all tables and that of one have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

from hybrid.base.progress import Progress, silent
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.contradictions import refuse_contradictions
from hybrid.pipeline.seeds import Origin
from hybrid.store import Store

G = TypeVar("G")


class Run(Generic[G]):
    """Configuration that is run, and how.

    Parameters and errors as for :class:`hybrid.pipeline.pipeline.Pipeline`; ``given`` is what was read already.
    """

    def __init__(
        self,
        config: RunConfig,
        seed: int | None = None,
        store: Store | None = None,
        progress: Progress = silent,
        given: G | None = None,
        *,
        judge_power: bool = True,
        origin: Origin | None = None,
        ledger_dir: Path | None = None,
    ) -> None:
        refuse_contradictions(config)
        self.config, self.asked_seed, self.store, self.progress = config, seed, store or Store(None), progress
        self.given, self.judge_power, self.origin, self.ledger_dir = given, judge_power, origin, ledger_dir

    @property
    def seeded(self) -> bool:
        """True if the seed was chosen, not drawn."""
        return self.asked_seed is not None or self.config.seed is not None

    @property
    def given_seed(self) -> int | None:
        """The seed of the earlier run, the asked one, or the config's; None where each run draws one."""
        if self.origin is not None:
            return self.origin.seed
        return self.config.seed if self.asked_seed is None else self.asked_seed
