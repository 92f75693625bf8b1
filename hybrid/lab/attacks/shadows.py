"""Shadow models: trainings that all attacks with them share.

Meeus et al. 2023 (Achilles' Heels), section 3. In each training every attacked person is in by the toss of a coin of
its own, in place of another record, so that one set of trainings serves all people and all attacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import retrained, with_places
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.options import RetrainOptions
from hybrid.lab.attacks.attacked_people import attacked
from hybrid.table import Table
from hybrid.table.schema import concat_rows

Observer = Callable[[Table, Table], Array]
"""What an attacker notes of a synthetic table about people: ``observe(people, table)``, shape (n_people, ...)."""
Step = Literal["shadows", "tests", "bootstraps"]


@dataclass(frozen=True)
class Trained:
    """Synthetic tables of n trainings, and who was in.

    Columns with a declared order are numbers, the places of their values.
    """

    tables: tuple[Table, ...]
    member: Array
    """Shape (n, people), bool."""
    people: Table

    def __len__(self) -> int:
        return len(self.tables)

    def observed(self, observe: Observer) -> Array:
        """Observations of every training about every person; shape (n, people, ...), float32."""
        return np.array([observe(self.people, table) for table in self.tables], dtype=np.float32)

    def person(self, at: int) -> Table:
        """One of the people."""
        return self.people.take(np.array([at]))


def shadows(context: Context) -> Trained:
    """Trainings on the attacker's own people (control), to learn an attack from."""
    return context.once("shadow models", lambda: _train(context, "shadows", "control", _options(context).shadows))


def tests(context: Context) -> Trained:
    """Trainings on training records, to try an attack on."""
    return context.once("tested models", lambda: _train(context, "tests", "train", _options(context).tests))


def bootstraps(context: Context) -> Trained:
    """Trainings on samples of control drawn with replacement."""
    count = 2 * _options(context).bagging
    return context.once("bagged models", lambda: _train(context, "bootstraps", "control", count))


def _options(context: Context) -> RetrainOptions:
    assert context.options.retrain is not None
    return context.options.retrain


def _train(context: Context, step: Step, role: Role, count: int) -> Trained:
    """Train repeatedly on records of a role, with random people among them.

    Records with the content of an attacked person are left out, so that only the person itself makes the difference.
    """
    rng, options = context.random(f"shadow models {step}"), _options(context)
    people = context.train.take(attacked(context))
    source = context.train if role == "train" else context.control
    assert source is not None
    usable = _others(context, role, people, source)
    rows = min(options.rows, len(usable))
    member = rng.random((count, len(people))) < 0.5

    def build(i: int) -> Table:
        wanted = max(rows - int(member[i].sum()), 0)
        again = step == "bootstraps"
        chosen = usable[rng.integers(len(usable), size=wanted)] if again else rng.permutation(usable)[:wanted]
        return Table(
            concat_rows(source.take(chosen).frame, people.take(np.flatnonzero(member[i])).frame), source.schema
        )

    made = retrained(context, f"shadow models, {step}", count, build, rng)
    tables = tuple(with_places(table, options.ordinal) for _, table in made)
    return Trained(tables, member[: len(tables)], with_places(people, options.ordinal))


def _others(context: Context, role: Role, people: Table, source: Table) -> Array:
    """Records of a role without those equal to an attacked person."""
    names = context.encoding.names
    mine = pd.MultiIndex.from_frame(people.frame[names].astype(object).astype(str))
    theirs = pd.MultiIndex.from_frame(source.frame[names].astype(object).astype(str))
    order = context.encoded(role).order
    kept: Array = order[~theirs.isin(mine)[order]]
    return kept
