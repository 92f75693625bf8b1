"""Pages on what to do: every rule and check is on *Review: what now?*, and its settings are accepted."""

from __future__ import annotations

import re

import pytest
import yaml

from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.pipeline.config import RunConfig
from hybrid.publication.column_roles import RULE
from hybrid.publication.gate import ALL_ROWS, LIKE_FOLDS
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.power import POWER
from hybrid.publication.rules.metric import THROWN_OUT
from tests.docs.documentation_pages import everything, written

PAGES = written()
REVIEW = PAGES["guides/review.md"]
FOUND_BY = {
    "guides/review.md": "Review: what now?",
    "guides/which-k.md": "Which k?",
    "guides/gpu-ctgan.md": "GPU and CTGAN",
    "guides/limits.md": "Limits: rows, columns, minutes, GB",
}


def named() -> set[str]:
    """Rules and checks in the first column of the page's tables."""
    rows = re.findall(r"^\| ([^|]+) \|", REVIEW, re.MULTILINE)
    return {name.strip() for row in rows for name in re.sub(r"\(.*?\)", "", row).split(",")}


def test_every_rule_and_check_is_on_the_page() -> None:
    policies = [load_policy(path) for path in packaged_policies().values()]
    rules = {rule.name for policy in policies for rule in policy.all_rules}
    checks = {RULE, THROWN_OUT, LIKE_FOLDS, f"{ALL_ROWS}: attacks", f"{ALL_ROWS}: exact copies"}
    checks |= {f"{POWER}: {kind}" for kind in LEAKS}
    assert len(rules) > 50
    assert (rules | checks) - named() == set()
    others = {name for name in named() - rules - checks if name not in ("rule", "check") and set(name) - set("-")}
    assert others == {"any rule: no control records", "any rule: not among the metrics of this run"} | {
        "train and control alike",
        "persons",
    }


def test_what_the_page_advises_is_a_configuration() -> None:
    shown = set(re.findall(r"`(\w+: \{[^`]+\})`", " ".join(PAGES[page] for page in FOUND_BY)))
    assert len(shown) > 12
    for line in shown:
        RunConfig.model_validate({"data": {"path": "table.csv"}} | yaml.safe_load(line))


@pytest.mark.parametrize(("page", "title"), FOUND_BY.items())
def test_the_page_is_found_by_its_words(page: str, title: str) -> None:
    assert PAGES[page].startswith(f"# {title}\n") and "exclude" not in PAGES[page][:30]
    assert [other for other, text in everything().items() if text.startswith(f"# {title}\n")] == [page]


def test_k_of_the_packaged_policies() -> None:
    for name, path in packaged_policies().items():
        (rule,) = [rule for rule in load_policy(path).all_rules if getattr(rule, "quantity", "") == "k"]
        said = f"| {rule.review:g} | `{name}`: below {rule.review:g} is a review, below {rule.block:g} a block |"
        assert said in PAGES["guides/which-k.md"], said
