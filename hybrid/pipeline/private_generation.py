"""Generation of a differentially private table, and the account that pays its draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd
import pyarrow.fs as pafs

from hybrid.base.arrays import Array
from hybrid.base.hashing import fingerprint
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.hierarchy.load import listed_values
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.stages import SYNTHESIZE
from hybrid.privacy.accounting import Budget, BudgetPart
from hybrid.privacy.domain import KnownColumn, NumberDomain
from hybrid.privacy.plan import EncodedTable, encode_table, price_of_draw
from hybrid.publication.key import data_tag, release_key
from hybrid.publication.policy import Policy
from hybrid.publication.privacy_account import PEOPLE, Account, Payment
from hybrid.publication.private_words import unit_words
from hybrid.synthesize.fitted import blamed_on
from hybrid.synthesize.protocol import AccountedModel, Encoded, Feature
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.files import File

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun

T = TypeVar("T")


def account_of(config: RunConfig, policy: Policy, private_dir: Path, content: str | None = None) -> Account:
    """Open the account of a configuration; no record is read.

    Draws add up with all others about the same people: those of the same name (``privacy.people``, else ``name``), of
    the same file or query, and of the same content.

    ``content`` is the fingerprint of the records, where they were read already.
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


def account_of_run(run: TableRun, content: str | None = None) -> Account | None:
    """Account that pays the draw of a run; None without budget or ledger.

    ``content``: fingerprint of the records, once they were read.
    """
    if run.config.privacy is None or run.ledger_dir is None:
        return None
    return account_of(run.config, run.policy, run.ledger_dir, content)


def refuse_spent(run: TableRun) -> None:
    """Refuse a draw beyond the yearly budget before anything is read.

    As :meth:`hybrid.pipeline.pipeline.Pipeline.refuse_spent`.
    """
    account = account_of_run(run)
    if account is not None:
        account.refuse_spent(lambda draw: run.store.entry(SYNTHESIZE.name, draw) is not None)


def _whole(file: File) -> str:
    """Place of a file that does not depend on the working directory."""
    return str(Path(file.path).resolve()) if isinstance(file.filesystem, pafs.LocalFileSystem) else file.name


def paid(account: Account | None, draw: str, store: Callable[[Callable[[], T]], T], compute: Callable[[], T]) -> T:
    """Give a drawn table that was paid, from the store or computed.

    Without an account (tables that hold no real record, and trainings within an evaluation) nothing is paid. ``store``
    gives the kept or the drawn table, from a function that draws.
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


def drawn_privately(
    config: RunConfig, train: Table, listed: Mapping[str, Array], seed: int, progress: Progress
) -> Generated:
    """Draw a table that is differentially private.

    Of each person, ``train`` has at most ``data.max_rows`` records. Rows without a person could be anybody's and are
    left out. ``seed`` is the source of everything but the noise, which no seed repeats.
    """
    options = config.privacy
    assert options is not None
    people = train.take(train.persons >= 0)
    most = config.data.max_rows or 1
    coded = encode_table(people, options, listed, most)
    model = _learned(config, coded, most, seed, progress)
    asked = config.synthesize.rows
    n_rows = coded.n_rows if isinstance(asked, str) else asked
    with blamed_on(config.synthesize.generator, "draw"):
        states = model.draw(n_rows, int(rng_for(seed, "private rows").integers(np.iinfo(np.int32).max))).rows
    spent = (*coded.parts, *(BudgetPart(name, rho) for name, rho in model.spent.items()))
    budget = Budget(options.epsilon, options.delta, most, spent)
    return Generated(_table(coded, states, seed), budget=budget)


def _learned(config: RunConfig, coded: EncodedTable, most: int, seed: int, progress: Progress) -> AccountedModel:
    generator, own = config.synthesize.engine, config.synthesize.resolve()
    features = [
        Feature(
            domain.column.name,
            domain.size,
            ordered=isinstance(domain, NumberDomain),
            missing=True,
            target=domain.column.target,
            public=True,
        )
        for domain in coded.domains
    ]
    own = own.model_copy(update={"rho": coded.rho, "rows_per_person": most})
    with blamed_on(generator.name, "learn"):
        model = generator.learn(Encoded(features, coded.columns), own, seed, progress)
    assert isinstance(model, AccountedModel)
    return model


def _table(coded: EncodedTable, states: Sequence[Array], seed: int) -> Table:
    rng = rng_for(seed, "private values")
    drawn = zip(coded.domains, states, strict=True)
    frame = pd.DataFrame({domain.column.name: domain.decode(codes, rng) for domain, codes in drawn})
    return Table(frame, Schema(tuple(domain.column for domain in coded.domains)))
