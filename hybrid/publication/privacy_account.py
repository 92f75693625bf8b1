"""Account of all private draws about the same people.

A draw is paid before its first noisy answer, with all that it may spend, and nothing is given back: a draw that is
refused by the gate, fails, is interrupted or withdrawn has paid. Draws add up in rho of zero-concentrated differential
privacy (:mod:`hybrid.privacy.accounting`). Check and payment are one transaction, so two processes cannot overspend.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base.errors import GateRefused, Problem
from hybrid.base.sentence import sentence
from hybrid.privacy.accounting import epsilon_of
from hybrid.publication.ledger import Ledger
from hybrid.publication.policy import YEAR, YearlyBudget


@dataclass(frozen=True)
class Payment:
    """Payment of one draw: the most that it may spend."""

    at: str
    """When it was paid: UTC, ISO 8601."""
    data_set: str
    """Name of the configuration."""
    unit: str
    """Whose presence the draw protects, in words."""
    draw: str
    """Key of the stage that draws."""
    rho: float
    delta: float
    """zCDP, and the delta that is spent beside it."""
    stated_delta: float
    """Delta of the draw's own statement, that of rho included."""


@dataclass(frozen=True)
class SpentBudget:
    """Sum of the draws about the same people, for one protected unit.

    Parameters
    ----------
    people, unit : str
        Whose budget it is, and the unit.
    draws, draws_of_the_year : int
        All draws, and those of the last 365 days.
    rho, epsilon, delta : float
        Of all draws together: sum of rho, and the statement (epsilon, delta) that it gives; delta is the sum of the
        deltas that the draws state.
    rho_of_the_year, epsilon_of_the_year, delta_of_the_year : float
        The same of the last 365 days.
    """

    people: str
    unit: str
    draws: int
    rho: float
    epsilon: float
    delta: float
    draws_of_the_year: int
    rho_of_the_year: float
    epsilon_of_the_year: float
    delta_of_the_year: float


