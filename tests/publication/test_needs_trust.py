"""Rules that need a metric which a laboratory's league trusts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.jobs.audit import rules_for_tables
from hybrid.pipeline.power import _Gate
from hybrid.publication.gate import judge
from hybrid.publication.lamps import lamps
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.verdict import Check

RULE = {
    "name": "distances",
    "metric": "dcr_share",
    "direction": "lower",
    "compare": "excess",
    "review": 0.05,
    "block": 0.2,
    "needs_trust": "usable",
    "reason": "Rows are near people.",
    "hint": "raise k",
}
HEAD: dict[str, Any] = {"name": "own", "version": "1", "owner": "me"}


def league(**words: str) -> dict[str, Any]:
    metrics = [{"metric": name, "verdict": word, "table": "people"} for name, word in words.items()]
    return {"schema": "hybrid-league/1", "name": "trials", "tables": ["people"], "metrics": metrics}


def policy(words: dict[str, str] | None, **changes: Any) -> Policy:
    named = {} if words is None else {"league": league(**words)}
    return Policy.model_validate(HEAD | named | {"rules": [RULE | changes]})


def measured(excess: float) -> Evaluation:
    outcome = Measure(0.5 + excess, 0.49 + excess, 0.51 + excess, 0.5, 100).above(0.5)
    return Evaluation((MetricResult("dcr_share", "privacy", "synthetic", "lower", outcome, None, 0.0, 0.0),))


def check(judging: Policy, excess: float = 0.0) -> Check:
    (found,) = judge(judging, measured(excess), None).checks
    return found


@pytest.mark.parametrize("word", ["trusted", "usable"])
def test_a_metric_that_is_trusted_enough_passes_and_the_check_says_so(word: str) -> None:
    found = check(policy({"dcr_share": word}))
    assert found.status == "pass" and found.excess is not None
    assert found.message.endswith(f"Of the metric, the laboratory trials (on people) says: {word}.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dcr_share": "coarse"}, "says of it: coarse"),
        ({"dcr_share": "unknown"}, "says of it: unknown"),
        ({"dcr_share": "misleading"}, "says of it: misleading"),
        ({"nndr": "trusted"}, "did not try it"),
        (None, "the policy names no league"),
    ],
)
def test_without_enough_trust_nothing_passes(words: dict[str, str] | None, said: str) -> None:
    verdict = judge(policy(words), measured(0.0), None)
    (found,) = verdict.checks
    assert (found.status, verdict.status, found.excess) == ("not judged", "review", None)
    assert said in found.message and "hybrid lab" in found.hint and "dcr_share" in found.details
    copies = next(lamp for lamp in lamps(verdict) if lamp.criterion == "copies")
    assert (copies.status, copies.sentence) == ("not judged", "Cannot tell: no test of it could be judged.")


def test_what_is_not_known_blocks_where_the_rule_says_so() -> None:
    assert check(policy(None, if_not_computable="block")).status == "block"


def test_a_number_beyond_a_limit_counts_whatever_the_league_says() -> None:
    blind = policy({"dcr_share": "blind"})
    assert [check(blind, excess).status for excess in (0.1, 0.3)] == ["review", "block"]


def test_a_rule_without_the_key_does_not_ask() -> None:
    found = check(policy(None, needs_trust=None))
    assert found.status == "pass" and "laboratory" not in found.message


def test_a_policy_reads_its_league_and_keeps_what_its_rules_ask(tmp_path: Path) -> None:
    (tmp_path / "leagues").mkdir()
    path = tmp_path / "leagues" / "own.json"
    path.write_text(json.dumps(league(dcr_share="usable", nndr="trusted")))
    written = tmp_path / "policy.yaml"
    written.write_text(yaml.safe_dump(HEAD | {"league": "leagues/own.json", "rules": [RULE]}))
    found = load_policy(written)
    assert found.trust is not None and [each.metric for each in found.trust.metrics] == ["dcr_share"]
    assert check(found).status == "pass"
    kept = Policy.model_validate(json.loads(json.dumps(found.model_dump(mode="json"))))
    assert kept == found and kept.sha256 == found.sha256
    path.write_text(json.dumps(league(dcr_share="blind")))
    assert load_policy(written).sha256 != found.sha256
    path.unlink()
    with pytest.raises(ConfigError, match=r"own\.json: cannot be read"):
        load_policy(written)


def test_an_audits_league_counts_where_the_policy_names_none() -> None:
    given = policy({"dcr_share": "trusted"}).trust
    assert given is not None
    assert check(rules_for_tables(policy(None), given)).status == "pass"
    assert check(rules_for_tables(policy({"dcr_share": "blind"}), given)).status == "not judged"


def test_planted_leaks_are_noticed_by_trusted_metrics_alone() -> None:
    reasons = [_Gate(policy(words), measured(0.0), {}).reason for words in ({"dcr_share": "usable"}, None)]
    assert reasons[0] == "" and "no rule about people never seen passes" in reasons[1]
    assert policy({"dcr_share": "usable"}).detection != policy(None).detection
