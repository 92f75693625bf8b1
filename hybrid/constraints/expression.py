"""Typed expressions over the columns of a row, without ``eval``.

Grammar (Python's own, parsed with :mod:`ast`; every other node is refused)::

    or  and  not    <  <=  >  >=  ==  !=  in [...]    + - * /
    abs()  min()  max()  round()  floor()  log()  exp()  missing()  known()
    days(from, to)  months(from, to)  years(from, to)    year()  month()  day()  weekday()  hour()
    column names (in backticks where they are no words), numbers, texts, true and false

A single ``=`` compares like ``==``.
``known(a, b)`` is the first of its values that is not missing.
An expression about a missing value is unknown (three-valued logic of Kleene), and what is unknown breaks nothing. So is
a number that cannot be computed: one divided by zero, the logarithm of one that is not above zero, or one beyond every
float64. ``log`` is the natural logarithm.
The difference of two dates or times is a number of days, and a date or time plus a number of days is another one.
A text beside a date or time is read as one. Times of day are compared and have an ``hour``, and nothing else.
From one date to another, ``days`` counts midnights; ``months`` and ``years`` are those that are complete: a month on
the same day of the next, or on the first of the one after it where there is no such day (a year from 29 February is
complete on 1 March). A ``weekday`` is 1 on Mondays, 7 on Sundays.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Numbers
from hybrid.base.errors import Problem
from hybrid.table import Schema, Table
from hybrid.table.kinds.value_type import Sort

LONGEST = 1000
"""Characters of an expression at most."""
MOST_NODES = 200
"""Parts of an expression at most."""
_DTYPES: Mapping[Sort, str] = {
    "number": "Float64",
    "text": "string",
    "truth": "boolean",
    "time": "datetime64[us]",
    "clock": "datetime64[us]",
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SECONDS_OF_DAY = 86_400
_FIRST, _LAST = (float(np.datetime64(year, "us").astype(np.int64)) for year in ("0001", "9999"))
"""Microseconds since 1970 between which dates lie."""
_QUOTED = re.compile(r"`([^`]+)`")
_EQUAL = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<![<>=!:])=(?!=)""")
"""A text, or a single sign of equality."""
_TRUTH = {"true": True, "false": False}


class NotAnExpression(ValueError):
    """Expression outside of the grammar, or unfit for the columns."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    """As it was written."""
    tree: ast.expr
    """Its tree; names are placeholders of :attr:`names`."""
    names: Mapping[str, str]
    """Column name of each placeholder."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it uses, in order of appearance."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id in self.names]
        found.sort(key=lambda node: (node.lineno, node.col_offset))
        return tuple(dict.fromkeys(self.names[node.id] for node in found))

    def sort(self, schema: Schema) -> Sort:
        """Sort of its value; NotAnExpression where its parts do not fit together, or the columns' kinds."""
        empty = pd.DataFrame({name: pd.Series(dtype=_DTYPES[schema[name].kind.type.sort]) for name in self.columns})
        return _Evaluation(self, schema, empty).of(self.tree)[0]

    def problems(self, schema: Schema, wanted: Collection[Sort], instead: str, hint: str) -> Iterator[Problem]:
        """Problem of a formula that does not fit its columns, or that gives no value of a wanted sort.

        ``instead`` ends the message about another sort, ``hint`` says what to do.
        """
        try:
            sort = self.sort(schema)
        except NotAnExpression as error:
            yield Problem(f"the formula does not fit the columns: {error}", "correct the formula")
            return
        if sort not in wanted:
            yield Problem(f"the formula gives a {sort}, {instead}", hint)

    def value(self, table: Table) -> pd.Series:
        """Value of each row, shape (n_rows,), in the dtype of its sort; missing where it is unknown."""
        frame = pd.DataFrame(
            {name: _cast(table.frame[name], table.schema[name].kind.type.sort) for name in self.columns},
            index=pd.RangeIndex(len(table)),
        )
        evaluation = _Evaluation(self, table.schema, frame)
        return evaluation.column(*evaluation.of(self.tree))


