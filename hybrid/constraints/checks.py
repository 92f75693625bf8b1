"""Checks of declared constraints before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hybrid.base.errors import ConfigError, Problem
from hybrid.constraints.constraint import Constraint
from hybrid.constraints.kinds.checked import Range, comparable
from hybrid.constraints.kinds.computed import Derived
from hybrid.constraints.kinds.order import Le
from hybrid.table import Role, Schema


def refuse_misfits(constraints: Sequence[Constraint], schema: Schema) -> None:
    """Refuse constraints that the columns of a table, undecided ones included, cannot have."""
    problems = [
        Problem(f"constraints.{at}.{one.key}: {problem.message}", problem.hint)
        for at, one in enumerate(constraints)
        for problem in _misfits(one, schema)
    ]
    if problems:
        raise ConfigError(problems)


def _misfits(constraint: Constraint, schema: Schema) -> Iterator[Problem]:
    unknown = [name for name in constraint.columns if name not in schema]
    if unknown:
        yield Problem(f"no such column: {', '.join(unknown)}", f"one of: {', '.join(schema.names)}")
        return
    roles = {name: schema[name].role for name in constraint.columns}
    left_out = [name for name, role in roles.items() if not role.enters_runs]
    if left_out:
        yield Problem(f"undecided and excluded columns enter no run: {', '.join(left_out)}", "give them another role")
    named = [name for name, role in roles.items() if role is Role.IDENTIFIER]
    if named and not constraint.about_identifiers:
        yield Problem(
            f"identifiers are never learned, and surrogates take their place: {', '.join(named)}",
            "leave the constraint out, or give the column another role",
        )
    elif not left_out:
        yield from constraint.problems(schema)


def contradictions(constraints: Sequence[Constraint]) -> Iterator[Problem]:
    """Problems of constraints that contradict or repeat each other."""
    for text, count in Counter(f"{one.key}: {one.sentence}" for one in constraints).items():
        if count > 1:
            yield Problem(f"constraints: stated {count} times: {text}", "state it once")
    pairs = dict.fromkeys(one.le for one in constraints if isinstance(one, Le))
    for low, high in pairs:
        if _leads(pairs, high, low):
            yield Problem(
                f"constraints: {low} is at most {high} and, by other constraints, at least {high}, so that both would "
                "have to be equal",
                "remove one of them, or delete one of the columns from the file",
            )
    derived = [one for one in constraints if isinstance(one, Derived)]
    for name, count in Counter(one.column for one in derived).items():
        if count > 1:
            yield Problem(f"constraints: {name} is computed by {count} formulas", "keep one of them")
    sources = {(source, one.column): None for one in derived for source in one.expression.columns}
    for name in sorted({name for source, name in sources if _leads(sources, name, source)}):
        yield Problem(f"constraints: {name} is, by several formulas, computed from itself", "remove one of them")
    yield from _ranges([one for one in constraints if isinstance(one, Range)], list(pairs))


def _leads(pairs: dict[tuple[str, str], None], start: str, end: str) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        following = {high for low, high in pairs if low == at} - reached
        reached |= following
        waiting += following
    return end in reached


def _ranges(ranges: Sequence[Range], pairs: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    limits = [(name, low, high) for one in ranges for name, (low, high) in one.range.items()]
    both = [(first, second) for first in limits for second in limits if first is not second]
    for (first, low, _), (second, _, high) in both:
        if low is None or high is None or (first != second and (first, second) not in pairs):
            continue
        try:
            impossible = comparable(low) > comparable(high)
        except TypeError:
            impossible = True
        if impossible:
            if first == second:
                yield Problem(f"constraints: no row can be in two ranges of {first}", "correct the limits")
            else:
                yield Problem(
                    f"constraints: no row can be in the ranges of {first} and {second}, with {first} at most {second}",
                    "correct the limits",
                )
