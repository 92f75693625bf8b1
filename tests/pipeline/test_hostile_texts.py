"""Texts that nobody would write on purpose: each is accepted, or refused by an error that is made for users."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.base.config_files import parse_yaml
from hybrid.base.errors import HybridError
from hybrid.constraints.expression import NotAnExpression, parse
from hybrid.hierarchy.load import load_hierarchy, parse_hierarchy
from hybrid.pipeline.config import load_config
from hybrid.pipeline.starter import guess_config
from hybrid.table import DTYPES, Column, Kind, Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from tests.constraints.small_tables import table_of

WORDS = "age sex day flag `age` true false and or not in < <= == = != + - * / ( ) [ ] , ' min( max( abs( missing( 0 1 9"
TOKENS = [*WORDS.split(), "1e308", "9" * 400, "'m'", "'2024-01-01'", "'9999-12-31T23:59:59.9'", "1_000", "0x1F", "1j"]
PEOPLE = table_of(
    age=(Kind.INTEGER, [41, None, 0]),
    sex=(Kind.CATEGORICAL, ["m", "f", None]),
    day=(Kind.DATE, [np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31", "us"), None]),
    flag=(Kind.BOOLEAN, [True, False, None]),
)
FEW = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def expression(chance: random.Random, depth: int = 0) -> str:
    """An expression of the grammar, whose parts may not fit together; at times with a token too many."""
    if depth > 3 or chance.random() < 0.3:
        return chance.choice(
            ["age", "sex", "day", "flag", "true", "0", "1", "1e308", "'m'", "'2024-01-01'", "missing(age)"]
        )
    one, other, third = (expression(chance, depth + 1) for _ in range(3))
    sign = chance.choice(["<", "<=", "==", "!=", "+", "-", "*", "/", "and", "or", "=", "in", "not in"])
    forms = [f"{one} {sign} {other}", f"({one} {sign} {other})", f"not {one}", f"-{one}", f"{one} < {other} < {third}"]
    forms += [f"{one} in [{other}, {third}]", f"min({one}, {other})", f"max({one}, {other}, {third})", f"abs({one})"]
    odd = [chance.choice(TOKENS)] if chance.random() < 0.02 else []
    return " ".join([chance.choice(forms), *odd])


def judge(text: str) -> bool:
    """True if every row has a truth; an error that is not made for users is raised."""
    try:
        found = parse(text)
        if not set(found.columns) <= set(PEOPLE.schema.names) or found.sort(PEOPLE.schema) != "truth":
            return False
        assert len(found.value(PEOPLE)) == len(PEOPLE)
    except NotAnExpression:
        return False
    return True


@FEW
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=14))
def test_tokens_in_any_order(tokens: list[str]) -> None:
    judge(" ".join(tokens))


def test_expressions() -> None:
    chance = random.Random(0)
    assert sum(judge(expression(chance)) for _ in range(2000)) > 100


PIECES = (
    *(
        "%YAML 9.9\n---\n",
        "%TAG ! !\n",
        "!!python/name:os.system ",
        "!!timestamp ",
        "!!binary ",
        "!!set ",
        "!!int x",
        "!!omap ",
    ),
    *("&a ", "*a", "<<: ", "? ", "- ", "---\n", "...\n", "|\n", ">-\n", "{", "}", "[", "]", ": ", "#", "'", '"', "\\x"),
    *(
        "\t",
        "\0",
        "\u202e",
        "\ufeff",
        "9999-99-99",
        ".nan",
        ".inf",
        "-0",
        "0o7" + "7" * 40,
        "1:30",
        "null",
        "~",
        "\\ud800",
    ),
)
CONFIG = """version: 1
seed: 7
data: {path: people.csv, columns: {age: {role: quasi_identifier, kind: integer, hierarchy: age.yaml}}}
constraints: [{le: [age, age2]}, {range: {age: [0, 120]}}, {formula: "age > 0"}]
anonymize: {k: 5, models: [{model: l_diversity, kind: distinct, l: 2, attribute: sex}]}
split: {control: 0.3}
synthesize: {generator: cart, rows: same, where: "age > 3"}
evaluate: {metrics: [identical_match]}
nightly: {deliver: {sql: {url_env: X, table: t}}, drift: {warn: 0.1}}
"""


def mixed(text: str, pieces: tuple[str, ...], seed: int) -> str:
    """A text with some pieces of it removed, doubled, or replaced by others."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 3, 10, 40]))
        text = text[:start] + chance.choice([*pieces, text[start:end] * 2, ""]) + text[end:]
    return text


def test_what_is_mixed_is_accepted_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    assert load_config(tmp_path / "config.yaml").seed == 7


@pytest.mark.filterwarnings("ignore::ruamel.yaml.error.ReusedAnchorWarning")
@FEW
@given(st.integers(0, 10**9), st.sampled_from(["", "", *PIECES]))
def test_yaml(seed: int, first: str) -> None:
    text = first + mixed(CONFIG, PIECES, seed)
    with suppress(HybridError):
        parse_yaml(text, "config.yaml")
    with suppress(HybridError):
        parse_yaml(text, "age.yaml", as_text=True)