def parse(text: str) -> Expression:
    """Parse an expression."""
    if len(text) > LONGEST:
        raise NotAnExpression(f"an expression has at most {LONGEST} characters")
    names: dict[str, str] = {}
    prefix = "column_"
    while prefix in text:
        prefix += "_"

    def placeholder(found: re.Match[str]) -> str:
        name = f"{prefix}{len(names)}_"
        names[name] = found.group(1)
        return name

    tree = _tree(_QUOTED.sub(placeholder, text).strip())
    nodes = list(ast.walk(tree))
    if len(nodes) > MOST_NODES:
        raise NotAnExpression(f"an expression has at most {MOST_NODES} parts")
    for node in nodes:
        _refuse(node)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    words = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    plain = {word: word for word in words if word not in _TRUTH}
    expression = Expression(text, tree, plain | names)
    if not expression.columns:
        raise NotAnExpression("an expression needs a column")
    return expression


def _tree(text: str) -> ast.expr:
    """Parse a text; single signs of equality are doubled where it is no expression without that."""
    for attempt in (text, _EQUAL.sub(lambda found: found.group(1) or "==", text)):
        try:
            return ast.parse(attempt, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    raise NotAnExpression("this is not an expression, such as cost >= 0")


def _refuse(node: ast.AST) -> None:
    allowed = (
        *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Compare, ast.Name),
        *(ast.Load, ast.Constant, ast.Call, ast.In, ast.NotIn, ast.List, ast.Tuple, *_COMPARISONS, *_ARITHMETIC),
    )
    if not isinstance(node, allowed):
        raise NotAnExpression(f"{type(node).__name__.lower()} is not allowed in an expression")
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str):
        raise NotAnExpression("a constant is a number, a text, true or false")
    if isinstance(node, ast.Constant) and not _is_finite(node.value):
        raise NotAnExpression("a number is beyond 1.8e308, the largest that there is")
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS or node.keywords:
            raise NotAnExpression(f"an expression may call {', '.join(_FUNCTIONS)}")
        least, most = _FUNCTIONS[node.func.id]
        if not least <= len(node.args) <= most:
            raise NotAnExpression(f"{node.func.id} takes another number of arguments")


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, str) or math.isfinite(value)
    except OverflowError:
        return False


def quoted(name: str) -> str:
    """A column's name as an expression has it: in backticks unless it is a plain word."""
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name not in _TRUTH
    return name if plain else f"`{name}`"


def _complete_months(start: pd.Series, end: pd.Series) -> pd.Series:
    return _months(end) - _months(start) - (end.dt.day < start.dt.day)


def _months(dates: pd.Series) -> pd.Series:
    return 12 * dates.dt.year + dates.dt.month


_BETWEEN: Mapping[str, Callable[[pd.Series, pd.Series], pd.Series]] = {
    "days": lambda start, end: (end.dt.floor("D") - start.dt.floor("D")).dt.days,
    "months": _complete_months,
    "years": lambda start, end: _complete_months(start, end) // 12,
}
_PARTS: Mapping[str, Callable[[pd.Series], pd.Series]] = {
    "year": lambda dates: dates.dt.year,
    "month": lambda dates: dates.dt.month,
    "day": lambda dates: dates.dt.day,
    "weekday": lambda dates: dates.dt.weekday + 1,
    "hour": lambda dates: dates.dt.hour,
}
_GROWTH: Mapping[str, Callable[[Numbers], Numbers]] = {"log": np.log, "exp": np.exp}
_FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "abs": (1, 1),
    "min": (2, 10),
    "max": (2, 10),
    "round": (1, 2),
    "floor": (1, 1),
    "log": (1, 1),
    "exp": (1, 1),
    "missing": (1, 1),
    "known": (2, 10),
    **dict.fromkeys(_BETWEEN, (2, 2)),
    **dict.fromkeys(_PARTS, (1, 1)),
}
"""Functions with the least and the largest number of their arguments."""


