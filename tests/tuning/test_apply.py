"""Chosen values go into the file; everything else in it stays as it is."""

from __future__ import annotations

import yaml

from hybrid.base.yaml_document import YamlDocument
from hybrid.tuning.page import MARK, applied

TEXT = """\
# written by hand
name: strokes
anonymize:
  k: 5                      # as the board decided
  # not proposed: models
  suppression_limit: 0.05   # review
transition: {method: histogram, order: pre, bins: 7}
synthesize:
  generator: cart   # quick
  options: {min_leaf: 30}
policy: default
"""


def test_values_are_set_and_comments_stay() -> None:
    values = {"anonymize.k": 10, "synthesize.options.min_leaf": None, "sample.method": "beta", "sample.beta": 0.5}
    changed = applied(YamlDocument(TEXT), values, "because it is best")
    content = yaml.safe_load(changed.text)
    assert content["anonymize"] == {"k": 10, "suppression_limit": 0.05}
    assert content["synthesize"] == {"generator": "cart", "options": {"min_leaf": None}}
    assert content["sample"] == {"method": "beta", "beta": 0.5}
    for comment in ("# written by hand", "# as the board decided", "# not proposed: models", "# review", "# quick"):
        assert comment in changed.text
    lines = changed.text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("k: 10"))
    assert lines[at - 1] == f"  {MARK}because it is best"


def test_another_method_leaves_the_options_of_the_one_before() -> None:
    changed = applied(YamlDocument(TEXT), {"transition.method": "uniform"}, "why")
    assert yaml.safe_load(changed.text)["transition"] == {"method": "uniform", "order": "pre"}


def test_a_later_reason_replaces_the_earlier_one() -> None:
    long = "a reason of many words " * 12
    first = applied(YamlDocument(TEXT), {"anonymize.k": 10}, long)
    assert first.text.count(MARK) > 1 and max(map(len, first.text.splitlines())) <= 120
    second = applied(first, {"anonymize.k": 20}, "another")
    assert second.text == applied(YamlDocument(TEXT), {"anonymize.k": 20}, "another").text


def test_nothing_to_change() -> None:
    document = YamlDocument(TEXT)
    assert applied(document, {}, "why") is document