@pytest.mark.filterwarnings("ignore::ruamel.yaml.error.ReusedAnchorWarning")
@FEW
@given(seed=st.integers(0, 10**9))
def test_a_configuration(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.yaml"
    path.write_text(mixed(CONFIG, PIECES, seed).replace("\\ud800", "x"), encoding="utf-8")
    with suppress(HybridError):
        load_config(path)


RULES = (
    "type: intervals\nwidths: [5, 10]\nbottom: 0\ntop: 90\norigin: 0\n",
    "type: intervals\nedges: [[10, 20, 30], [20]]\n",
    "type: dates\nlevels: [day, month, quarter, year, decade]\n",
    "type: mask\nkeep: [2, 1]\nlength: hide\n",
    "type: tree\ntree: {A: [a, b], B: {C: [c], D: [d]}}\n",
    "type: groups\nlevels: [{x: [a, b]}, {y: [x]}]\nothers: Other\n",
)
ODD = (
    "-1",
    "0",
    "1e-300",
    "1e300",
    "9" * 500,
    ".nan",
    "[]",
    "{}",
    "''",
    "null",
    "true",
    "[[",
    "*",
    "century",
    "a",
    "10000000",
)
LISTS = ("a;A;*\nb;A;*\nc;B;*\nd;B;*\n", "1,x,*\n2,x,*\n", '"a";"A";*\n"b";"A";*\n')
CHARACTERS = (";", ",", "\t", '"', "\n", "\0", "*", "a", "x" * 140_000, ";x" * 500, "\u202e", "=1+1", " ")
VALUES: dict[Kind, list[Any]] = {
    Kind.INTEGER: [1, 2, 2**62, -(2**62), None],
    Kind.DECIMAL: [0.1, 1e30, -1e30, 5e-324, None],
    Kind.CATEGORICAL: ["a", "b", "c", "d", "x" * 300, None],
    Kind.BOOLEAN: [True, False, None],
    Kind.DATE: [np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31", "us"), None],
    Kind.DATETIME: [np.datetime64("0001-01-01T00:01", "us"), np.datetime64("9999-12-31T23:59", "us"), None],
    Kind.TIME: [np.datetime64("1970-01-01T00:01", "us"), np.datetime64("1970-01-01T23:59", "us"), None],
}


FITTING = {
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL), RULES[:2]),
    **dict.fromkeys((Kind.DATE, Kind.DATETIME, Kind.TIME), RULES[2:3]),
}
"""Rules that fit a kind; others fit the rest."""


@settings(FEW, max_examples=400)
@given(seed=st.integers(0, 10**9), kind=st.sampled_from(list(Kind)), rule=st.booleans())
def test_a_hierarchy(seed: int, kind: Kind, rule: bool) -> None:
    chance = random.Random(seed)
    text = chance.choice(FITTING.get(kind, RULES[3:]) if rule else LISTS)
    text = mixed(text, ODD if rule else CHARACTERS, seed) if chance.random() < 0.9 else text
    few = chance.sample(VALUES[kind], chance.randint(1, len(VALUES[kind])))
    values = pd.Series(few * 3, dtype=DTYPES[kind])
    column = Column("x", Role.QUASI_IDENTIFIER, kind)
    with suppress(HybridError):
        load_hierarchy(parse_hierarchy(text, Path(f"x{'.yaml' if rule else '.csv'}")), column, values)


@pytest.mark.parametrize("text", ['"', '""\n', "a" * 140_000, "a" + ";x" * 100_000])
def test_a_list_without_values_or_with_endless_ones(text: str) -> None:
    with pytest.raises(HybridError):
        parse_hierarchy(text, Path("x.csv"))


HEAD = "id,age,sex,cost,day\n"
TABLE = HEAD + "".join(f"P{n},{n % 60},{'mf'[n % 2]},{n * 37 % 1000 / 8},2024-{n % 12 + 1:02d}-03\n" for n in range(60))
CELLS = (
    *(
        ",",
        ";",
        "\n",
        "\r",
        "\r\n",
        '"',
        '""',
        "'",
        "\0",
        "\t",
        " ",
        "\ufeff",
        "\u202e",
        "\x1b[2J",
        "\u0662\u0661",
        "ä",
        "-",
    ),
    *(
        "1e308",
        "2e999999999",
        "inf",
        "nan",
        "9" * 400,
        "0001-01-01",
        "9999-12-31",
        "2024-02-30",
        "-0",
        "+49 1",
        "1,5",
        ".",
        "NA",
    ),
    *("x" * 3000, HEAD, "\n\n\n", "=1+1"),
)


def whole(path: Path) -> Table:
    return read_table(path, DataOptions(path="any"))


@settings(FEW, max_examples=120)
@given(seed=st.integers(0, 10**9), encoding=st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]))
@pytest.mark.parametrize("read", [whole, guess_config])
def test_a_csv_file(
    seed: int, encoding: str, read: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes(mixed(TABLE, CELLS, seed).encode(encoding, errors="replace"))
    with suppress(HybridError):
        read(path)
