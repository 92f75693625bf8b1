"""User files: YAML 1.1, every problem at once, each with its line."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from hybrid.base.config_files import DEEPEST, ConfigSource, YamlMapping, parse_yaml, read_yaml, validated
from hybrid.base.errors import ConfigError, HierarchyError
from hybrid.base.options import Options


class Column(Options):
    role: str = "insensitive"
    bins: int = Field(default=3, ge=2)


class Config(Options):
    name: str
    columns: dict[str, Column] = Field(default_factory=dict)
    steps: tuple[Column, ...] = ()


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        validated(Config, read_yaml(path))
    return [problem.message.removeprefix(f"{path}") for problem in caught.value.problems]


def test_every_problem_has_the_line_of_its_key(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        "# a comment\nname: demo\ncolumns:\n  age: {rol: x, bins: 1}\n  ward:\n    role: y\n    bins: many\n"
        "steps:\n  - role: z\n  - bins: 0\nnaem: demo\n",
    )
    assert problems(path) == [
        ", line 4: columns.age.bins: at least 2 was expected (found 1)",
        ", line 4: columns.age.rol: unknown key",
        ", line 7: columns.ward.bins: a whole number was expected (found 'many')",
        ", line 10: steps.1.bins: at least 2 was expected (found 0)",
        ", line 11: naem: unknown key",
    ]
    with pytest.raises(ConfigError) as caught:
        validated(Config, read_yaml(path))
    assert [problem.hint for problem in caught.value.problems if "unknown" in problem.message] == [
        "did you mean 'role'?",
        "did you mean 'name'?",
    ]


def test_a_missing_key_has_the_line_of_its_section(tmp_path: Path) -> None:
    assert problems(file(tmp_path, "columns: {}\n")) == [": name: this key is missing"]


def test_all_keys_that_are_given_twice_are_named(tmp_path: Path) -> None:
    path = file(tmp_path, "name: a\ncolumns:\n  age: {role: x,\n        role: y}\nname: b\nname: c\n")
    assert problems(path) == [
        ", line 4: the key 'role' is given twice (first on line 3)",
        ", line 5: the key 'name' is given twice (first on line 1)",
        ", line 6: the key 'name' is given twice (first on line 1)",
    ]


def test_keys_that_may_be_values_are_not_in_the_message() -> None:
    with pytest.raises(HierarchyError) as caught:
        parse_yaml("Mrs Smith: 1\nMrs Smith: 2\n", "h.yaml", as_text=True, error=HierarchyError)
    [problem] = caught.value.problems
    assert problem.message == "h.yaml, line 2: a key is given twice (first on line 1)"
    assert problem.values == "Mrs Smith"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [\n", "line 2: this is not valid YAML"),
        ("name: a\n\tb: c\n", "line 2: this is not valid YAML"),
        ("a: *missing\n", "line 1: this is not valid YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: this is not valid YAML"),
        ("a: !!python/object:os.system {}\n", "line 1: this is not valid YAML"),
        ("a: \x00\n", "not valid YAML"),
        ("a: 2020-13-45\n", "not valid YAML"),
        ("- a\n", "a mapping of keys to values was expected"),
        ("", "a mapping of keys to values was expected"),
    ],
)
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_yaml(file(tmp_path, text))


def nested(levels: int) -> str:
    return "a: " + "[" * levels + "]" * levels


@pytest.mark.parametrize("text", [nested(DEEPEST + 1), nested(20_000), "a: &a [*a]", "? " * 5000 + "a"])
def test_what_is_nested_too_deeply_is_said_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="nested deeper than 64 levels"):
        read_yaml(file(tmp_path, text))


def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="more than 1,000,000 values"):
        read_yaml(file(tmp_path, "\n".join(lines)))


def test_other_encodings_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes("name: é".encode("utf-16"))
    with pytest.raises(ConfigError, match="not text in UTF-8"):
        read_yaml(path)
    path.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_yaml(path) == {"name": "a"}
    with pytest.raises(ConfigError, match="does not exist"):
        read_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("off", False), ("no", False), ("Yes", True), ("on", True), ("y", "y"), ("n", "n"), ("N", "N")),
        *(
            ("010", 8),
            ("0x1F", 31),
            ("1_000", 1000),
            ("1:30", "1:30"),
            ("08", "08"),
            ("1e5", "1e5"),
            ("1.5e+3", 1500.0),
        ),
        *(("~", None), ("", None), ("'no'", "no"), (".inf", float("inf")), ("2.50", 2.5)),
    ],
)
def test_scalars_mean_what_they_mean_in_yaml_1_1(text: str, value: object) -> None:
    found, _ = parse_yaml(text, "--set a")
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("text", ["no", "01", "1e5", "~", "2020-01-01", "true"])
def test_as_text_every_scalar_is_text(text: str) -> None:
    assert parse_yaml(f"a: {text}", "h.yaml", as_text=True)[0] == {"a": text}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abyn01", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_as_yaml_1_1_is_read_back(value: Any) -> None:
    """Files are written by PyYAML."""
    assert parse_yaml(yaml.safe_dump({"a": value}, allow_unicode=True), "x")[0] == {"a": value}


def test_merged_and_aliased_sections_are_read(tmp_path: Path) -> None:
    content = read_yaml(file(tmp_path, "a: &a {role: x}\nb:\n  <<: *a\n  bins: 2\n"))
    assert content == {"a": {"role": "x"}, "b": {"role": "x", "bins": 2}}
    assert content.source.at(["b", "role"]).endswith(", line 2")


def test_a_value_that_is_not_the_file_s_has_no_line() -> None:
    source = ConfigSource("c.yaml", {("a",): 3, ("a", "k"): 4}).with_changes(["a.k"])
    assert source.at(["a", "k"]) == "c.yaml"
    assert source.at(["a", "l"]) == "c.yaml, line 3"
    assert source.at_key_of("a.l is wrong") == "c.yaml, line 3"
    assert source.at_key_of("a.k: wrong") == "c.yaml"
    assert source.at_key_of("(nothing)") == "c.yaml"


def test_the_lines_travel_with_the_content(tmp_path: Path) -> None:
    content = read_yaml(file(tmp_path, "name: a\n"))
    for other in (copy.deepcopy(content), pickle.loads(pickle.dumps(content))):
        assert isinstance(other, YamlMapping)
        assert other == content
        assert other.source == content.source
