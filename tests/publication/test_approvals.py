"""Two people are two people: names, accounts, keys, expiry, and what does not count as an approval."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ConfigError, GateRefused, VerificationError
from hybrid.base.os_account import CHOSEN
from hybrid.evaluation.measure import Evaluation
from hybrid.publication import approvals
from hybrid.publication.approvals import NAMESPACE, read_signed, write_statement
from hybrid.publication.approvers import unproven_problem
from hybrid.publication.ledger import LEDGER, Ledger
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.publish import publish
from hybrid.publication.verify import verify

RunMaker = Callable[..., Path]
SPELLINGS = [
    ("Ada Lovelace", "Ada  Lovelace"),
    ("Ada", "A. Lovelace"),
    ("Ada", "Аda"),
    ("Ada", "Ada\u200b"),
    ("Ada", "Ada\u202e"),
    ("José", "José"),
    ("Ada", "[bold]Ada[/]"),
    ("Ada", "ADA"),
]
"""The eight spellings of the review, seven of which were two people."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bob", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    return {name: folder / name for name in ("ada", "bob", "eve")}


def public(key: Path) -> str:
    return key.with_suffix(".pub").read_text()


def sign(key: Path, file: Path, namespace: str = NAMESPACE) -> Path:
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace, str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


@pytest.fixture
def waiting(make_run: RunMaker, policy: Policy, evaluation: Callable[..., Evaluation]) -> Callable[..., Path]:
    """Run for review under the policy with other approval rules."""

    def make(name: str = "run", ran_by: str | None = "night@server", **rules: Any) -> Path:
        judged_by = Policy.model_validate(policy.model_dump() | rules)
        return make_run(name, measured=evaluation(copies=0.0017), judged_by=judged_by, ran_by=ran_by)

    return make


@pytest.fixture
def give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def given(run: Path, by: str = "", account: str = "ada@ward", **options: Any) -> Path:
        monkeypatch.setattr(approvals, "account", lambda: account)
        reason = options.pop("reason", "rare rows looked at")
        return publish(
            run, tmp_path / "releases", tmp_path / "work", accept_review=True, by=by, reason=reason, **options
        )

    return given


@pytest.fixture
def roster(keys: dict[str, Path]) -> list[dict[str, Any]]:
    ada = {"name": "Ada Lovelace", "key": public(keys["ada"]), "accounts": ["ada@ward"]}
    return [ada, {"name": "Bob", "key": public(keys["bob"])}]


def statement(tmp_path: Path, run: Path, by: str, days_ago: float = 0) -> Path:
    file = tmp_path / f"{by.split()[0]}.json"
    write_statement(file, run, by, "rare rows looked at", datetime.now(UTC) - timedelta(days=days_ago))
    return file


def released(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "releases").glob("2*"))


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_no_spelling_makes_two_people_of_one(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, one: str, other: str
) -> None:
    run = waiting(approvals=2)
    with pytest.raises(GateRefused, match="2 different people to decide; 1 accepted so far"):
        give(run, one)
    with pytest.raises((GateRefused, VerificationError, ConfigError)):
        give(run, other)
    assert released(tmp_path) == []


def test_two_people_with_two_accounts_are_two(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path
) -> None:
    run = waiting(approvals=2)
    with pytest.raises(GateRefused, match="1 accepted so far"):
        give(run, "Ada")
    with pytest.raises(VerificationError, match="Ada approved from the same account"):
        give(run, "Bob")
    release = give(run, "Bob", account="bob@ward")
    found = json.loads((release / "certificate.json").read_text())["acceptances"]
    assert [accepted["by"] for accepted in found] == ["Ada", "Bob"]
    proof = "not proven: the name as it was given; two accounts of one machine prove no second person"
    assert {accepted["proof"] for accepted in found} == {proof}
    assert "ward" not in (release / "certificate.json").read_text()
    assert verify(release) == []


@pytest.mark.parametrize("ran_by", ["ada@ward", None])
def test_who_ran_it_does_not_approve_it(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, ran_by: str | None
) -> None:
    run = waiting(ran_by=ran_by, separate_duties=True)
    with pytest.raises(VerificationError, match="the account that ran it"):
        give(run, "Ada")
    assert released(tmp_path) == []


def test_one_person_alone_where_the_policy_says_so(waiting: Callable[..., Path], give: Callable[..., Path]) -> None:
    assert give(waiting(ran_by="ada@ward"), "Ada").is_dir()


