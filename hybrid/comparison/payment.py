"""Payment of a comparison's private draws, before any of them starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid.base.errors import GateRefused
from hybrid.comparison.schedule import Planned
from hybrid.pipeline.private_account import account_of
from hybrid.pipeline.stages import SYNTHESIZE
from hybrid.publication.policy import load_policy
from hybrid.store import StorePlace


def pay_draws(todo: Sequence[Planned], place: StorePlace, work: Path) -> dict[str, str]:
    """Pay every draw under ``privacy.mode: dp`` into the ledger.

    Trials that share a draw pay once, and a draw that the store has and the ledger counts is paid already. One that
    fails has paid; on a cluster, a draw that is repeated after a lost worker is not paid again.

    Parameters
    ----------
    todo : sequence of Planned
        Trials that will run.
    place : StorePlace
        Store of stage results.
    work : Path
        The private zone with the ledger.

    Returns
    -------
    dict of str to str
        Reason for each trial, by its key, whose policy's yearly budget is spent.
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