class PaidDraws(Ledger):
    """Payments in the ledger of a private zone."""

    def pay(
        self, payment: Payment, sources: Sequence[str], check: Callable[[str, list[Payment]], Problem | None]
    ) -> None:
        """Enter a payment unless one of its sources has spent too much.

        Parameters
        ----------
        check : callable
            From a source and its payments to the reason for a refusal, or None.

        Raises
        ------
        GateRefused
            One of the reasons; nothing is entered.
        """
        with self._connected() as database:
            for source in sources:
                problem = check(source, _of(database, source))
                if problem is not None:
                    raise GateRefused(problem)
            name = secrets.token_hex(16)
            row = (name, payment.at, payment.data_set, payment.unit, payment.draw)
            spent = (payment.rho, payment.delta, payment.stated_delta)
            database.execute("INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, *spent))
            database.executemany("INSERT INTO payers VALUES (?, ?)", [(name, source) for source in sources])

    def payments(self, source: str) -> list[Payment]:
        with self._connected() as database:
            return _of(database, source)

    def is_paid(self, draw: str) -> bool:
        with self._connected() as database:
            return database.execute("SELECT 1 FROM payments WHERE draw = ?", (draw,)).fetchone() is not None

    def spent(self, now: datetime) -> list[SpentBudget]:
        """Sums of all people and units; ``now`` has a time zone."""
        with self._connected() as database:
            rows = database.execute("SELECT DISTINCT source FROM payers ORDER BY source").fetchall()
            known = [row["source"] for row in rows if row["source"].startswith(PEOPLE)]
            found = {source: _of(database, source) for source in known}
        return [
            _sum(source.removeprefix(PEOPLE), unit, [one for one in payments if one.unit == unit], now)
            for source, payments in found.items()
            for unit in dict.fromkeys(one.unit for one in payments)
        ]


PEOPLE = "people "
"""Beginning of the names of sources that stand for declared people."""


@dataclass(frozen=True)
class Account:
    """Account from which the draws of one configuration are paid."""

    private_dir: Path
    """The private zone with the ledger."""
    sources: tuple[str, ...]
    """Names under which its draws add up with others: the people, the place of the records, their content."""
    limit: YearlyBudget | None
    """Of the policy; None: draws are counted and never refused."""
    price: Payment
    """What one draw may spend; without time and key."""

    def pay(self, draw: str) -> None:
        """Pay a draw before it reads records.

        Raises
        ------
        GateRefused
            The policy's yearly budget of a source does not allow it; nothing is paid.
        """
        now = datetime.now(UTC)
        price = self._of(draw, now)
        try:
            self._paid.pay(price, self.sources, lambda source, before: self._problem(source, before, now))
        except GateRefused as refused:
            self._paid.note(price.data_set, "refused", refused.problems[0].message)
            raise

    def settle(self, draw: str) -> None:
        """Pay a draw that a store kept and this ledger lacks; errors as for :meth:`pay`."""
        if not self._paid.is_paid(draw):
            self.pay(draw)

    def refuse_spent(self, is_kept: Callable[[str], bool]) -> None:
        """Refuse a further draw before anything is read.

        Parameters
        ----------
        is_kept : callable
            Whether a store has the table of a draw, which then need not be paid again.
        """
        now = datetime.now(UTC)
        for source in self.sources:
            before = self._paid.payments(source)
            problem = self._problem(source, before, now)
            if problem is not None and not any(is_kept(payment.draw) for payment in before):
                self._paid.note(self.price.data_set, "refused", problem.message)
                raise GateRefused(problem)

    @property
    def _paid(self) -> PaidDraws:
        return PaidDraws(self.private_dir)

    def _of(self, draw: str, now: datetime) -> Payment:
        price = self.price
        spent = (price.rho, price.delta, price.stated_delta)
        return Payment(now.isoformat(timespec="seconds"), price.data_set, price.unit, draw, *spent)

    def _problem(self, source: str, before: Sequence[Payment], now: datetime) -> Problem | None:
        limit, price = self.limit, self.price
        counted = _recent(before, now)
        if limit is None or _allows(limit, [*counted, price]):
            return None
        rho, delta = _total(counted)
        left = limit.left(rho, delta + price.delta)
        small = max(price.stated_delta - price.delta, limit.delta * 1e-3)
        free = _free_again(limit, counted, price)
        said = sentence(
            "dp.yearly",
            source=source,
            limit=limit.words,
            n=len(counted),
            spent=f"{rho:.4g}",
            left=f"{left:.4g}",
            epsilon=f"{epsilon_of(left, small):.3g}",
            delta=f"{small:.2g}",
            price=f"{price.rho:.4g}",
            when=sentence("dp.yearly.never") if free is None else sentence("dp.yearly.free", day=free),
        )
        return Problem(
            said,
            "wait, lower privacy.epsilon, or let the policy's owner raise yearly_budget; without sight of the records",
        )


def _allows(limit: YearlyBudget, payments: Sequence[Payment]) -> bool:
    return limit.allows(*_total(payments))


def _total(payments: Sequence[Payment]) -> tuple[float, float]:
    return math.fsum(one.rho for one in payments), math.fsum(one.delta for one in payments)


def _recent(payments: Sequence[Payment], now: datetime) -> list[Payment]:
    """Payments of the last 365 days, and those dated later than now."""
    return [one for one in payments if datetime.fromisoformat(one.at) > now - YEAR]


def _free_again(limit: YearlyBudget, counted: Sequence[Payment], price: Payment) -> str | None:
    """Day (UTC, ISO 8601) on which a draw is allowed again if none is made until then; None: never."""
    ordered = sorted(counted, key=lambda one: one.at)
    for at, gone in enumerate(ordered, 1):
        if _allows(limit, [*ordered[at:], price]):
            return (datetime.fromisoformat(gone.at) + YEAR).date().isoformat()
    return None


def _sum(people: str, unit: str, payments: Sequence[Payment], now: datetime) -> SpentBudget:
    recent = _recent(payments, now)
    return SpentBudget(people, unit, len(payments), *_statement(payments), len(recent), *_statement(recent))


def _statement(payments: Sequence[Payment]) -> tuple[float, float, float]:
    rho, beside = _total(payments)
    delta = math.fsum(one.stated_delta for one in payments)
    return rho, epsilon_of(rho, delta - beside) if payments else 0.0, delta


def _of(database: sqlite3.Connection, source: str) -> list[Payment]:
    columns = "at, data_set, unit, draw, rho, delta, stated_delta"
    joined = f"SELECT {columns} FROM payments JOIN payers USING (payment) WHERE source = ? ORDER BY payments.rowid"
    return [Payment(**row) for row in database.execute(joined, (source,)).fetchall()]