@pytest.mark.parametrize(("ran_by", "by"), [("night@server", f"www@ward{CHOSEN}"), (f"root@c1{CHOSEN}", "ada@ward")])
@pytest.mark.parametrize("rules", [{"approvals": 2}, {"separate_duties": True}])
def test_accounts_that_everybody_may_choose_separate_nobody(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, ran_by: str, by: str, rules: dict[str, Any]
) -> None:
    run = waiting(ran_by=ran_by, **rules)
    with pytest.raises(VerificationError, match="inside a user namespace") as caught:
        give(run, "Ada", account=by)
    assert "separate_duties: false" in caught.value.problems[0].hint
    assert released(tmp_path) == []
    assert give(waiting("alone", ran_by=ran_by, separate_duties=False), "Ada", account=by).is_dir()


def test_a_person_on_the_roster_does_not_approve_what_nobody_knows_who_ran(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, keys: dict[str, Path],
    roster: list[dict[str, Any]],
) -> None:  # fmt: skip
    run = waiting(ran_by=f"root@c1{CHOSEN}", approvers=roster)
    mine = read_signed(sign(keys["ada"], statement(tmp_path, run, "Ada Lovelace")))
    with pytest.raises(VerificationError, match="it was run inside a user namespace"):
        give(run, signed=mine)


def test_a_policy_that_wants_signatures_and_names_nobody_accepts_nobody(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path
) -> None:
    run = waiting(signed_approvals=True)
    with pytest.raises(ConfigError, match="names no approvers, so that nobody can accept a review"):
        give(run, "Ada")
    with pytest.raises(GateRefused, match="the policy wants signed approvals, and names no approvers"):
        publish(run, tmp_path / "releases", tmp_path / "work")
    assert released(tmp_path) == []


def test_packaged_policies_want_two_people_only_by_their_keys() -> None:
    for path in packaged_policies().values():
        policy = load_policy(path)
        assert policy.approvals == 1 or policy.signed_approvals, path.stem
        said = unproven_problem(policy.approvers, policy.approvals, policy.signed_approvals)
        assert (said is None) == (policy.approvals == 1)
    assert load_policy(packaged_policies()["hospital"]).approvals == 2
    said = unproven_problem((), 3, False)
    assert said is not None and "one person with 3 accounts" in said.message


def test_a_policy_is_the_same_as_before_there_were_signed_approvals(policy: Policy) -> None:
    content = policy.model_dump(mode="json")
    assert content.pop("signed_approvals") is False
    assert Policy.model_validate(content).sha256 == policy.sha256
    assert policy.model_copy(update={"signed_approvals": True}).sha256 != policy.sha256


def test_an_approval_expires_also_with_the_clock_set_back(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path
) -> None:
    run = waiting(approvals=2, approval_days=2)
    with pytest.raises(GateRefused, match="1 accepted so far"):
        give(run, "Ada")
    ledger = Ledger(tmp_path / "work")
    now = datetime.now(UTC)
    finished = approvals.read_run(run)
    assert len(approvals.accepted(finished, ledger, now + timedelta(days=1))) == 1
    assert approvals.accepted(finished, ledger, now + timedelta(days=3)) == ()
    import sqlite3

    with sqlite3.connect(tmp_path / "work" / LEDGER) as database:
        later = (now + timedelta(days=3)).isoformat()
        database.execute("INSERT INTO events VALUES ('adult', ?, 'kept', '')", (later,))
    assert approvals.accepted(finished, ledger, now) == ()


def test_signed_approvals_of_two_people_on_the_roster(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, keys: dict[str, Path],
    roster: list[dict[str, Any]],
) -> None:  # fmt: skip
    run = waiting(approvals=2, approvers=roster)
    with pytest.raises(ConfigError, match="signed approvals only, of Ada Lovelace, Bob"):
        give(run, "Ada Lovelace")
    first = read_signed(sign(keys["ada"], statement(tmp_path, run, "Ada Lovelace")))
    for _ in range(2):  # one person, however often
        with pytest.raises(GateRefused, match="1 accepted so far"):
            give(run, signed=first)
    release = give(run, signed=read_signed(sign(keys["bob"], statement(tmp_path, run, "Bob"))))
    found = json.loads((release / "certificate.json").read_text())["acceptances"]
    assert {accepted["proof"].partition(":")[0] for accepted in found} == {"signed by key SHA256"}
    shown = subprocess.run(["ssh-keygen", "-l", "-f", f"{keys['ada']}.pub"], capture_output=True, text=True, check=True)
    assert found[0]["proof"].removeprefix("signed by key ") in shown.stdout
    assert verify(release) == []


