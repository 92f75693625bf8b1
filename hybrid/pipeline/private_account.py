"""Account that pays the draws of a configuration with ``privacy.mode: dp``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow.fs as pafs

from hybrid.base.hashing import fingerprint
from hybrid.hierarchy.load import listed_values
from hybrid.privacy.domain import KnownColumn
from hybrid.privacy.plan import price_of_draw
from hybrid.publication.key import data_tag, release_key
from hybrid.publication.policy import Policy
from hybrid.publication.privacy_account import PEOPLE, Account, Payment
from hybrid.publication.private_words import unit_words
from hybrid.table import Column, Kind, Role, Schema
from hybrid.table.files import File

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

T = TypeVar("T")


def account_of(config: RunConfig, policy: Policy, private_dir: Path, content: str | None = None) -> Account:
    """Open the account of a configuration; no record is read.

    Draws add up with all others about the same people: those of the same name (``privacy.people``, else ``name``), of
    the same file or query, and of the same content.

    Parameters
    ----------
    config : RunConfig
        With the section ``privacy``.
    policy : Policy
        With the yearly budget.
    private_dir : Path
        The private zone with the ledger.
    content : str, optional
        Fingerprint of the records, where they were read already.
    """
    options = config.privacy
    assert options is not None
    cost = price_of_draw(options, searches=_searches(config))
    sources = [f"{PEOPLE}{options.people or config.name}"]
    if config.frame is None:
        file = config.data_file
        sources.append(f"query {fingerprint(config.data.place)[:16]}" if file is None else f"file {_whole(file)}")
    if content is not None:
        sources.append(f"content {data_tag(release_key(private_dir), {'data_fingerprint': content})}")
    unit = unit_words(config.model_dump(mode="json"))
    payment = Payment("", config.name, unit, "", cost.rho, cost.delta, options.delta)
    return Account(private_dir, tuple(sources), policy.yearly_budget, payment)


def _whole(file: File) -> str:
    """Place of a file that does not depend on the working directory."""
    return str(Path(file.path).resolve()) if isinstance(file.filesystem, pafs.LocalFileSystem) else file.name


def paid(account: Account | None, draw: str, store: Callable[[Callable[[], T]], T], compute: Callable[[], T]) -> T:
    """Give a drawn table that was paid, from the store or computed.

    Parameters
    ----------
    account : Account or None
        None for tables that hold no real record, and trainings within an evaluation.
    draw : str
        Key of the stage that draws.
    store : callable
        From a function that draws to the kept or the drawn table.
    compute : callable
        Draws; called after the payment.
    """
    if account is None:
        return store(compute)

    def after_payment() -> T:
        account.pay(draw)
        return compute()

    found = store(after_payment)
    account.settle(draw)
    return found


def _searches(config: RunConfig) -> bool:
    """True if values of a category must be found in the records."""
    assert config.privacy is not None
    known = config.privacy.columns
    learned = {
        name: column
        for name, column in config.data.columns.items()
        if column.role.is_learned and column.kind is Kind.CATEGORICAL
    }
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.CATEGORICAL) for name in learned))
    listed = listed_values(schema, config.hierarchy_sources)
    return any(known.get(name, KnownColumn()).values is None and name not in listed for name in learned)
