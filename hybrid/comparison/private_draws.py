"""Private draws of a comparison: the privacy budget of each table is paid before any of them starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid.base.errors import GateRefused
from hybrid.base.sentence import sentence
from hybrid.comparison.schedule import Planned
from hybrid.pipeline.private_generation import account_of
from hybrid.pipeline.stages import SYNTHESIZE
from hybrid.privacy.accounting import at_most, epsilon_of, rho_for
from hybrid.privacy.plan import KEYS_SHARE
from hybrid.publication.policy import load_policy
from hybrid.store import StorePlace


@dataclass(frozen=True)
class SpentTogether:
    """Budget of all private tables of a plan."""

    tables: int
    """Different private tables that the plan draws."""
    rho: float
    """Upper bound of what they spend, in zero-concentrated differential privacy."""
    epsilon: float
    delta: float
    """What that is, for one person more or less in all of them."""

    @property
    def sentence(self) -> str:
        """Statement for those who run the comparison."""
        return sentence(
            "dp.compared",
            n=self.tables,
            rho=at_most(self.rho, 4),
            epsilon=at_most(self.epsilon, 4),
            delta=at_most(self.delta, 2),
        )


def spent_together(planned: Sequence[Planned]) -> SpentTogether | None:
    """Add up the budgets of a plan's private tables, shared ones once; None where no table is private.

    All are counted as of the same people, an upper bound. rho adds up (Bun and Steinke 2016, Lemma 2.3), and so do the
    deltas of categories that noisy counts find; delta is the sum of the tables' own.
    """
    drawn = {
        each.stages[SYNTHESIZE.name]: each.trial.config.privacy
        for each in planned
        if each.trial.config is not None and each.trial.config.privacy is not None
    }
    if not drawn:
        return None
    budgets = [options for options in drawn.values() if options is not None]
    rho = math.fsum(rho_for(options.epsilon, options.delta) for options in budgets)
    delta = math.fsum(options.delta for options in budgets)
    return SpentTogether(len(budgets), rho, epsilon_of(rho, (1 - KEYS_SHARE) * delta), delta)


def pay_draws(todo: Sequence[Planned], place: StorePlace, work: Path) -> dict[str, str]:
    """Pay every draw under ``privacy.mode: dp`` into the ledger.

    Trials that share a draw pay once, and a draw that the store has and the ledger counts is paid already. One that
    fails has paid; on a cluster, a draw that is repeated after a lost worker is not paid again.

    The ledger lies in ``work``. Gives the reason for each trial, by its key, whose policy's yearly budget is spent.
    """
    refused: dict[str, str] = {}
    drawn: dict[str, str | None] = {}
    for each in todo:
        config = each.trial.config
        if config is None or config.privacy is None:
            continue
        draw = each.stages[SYNTHESIZE.name]
        if draw not in drawn:
            account = account_of(config, load_policy(config.policy_path), work)
            is_kept = place.open().entry(SYNTHESIZE.name, draw) is not None
            try:
                account.settle(draw) if is_kept else account.pay(draw)
                drawn[draw] = None
            except GateRefused as error:
                drawn[draw] = str(error)
        reason = drawn[draw]
        if reason is not None:
            refused[each.key] = reason
    return refused