Value = tuple[Sort, Any]
"""Sort, and a Series; of a constant text the text, which may be a time."""


@dataclass(frozen=True)
class _Evaluation:
    expression: Expression
    schema: Schema
    frame: pd.DataFrame

    def of(self, node: ast.expr) -> Value:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return self._constant(value)
            case ast.BoolOp():
                return "truth", self._logic(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.Compare():
                return "truth", self._comparison(node)
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, node.args)
        raise NotAnExpression("a list is allowed after in, and nowhere else")

    def _name(self, node: ast.Name) -> Value:
        if node.id in _TRUTH:
            return self._constant(_TRUTH[node.id])
        name = self.expression.names[node.id]
        return self.schema[name].kind.type.sort, self.frame[name]

    def _constant(self, value: Any) -> Value:
        if isinstance(value, str):
            return "text", value
        sort: Sort = "truth" if isinstance(value, bool) else "number"
        return sort, self.column(sort, value if sort == "truth" else float(value))

    def column(self, sort: Sort, value: Any) -> pd.Series:
        return value if isinstance(value, pd.Series) else pd.Series(value, index=self.frame.index, dtype=_DTYPES[sort])

    def _logic(self, node: ast.BoolOp) -> Any:
        both = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        found = self._truth(node.values[0])
        for value in node.values[1:]:
            found = both(found, self._truth(value))
        return found

    def _truth(self, node: ast.expr) -> Any:
        return _of_sort(self.of(node), "truth", "and, or and not are about comparisons and columns of true and false")

    def _number(self, node: ast.expr) -> Any:
        return _number(self.of(node))

    def _date(self, node: ast.expr, *, clock: bool) -> pd.Series:
        sort, value = _as_time(self.of(node), ("time", None))
        if sort != "time" and not (clock and sort == "clock"):
            raise NotAnExpression(f"days, months, years and the parts of a date are about dates, not about a {sort}")
        return self.column(sort, value)

    def _first_known(self, arguments: list[ast.expr]) -> Value:
        values = [self.of(argument) for argument in arguments]
        sort = values[0][0]
        if {one for one, _ in values} != {sort}:
            raise NotAnExpression("known is about values of one sort")
        columns = [self.column(*value) for value in values]
        return sort, reduce(lambda found, other: found.where(found.notna(), other), columns)

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return "truth", ~self._truth(node.operand)
        value = self._number(node.operand)
        return "number", -value if isinstance(node.op, ast.USub) else value

    def _arithmetic(self, node: ast.BinOp) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if left[0] == right[0] == "time" and isinstance(node.op, ast.Sub):
            days = (left[1] - right[1]).dt.total_seconds() / _SECONDS_OF_DAY
            return "number", days.astype("Float64")
        if left[0] == "time" and right[0] == "number" and isinstance(node.op, ast.Add | ast.Sub):
            return "time", _moved(left[1], right[1] if isinstance(node.op, ast.Add) else -right[1])
        found = _ARITHMETIC[type(node.op)](_number(left), _number(right))
        return "number", found.where(np.isfinite(found.to_numpy(dtype=np.float64, na_value=np.nan)))

    def _comparison(self, node: ast.Compare) -> Any:
        sides = pairwise([node.left, *node.comparators])
        return reduce(
            operator.and_, [self._pair(left, sign, right) for sign, (left, right) in zip(node.ops, sides, strict=True)]
        )

    def _pair(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Any:
        if isinstance(sign, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
                raise NotAnExpression("in is followed by a list, such as ward in ['ICU', 'ER']")
            found = reduce(
                operator.or_, [self._compared(self.of(left), operator.eq, self.of(element)) for element in right.elts]
            )
            return ~found if isinstance(sign, ast.NotIn) else found
        return self._compared(self.of(left), _COMPARISONS[type(sign)], self.of(right))

    def _compared(self, left: Value, compare: Callable[[Any, Any], Any], right: Value) -> Any:
        left, right = _as_time(left, right), _as_time(right, left)
        if left[0] != right[0]:
            raise NotAnExpression(f"a {left[0]} cannot be compared with a {right[0]}")
        if left[0] == "truth" and compare not in (operator.eq, operator.ne):
            raise NotAnExpression("true and false have no order")
        first, second = (self.column(*side) for side in (left, right))
        return compare(first, second).astype("boolean").mask(first.isna() | second.isna())

    def _call(self, name: str, arguments: list[ast.expr]) -> Value:
        if name == "missing":
            if not isinstance(arguments[0], ast.Name) or arguments[0].id not in self.expression.names:
                raise NotAnExpression("missing is about a column, such as missing(discharged)")
            return "truth", self.of(arguments[0])[1].isna().astype("boolean")
        if name in _BETWEEN or name in _PARTS:
            dates = [self._date(argument, clock=name == "hour") for argument in arguments]
            known = np.logical_and.reduce([one.notna() for one in dates])
            found = _BETWEEN[name](*dates) if name in _BETWEEN else _PARTS[name](*dates)
            return "number", found.astype("Float64").where(known)
        if name == "known":
            return self._first_known(arguments)
        if name == "round":
            return "number", self._number(arguments[0]).round(_digits(arguments[1:]))
        values = [self._number(argument) for argument in arguments]
        if name == "abs":
            return "number", abs(values[0])
        if name == "floor":
            return "number", np.floor(values[0])
        if name in _GROWTH:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                found = _GROWTH[name](values[0].to_numpy(dtype=np.float64, na_value=np.nan))
            return "number", pd.Series(found, index=self.frame.index, dtype="Float64").where(np.isfinite(found))
        together = pd.concat(values, axis=1)
        found = together.min(axis=1, skipna=False) if name == "min" else together.max(axis=1, skipna=False)
        return "number", found.astype("Float64")


def _number(value: Value) -> Any:
    return _of_sort(value, "number", "arithmetic is about numbers")


def _of_sort(value: Value, wanted: Sort, otherwise: str) -> Any:
    sort, found = value
    if sort != wanted:
        raise NotAnExpression(f"{otherwise}, not about a {sort}")
    return found


def _digits(arguments: list[ast.expr]) -> int:
    match arguments:
        case []:
            return 0
        case [ast.Constant(value=int() as digits)] if 0 <= digits <= 15:
            return digits
    raise NotAnExpression("round takes a number of digits from 0 to 15, such as round(cost, 2)")


def _moved(dates: pd.Series, days: pd.Series) -> pd.Series:
    seconds = np.rint(days.to_numpy(dtype=np.float64, na_value=np.nan) * _SECONDS_OF_DAY)
    micros = dates.to_numpy(dtype="datetime64[us]").astype(np.int64).astype(np.float64) + 1e6 * seconds
    known = dates.notna().to_numpy() & (micros >= _FIRST) & (micros < _LAST)
    lengths = np.where(known, seconds, 0).astype(np.int64).astype("timedelta64[s]")
    return (dates + lengths).where(known)


def _as_time(value: Value, beside: Value) -> Value:
    if value[0] != "text" or beside[0] not in ("time", "clock") or not isinstance(value[1], str):
        return value
    if beside[0] == "clock":
        return "clock", _time_of_day(value[1])
    try:
        moment = datetime.fromisoformat(value[1])
    except ValueError:
        raise NotAnExpression("a text beside a date is a date, such as '2024-12-31'") from None
    if moment.tzinfo is not None:
        raise NotAnExpression("a time is written without its zone, as columns hold it, such as '2024-12-31 14:00'")
    return "time", np.datetime64(moment, "us")


def _time_of_day(text: str) -> np.datetime64:
    try:
        moment = datetime.combine(date(1970, 1, 1), time.fromisoformat(text))
    except ValueError:
        raise NotAnExpression("a text beside a time of day is one, such as '14:30'") from None
    return np.datetime64(moment.replace(tzinfo=None), "us")


def _cast(values: pd.Series, sort: Sort) -> pd.Series:
    return values.astype(_DTYPES[sort])
