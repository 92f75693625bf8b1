"""Statement on mock tables: what they disclose, what they are for, and whether they may leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hybrid.base.sentence import sentence
from hybrid.mocks.draw import MockTable, MockTables, Origin
from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.decided_roles import undecided_in_tables
from hybrid.privacy.accounting import Budget, at_most
from hybrid.publication.plain_markdown import plain
from hybrid.publication.policy import Policy
from hybrid.table import Role

MADE = "Made up without the records. No row is about a person, and nothing in it must be analysed."
"""Mark of a mock table whose values are drawn evenly."""
MADE_WITH_NOISE = (
    "Made up. No row is about a person, and nothing in it must be analysed. Each column alone follows counts with the "
    "noise of differential privacy; columns are unrelated."
)
"""Mark of a mock table whose columns follow noisy counts."""
PROPOSED = (
    "The program proposed values and bounds from the records before a person decided them: at least ten people hold "
    "each proposed value, and at least ten lie at or beyond the number that a proposed bound was rounded outward from."
)
"""Sentence on a section that ``hybrid mock --draft`` wrote."""
_ORIGINS: dict[Origin, str] = {
    "configuration": "values or bounds that the configuration states",
    "list": "values of a list that is public",
    "made up": "nothing but the name and the kind: the values are made up",
}


@dataclass(frozen=True)
class MockStatement:
    """Facts of mock tables."""

    config: RunConfig
    """What they were made from."""
    made: MockTables
    """The tables."""
    policy: Policy
    """That says which mock tables may leave without a review."""
    budget: Budget | None = None
    """What noisy counts of the records spent; None: no record was read."""
    counted: tuple[str, ...] = ()
    """Columns whose values follow noisy counts."""
    guessed: bool = False
    """Whether the configuration was guessed from the records, and no person has decided it."""

    @property
    def mark(self) -> str:
        """One sentence or two that every copy of the table must carry."""
        return MADE if self.budget is None else MADE_WITH_NOISE

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons for which a person must decide before the tables leave; none: they may leave without a review."""
        return tuple(self._reasons())

    def _reasons(self) -> Iterator[str]:
        if self.config.roles is None:
            yield "nobody has signed the roles of the columns (roles.decided_by)"
        if undecided := undecided_in_tables(self.config):
            yield sentence("mock.undecided", names=tuple(undecided))
        if not self.policy.mock.release:
            yield sentence("mock.review", policy=self.policy.name)
        if self.budget is not None and self.budget.epsilon > self.policy.mock.epsilon * (1 + 1e-9):
            spent, most = self.budget.epsilon, self.policy.mock.epsilon
            yield sentence("mock.epsilon", epsilon=spent, most=most, policy=self.policy.name)

    @property
    def decision(self) -> str:
        """Sentence on whether the tables may leave."""
        if self.reasons:
            return sentence("mock.decide", reasons=self.reasons)
        return sentence("mock.leaves", policy=self.policy.name)

    @property
    def discloses(self) -> tuple[str, ...]:
        """Everything that the tables disclose, in sentences."""
        return tuple(self._discloses())

    def _discloses(self) -> Iterator[str]:
        for name, one in self.made.tables.items():
            yield from (_of_table(name, found) for found in self._disclosed_by(one))
        if (options := self.config.mock) is not None and options.from_records:
            yield PROPOSED
        for name in self.made.public:
            yield _of_table(name, sentence("mock.public"))
        if self.budget is None:
            yield sentence("mock.nothing_else.guessed" if self.guessed else "mock.nothing_else")
        else:
            epsilon, delta = (at_most(one, 3) for one in (self.budget.epsilon, self.budget.delta))
            yield sentence("mock.counted", names=self.counted, epsilon=epsilon, delta=delta)
        yield "The number of rows was chosen, and says nothing about the number of people."

    def _disclosed_by(self, one: MockTable) -> Iterator[str]:
        yield sentence("mock.names.guessed" if self.guessed else "mock.names", n=len(one.columns))
        for origin, words in _ORIGINS.items():
            names = [
                column.column.name
                for column in one.columns
                if column.origin == origin and column.column.role is not Role.IDENTIFIER
                if column.column.name not in self.counted
            ]
            if names:
                yield sentence("mock.of_columns", names=tuple(names), origin=words)
        if forms := [column.column.name for column in one.columns if column.form is not None]:
            yield sentence("mock.forms", names=tuple(forms))
        if one.kept:
            yield sentence("mock.kept", rules="; ".join(one.kept))

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences on what the tables cannot be used for."""
        return tuple(self._limits())

    def _limits(self) -> Iterator[str]:
        yield "For writing and testing code alone: no result of it is true of anybody."
        yield "Columns are drawn independently, so that rows can be odd: a child may be retired."
        for name, one in self.made.tables.items():
            if one.unkept:
                yield _of_table(name, sentence("mock.unkept", rules="; ".join(one.unkept)))
        if self.config.is_linked:
            yield "How many rows belong to each row of a parent table is made up."
        elif self.config.data.several_rows:
            yield "How many rows a person has is made up, and the rows of a person are drawn independently."

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON types; no cell value."""
        return {
            "kind": "mock",
            "mark": self.mark,
            "without_records": self.budget is None,
            "may_leave_without_review": not self.reasons,
            "reasons_for_review": list(self.reasons),
            "policy": {"name": self.policy.name, "version": self.policy.version, "sha256": self.policy.sha256},
            "tables": {name or "mock": _table_json(one) for name, one in self.made.tables.items()},
            "discloses": list(self.discloses),
            "limits": list(self.limits),
            "privacy": None if self.budget is None else self.budget.to_json(),
        }

    def readme(self, files: dict[str, str]) -> str:
        """Markdown beside the tables; ``files`` says what each file is."""
        return "\n".join(self._readme(files)) + "\n"

    def _readme(self, files: dict[str, str]) -> Iterator[str]:
        yield from (f"# {plain(self.config.name)} (mock table)", "", f"**{self.mark}**", "", self.decision, "")
        yield from ("## What it discloses", "", *(f"- {plain(one)}" for one in self.discloses), "")
        yield from ("## Limits", "", *(f"- {plain(one)}" for one in self.limits))
        for name, one in self.made.tables.items():
            yield from (
                "",
                f"## Columns{f' of {name}' if name else ''}",
                "",
                "| column | kind | values |",
                "|---|---|---|",
            )
            for column in one.columns:
                values = "made-up number" if column.column.role is Role.IDENTIFIER else _ORIGINS[column.origin]
                values = "noisy counts" if column.column.name in self.counted else values
                yield f"| {plain(column.column.name)} | {column.column.kind} | {values} |"
        yield from ("", "## Files", "", "| file | content |", "|---|---|")
        yield from (f"| {file} | {meaning} |" for file, meaning in files.items())


def _of_table(name: str, found: str) -> str:
    return sentence("of_table", table=name, found=found) if name else found


def _table_json(one: MockTable) -> dict[str, Any]:
    return {
        "rows": len(one.table),
        "columns": [
            {"name": column.column.name, "kind": column.column.kind.value, "origin": column.origin}
            for column in one.columns
        ],
        "constraints_kept": list(one.kept),
        "constraints_not_kept": list(one.unkept),
    }


def file_stem(name: str) -> str:
    """Name of a table's file without its suffix: of a single table ``mock``."""
    return "mock" if name == SINGLE else f"mock-{name}"
