"""Labels are restored again where a row breaks a constraint: persons with all their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid.constraints import Rules
from hybrid.hierarchy import LabelTable
from hybrid.pipeline.constraint_rules import restored_by
from hybrid.table import Column, Kind, Role, Schema
from hybrid.table.persons import person_groups
from hybrid.transition.protocol import Restored
from tests.constraints.small_tables import declared, table_of


class Noted:
    """A transition that draws nothing and notes whom it restored."""

    def __init__(self) -> None:
        self.persons: list[list[int]] = []

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        assert not labels.rest.rows_are_persons
        self.persons.append(list(person_groups(labels.rest.persons)))
        return Restored(labels.rest, {"leaf": 1})


def test_each_copy_of_a_person_is_a_person_of_its_own() -> None:
    table = table_of(a=(Kind.INTEGER, [1, 9, 9, 1]), b=(Kind.INTEGER, [5, 5, 5, 5]))
    rest = replace(table, named_persons=np.array([2, 4, 2, 7]))
    a, b = (Column(name, role, Kind.INTEGER) for name, role in (("a", Role.QUASI_IDENTIFIER), ("b", Role.INSENSITIVE)))
    labels = LabelTable(np.zeros((4, 1), dtype=np.int32), rest, Schema((a, b)), {})
    rules = Rules.fit(declared({"le": ["a", "b"]}), table_of(a=(Kind.INTEGER, [1]), b=(Kind.INTEGER, [5])), 1)
    fitted = Noted()
    restored = restored_by(fitted, labels, rules, np.random.default_rng(1))
    # Of three persons the first two break the rule and go on, with both rows of the first; ten rounds one by one.
    assert fitted.persons[:2] == [[0, 1, 0, 2], [0, 1, 0]]
    (last,) = fitted.persons[11:]
    assert last == [person + 2 * copy for copy in range(90) for person in (0, 1, 0)]
    assert restored.redrawn is not None and restored.redrawn.left == 2  # rows
    assert restored.fallbacks == {"leaf": 12}
    assert not restored.table.rows_are_persons and list(restored.table.persons) == [2, 4, 2, 7]
