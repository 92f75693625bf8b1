"""Changed values of a YAML text, and everything else untouched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import YamlDocument

TEXT = """\
# head
version: 1      # one
data:
  path: a.csv
  columns:
    # review: a number
    age: {role: quasi_identifier, kind: integer}   # years
    "a: b": {}
roles:
anonymize:
  k: 5          # people
  models:
    - {model: l_diversity}
# tail
"""
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=12), st.sampled_from(["no", "y", "1e5", "010"])
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=5), SCALARS, max_size=3))
PATHS = st.sampled_from(
    [
        ("version",),
        ("data", "path"),
        ("data", "columns", "age", "role"),
        ("data", "columns", "age", "hierarchy"),
        ("data", "columns", "a: b", "role"),
        ("data", "columns", "new", "role"),
        ("roles",),
        ("roles", "decided_by"),
        ("anonymize", "k"),
        ("anonymize", "models"),
        ("evaluate", "retrain", "rows"),
    ]
)


@settings(max_examples=25)
@given(path=PATHS, value=VALUES)
def test_a_value_reads_as_it_was_set_and_every_comment_stays(path: tuple[str, ...], value: Any) -> None:
    before = YamlDocument(TEXT)
    after = before.with_value(path, value)
    assert after.get(path) == value and type(after.get(path)) is type(value)
    assert [line for line in TEXT.splitlines() if line.lstrip().startswith("#")] == [
        line for line in after.text.splitlines() if line.lstrip().startswith("#")
    ]


@settings(max_examples=25)
@given(path=PATHS, value=SCALARS)
def test_only_the_line_of_a_changed_scalar_differs(path: tuple[str, ...], value: Any) -> None:
    if path[-1] not in ("role", "k", "version", "path") or YamlDocument(TEXT).get(path) is None:
        return
    lines = YamlDocument(TEXT).with_value(path, value).text.splitlines()
    assert sum(a != b for a, b in zip(TEXT.splitlines(), lines, strict=True)) <= 1


def test_a_removed_key_leaves_its_neighbours_alone() -> None:
    document = YamlDocument(TEXT).without(("data", "columns", "age", "role"))
    assert document.get(("data", "columns", "age")) == {"kind": "integer"}
    assert "# years" in document.text
    emptied = document.without(("data", "columns", "age", "kind")).without(("anonymize", "models"))
    assert emptied.content["data"]["columns"]["age"] == {} and emptied.content["anonymize"] == {"k": 5}
    assert "# tail" in emptied.text


def test_a_repeated_section_is_not_changed_in_one_place_only() -> None:
    document = YamlDocument("a: &x {role: 1}\nb: *x\n")
    with pytest.raises(ConfigError, match=r"b\.role cannot be changed on its own"):
        document.with_value(("b", "role"), 2)
    with pytest.raises(ConfigError, match="is not set"):
        document.without(("c",))


def test_the_difference_shows_changed_lines_alone() -> None:
    changed = YamlDocument(TEXT).with_value(("anonymize", "k"), 10)
    shown = [line for line in YamlDocument(TEXT).difference(changed).splitlines() if line[0] in "+-"]
    assert shown[2:] == [
        "-  k: 5          # people",
        "+  k: 10          # people",
    ]