def test_what_is_no_signed_approval(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, keys: dict[str, Path],
    roster: list[dict[str, Any]],
) -> None:  # fmt: skip
    roster[1]["until"] = "2020-01-01"
    run = waiting(approvers=roster)
    other = waiting("other", approvers=roster, approvals=2)

    def refused(signed: Any, match: str, **options: Any) -> None:
        with pytest.raises((VerificationError, ConfigError), match=match):
            give(run, signed=signed, **options)
        assert released(tmp_path) == []

    mine = read_signed(sign(keys["ada"], statement(tmp_path, run, "Ada Lovelace")))
    by_eve = read_signed(sign(keys["eve"], statement(tmp_path / "eve", run, "Ada Lovelace")))
    refused(by_eve, "made with another key")
    refused(approvals.SignedStatement(mine.statement, by_eve.signature), "made with another key")
    refused(approvals.SignedStatement(mine.statement.replace("rare", "bare"), mine.signature), "was changed")
    refused(approvals.SignedStatement(mine.statement, mine.signature.replace("A", "B", 3)), "damaged|not fit")
    refused(approvals.SignedStatement(mine.statement, "no signature"), "not a signature by ssh-keygen")
    refused(approvals.SignedStatement("[]", mine.signature), "not the statement of an approval")
    purpose = sign(keys["ada"], statement(tmp_path / "git", run, "Ada Lovelace"), "git")
    refused(read_signed(purpose), "for another purpose")
    of_other = sign(keys["ada"], statement(tmp_path / "other", other, "Ada Lovelace"))
    refused(read_signed(of_other), "about something else: run and policy")
    refused(read_signed(sign(keys["bob"], statement(tmp_path, run, "Bob"))), "until 2020-01-01")
    refused(read_signed(sign(keys["eve"], statement(tmp_path, run, "Eve"))), "roster does not name")
    old = sign(keys["ada"], statement(tmp_path / "old", run, "Ada Lovelace", days_ago=31))
    refused(read_signed(old), "older than 30 days")
    future = sign(keys["ada"], statement(tmp_path / "future", run, "Ada Lovelace", days_ago=-1))
    refused(read_signed(future), "in the future")
    assert give(run, signed=mine).is_dir()


def test_a_person_on_the_roster_does_not_approve_an_own_run(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, keys: dict[str, Path],
    roster: list[dict[str, Any]],
) -> None:  # fmt: skip
    run = waiting(ran_by="ada@ward", approvers=roster)
    mine = read_signed(sign(keys["ada"], statement(tmp_path, run, "Ada Lovelace")))
    with pytest.raises(VerificationError, match="who ran it does not approve it"):
        give(run, signed=mine, account="somebody@else")


def test_an_approval_written_into_the_ledger_by_hand_does_not_count(
    waiting: Callable[..., Path], give: Callable[..., Path], tmp_path: Path, roster: list[dict[str, Any]]
) -> None:
    run = waiting(approvers=roster)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for proof in ("", "[]", '["{}", ""]', '["x", ""]', "[1, 2]", "7", "x"):
        by_hand = approvals.Approval("Ada Lovelace", "fine", now, "a@b", proof)
        Ledger(tmp_path / "work").approve(approvals.read_run(run).id, by_hand)
        with pytest.raises(GateRefused, match="wants a person to decide  hint"):
            publish(run, tmp_path / "releases", tmp_path / "work")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda roster: [roster[0], roster[0] | {"name": "Bob"}], "a key that nobody else has"),
        (lambda roster: [roster[0], roster[1] | {"name": "ADA  lovelace"}], "named once"),
        (lambda roster: roster[:1], "approvals is 2, and approvers names 1"),
        (lambda roster: [roster[0], roster[1] | {"key": "ssh-rsa AAAA"}], "not of the kind ssh-ed25519"),
        (lambda roster: [roster[0], roster[1] | {"key": "ssh-ed25519 AAAA"}], "damaged"),
        (lambda roster: [roster[0], roster[1] | {"name": "Bоb"}], "look alike"),
    ],
)
def test_a_roster_that_cannot_be_used_is_refused(
    policy: Policy, roster: list[dict[str, Any]], change: Callable[[Any], Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Policy.model_validate(policy.model_dump() | {"approvals": 2, "approvers": change(roster)})


def test_a_policy_with_a_roster_survives_its_file(policy: Policy, roster: list[dict[str, Any]]) -> None:
    with_roster = Policy.model_validate(policy.model_dump() | {"approvers": [roster[0] | {"until": "2030-01-31"}]})
    again = Policy.model_validate(json.loads(json.dumps(with_roster.model_dump(mode="json"))))
    assert again.sha256 == with_roster.sha256 and again.approvers[0].until == date(2030, 1, 31)
    assert with_roster.separates_duties and not policy.separates_duties
