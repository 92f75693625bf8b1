"""Form of a policy as it is promised."""

from __future__ import annotations

from hybrid.publication.policy import Policy
from tests.helpers.kept import as_text, assert_kept


def test_the_form_of_a_policy_is_the_stated_one() -> None:
    assert_kept("policy.json", as_text(Policy.model_json_schema()))
