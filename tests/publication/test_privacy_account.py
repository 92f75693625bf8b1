"""The ledger adds up what private draws spend, and refuses beyond the policy's yearly budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.base.errors import GateRefused
from hybrid.privacy.accounting import delta_of, epsilon_of, rho_for
from hybrid.publication.ledger import Ledger
from hybrid.publication.policy import DEFAULT_BUDGET, YearlyBudget, load_policy
from hybrid.publication.privacy_account import Account, PaidDraws, Payment

PRICE = Payment("", "clinic", "person: id", "", rho_for(1.0, 1e-6), 0.0, 1e-6)
LIMIT = YearlyBudget(rho=3.5 * PRICE.rho)
NOW = datetime.now(UTC)


def account(work: Path, limit: YearlyBudget | None = LIMIT, *sources: str, price: Payment = PRICE) -> Account:
    return Account(work, sources or ("people clinic",), limit, price)


def paid_before(work: Path, days: float, source: str = "people clinic") -> None:
    at = (NOW - timedelta(days=days)).isoformat(timespec="seconds")
    PaidDraws(work).pay(replace(PRICE, at=at, draw=f"{days}"), [source], lambda *_: None)


def test_draws_are_counted_until_the_budget_is_spent(tmp_path: Path) -> None:
    one = account(tmp_path)
    for draw in "abc":
        one.pay(draw)
    with pytest.raises(GateRefused) as refused:
        one.pay("d")
    (problem,) = refused.value.problems
    assert "3 draws spent rho" in problem.message
    assert f"rho = {0.5 * PRICE.rho:.4g}" in problem.message
    free = (datetime.now(UTC) + timedelta(days=365)).date().isoformat()
    assert f"Enough is free again on {free}" in problem.message
    assert len(PaidDraws(tmp_path).payments("people clinic")) == 3
    assert Ledger(tmp_path).events()[-1].outcome == "refused"


def test_a_draw_is_free_again_after_365_days(tmp_path: Path) -> None:
    for days in (366, 300, 200, 100):
        paid_before(tmp_path, days)
    with pytest.raises(GateRefused) as refused:
        account(tmp_path).pay("now")
    free = (NOW - timedelta(days=300) + timedelta(days=365)).date().isoformat()
    assert f"3 draws spent rho = {3 * PRICE.rho:.4g}" in str(refused.value)
    assert f"Enough is free again on {free}" in str(refused.value)
    other = account(tmp_path / "other")
    for days in (366, 365.1, 400):
        paid_before(tmp_path / "other", days)
    other.pay("now")


def test_payments_of_a_clock_ahead_count(tmp_path: Path) -> None:
    for days in (-30, -20, -10):
        paid_before(tmp_path, days)
    with pytest.raises(GateRefused):
        account(tmp_path).pay("now")


def test_single_draw_beyond_the_budget_is_said_to_be_never_free(tmp_path: Path) -> None:
    with pytest.raises(GateRefused, match="A single draw costs more than a year allows"):
        account(tmp_path, YearlyBudget(epsilon=0.9, delta=1e-6)).pay("a")
    assert PaidDraws(tmp_path).payments("people clinic") == []


@pytest.mark.parametrize("shared", ["people clinic", "file /data/p.csv", "content 12ab"])
def test_each_name_of_a_source_is_an_account(tmp_path: Path, shared: str) -> None:
    for draw in "abc":
        account(tmp_path, LIMIT, f"people {draw}", shared).pay(draw)
    with pytest.raises(GateRefused):
        account(tmp_path, LIMIT, "people new", "file new", shared).pay("d")
    account(tmp_path, LIMIT, "people new", "file new").pay("d")


def test_processes_at_once_cannot_overspend(tmp_path: Path) -> None:
    def attempt(draw: int) -> bool:
        try:
            account(tmp_path).pay(str(draw))
        except GateRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 3


def test_kept_draw_is_paid_once_and_not_refused_early(tmp_path: Path) -> None:
    one = account(tmp_path, YearlyBudget(rho=PRICE.rho))
    one.refuse_spent(lambda _: False)
    one.pay("a")
    one.settle("a")
    with pytest.raises(GateRefused):
        one.settle("b")
    one.refuse_spent(lambda draw: draw == "a")
    with pytest.raises(GateRefused):
        one.refuse_spent(lambda _: False)
    assert len(PaidDraws(tmp_path).payments("people clinic")) == 1


def test_without_a_limit_draws_are_counted_alone(tmp_path: Path) -> None:
    for draw in range(5):
        account(tmp_path, None).pay(str(draw))
    (spent,) = PaidDraws(tmp_path).spent(NOW)
    assert (spent.people, spent.unit, spent.draws, spent.draws_of_the_year) == ("clinic", "person: id", 5, 5)
    assert spent.rho == pytest.approx(5 * PRICE.rho)
    assert spent.delta == pytest.approx(5e-6)
    assert spent.epsilon == pytest.approx(epsilon_of(5 * PRICE.rho, 5e-6))


def test_units_are_stated_each_for_itself_and_share_the_limit(tmp_path: Path) -> None:
    rows = replace(PRICE, unit="each row is another person")
    account(tmp_path).pay("a")
    account(tmp_path, price=rows).pay("b")
    paid_before(tmp_path, 500)
    found = {spent.unit: (spent.draws, spent.draws_of_the_year) for spent in PaidDraws(tmp_path).spent(NOW)}
    assert found == {"person: id": (2, 1), "each row is another person": (1, 1)}
    account(tmp_path).pay("c")
    with pytest.raises(GateRefused):
        account(tmp_path, price=rows).pay("d")


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1e-6)), max_size=6),
    st.floats(0.1, 10),
    st.floats(1e-7, 1e-4),
)
def test_what_is_allowed_is_within_epsilon_and_delta(
    parts: list[tuple[float, float]], epsilon: float, delta: float
) -> None:
    rho, beside = sum(part[0] for part in parts), sum(part[1] for part in parts)
    limit = YearlyBudget(epsilon=epsilon, delta=delta)
    assert limit.allows(rho, beside) == (beside + delta_of(rho, epsilon) <= delta * (1 + 1e-9))
    left = limit.left(rho, beside)
    if left > 1e-9:
        assert limit.allows(rho + left * (1 - 1e-9), beside)
        assert not limit.allows(rho + left * 1.001 + 1e-9, beside)


def test_limit_is_one_of_epsilon_and_rho() -> None:
    for wrong in ({}, {"epsilon": 1, "rho": 0.1}):
        with pytest.raises(ValidationError, match="one of both"):
            YearlyBudget.model_validate(wrong)


def test_policy_has_a_safe_default_that_changes_no_fingerprint_and_others_do() -> None:
    policy = load_policy()
    assert policy.yearly_budget == DEFAULT_BUDGET
    assert DEFAULT_BUDGET.allows(rho_for(1.0, 1e-6), 1e-7)
    other = policy.model_copy(update={"yearly_budget": YearlyBudget(epsilon=2)})
    none = policy.model_copy(update={"yearly_budget": None})
    assert len({policy.sha256, other.sha256, none.sha256}) == 3
