"""Exact copies: of training records, of their identifiers, and of people who are alone.

In a table of few columns most rows are somebody's by chance, and a row that ten people share discloses none of them.
Copies of all people then drown in chance; those of people who are alone, without an equal or without a neighbour, do
not, and they are the ones that disclose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.outcome import attacked_people, measured
from hybrid.evaluation.context import PEOPLE, ROLES, Context, Role
from hybrid.evaluation.engine.encoding import ranks_of, row_keys
from hybrid.evaluation.engine.intervals import clustered_error, exact_share_interval, quantile, share_interval
from hybrid.evaluation.engine.neighbours import in_blocks, nearest_of_others, within
from hybrid.evaluation.engine.space import TIE, Space, gower
from hybrid.evaluation.families import attack, indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table.holders import sharing
from hybrid.table.persons import person_groups
from hybrid.table.schema import concat_tables, persons_of_both

Keys = dict[Role, Array]


def _share(context: Context, keys: Keys) -> Measure:
    """Share of the table's rows in train; the reference is what a control of train's size would score."""
    train, table = keys["train"], keys["table"]
    found = np.isin(table, train)
    value, n, confidence = float(found.mean()), len(table), context.options.confidence
    low, high = share_interval(value, _independent(found, table), confidence)
    details: dict[str, object] = {"rows": int(found.sum()), "train_rows_found": float(np.isin(train, table).mean())}
    if context.control is None or not len(keys["control"]):
        return Measure(value, low, high, None, n, details)
    pairs = [
        [np.isin(table, keys[part.role][part.rows]).astype(float) for part in pair] for pair in context.parts(PEOPLE)
    ]
    in_train, in_control = (float(np.mean([pair[i].mean() for pair in pairs])) for i in range(2))
    kept = context.kept("train", PEOPLE)
    bounds = [_excess_bounds(mine, other, table, confidence) for mine, other in pairs]
    excess = (in_train - in_control) / kept
    least, most = (float(np.mean(ends)) / kept for ends in zip(*bounds, strict=True))
    details |= {
        "excess": excess,
        "excess_interval": [least, most],
        "control_share": in_control,
        "train_share_at_control_size": in_train,
        "train_rows_in_control": float(np.isin(train, keys["control"]).mean()),
    }
    reference = in_control if in_train == 0 else value * in_control / in_train
    return Measure(value, low, high, reference, n, details, (excess, least, most))


def _excess_bounds(mine: Array, other: Array, keys: Array, confidence: float) -> tuple[float, float]:
    """Bounds of the share in train minus the share in control.

    They are exact where few contents decide. Contents found in both or in neither say nothing. Of the d others, each
    found in train as likely as in control without a leak, the number found in train is binomial (McNemar's test):
    Clopper and Pearson's bounds of that probability, times the rows behind them. With none, what d = 1 could still have
    been. The wider of these bounds and the cluster-robust ones. ``mine`` and ``other`` are 1 for rows found in train,
    and in control; ``keys`` number the rows' contents.
    """
    gap = mine - other
    error, mean = quantile(confidence) * clustered_error(gap, keys), float(gap.mean())
    rows = np.flatnonzero(gap)
    decided, first = np.unique(keys[rows], return_index=True)
    d, wins = len(decided), int((gap[rows[first]] > 0).sum())
    share = max(len(rows), 1) / len(gap)
    least, most = exact_share_interval(wins, d, confidence)
    return min(mean - error, share * (2 * least - 1)), max(mean + error, share * (2 * most - 1))


def _independent(found: Array, keys: Array) -> float:
    """Number of independent rows that the rows are worth: those with one content are found or missed together."""
    share, error = float(found.mean()), clustered_error(found.astype(float), keys)
    return min(share * (1 - share) / error**2, len(found)) if error > 0 else float(len(found))


def identical_match(context: Context) -> Measure:
    """Identical match share: share of rows that equal a training row.

    The full content of a row counts (thesis eq. 4.1). Rows are compared by exact keys, never by a distance of zero;
    duplicates count as often as they occur. The reference is the share found in the control set, at equal size: where
    the control set is smaller than train, its share is scaled by how the share in train grows with the number of
    training rows.
    """
    measure = _share(context, context.keys)
    if context.options.paper:
        train, rows = np.unique(context.keys["train"]), np.unique(context.keys["table"])
        shared = len(np.intersect1d(train, rows))
        measure.details["paper"] = {"IMS": shared / len(rows), "CRP": shared / (len(train) + 1e-8)}
    return measure


def identical_match_quasi(context: Context) -> Measure:
    """Identical match share on the quasi-identifiers alone: rows that look like a known person."""
    names = context.schema.quasi_identifiers
    measure = _share(context, _keys_of(context, names))
    measure.details["quasi_identifiers"] = names
    return measure


def identical_match_secrets(context: Context) -> Outcome:
    """Identical match share on the quasi-identifiers and declared secrets.

    As :func:`identical_match`: it counts the rows that give a person's quasi-identifiers together with the secrets.
    """
    quasi, secrets = context.schema.quasi_identifiers, context.named_secrets
    if not set(secrets) - set(quasi):
        return _NO_SECRET
    names = list(dict.fromkeys([*quasi, *secrets]))
    measure = _share(context, _keys_of(context, names))
    measure.details["columns"] = names
    return measure


def _keys_of(context: Context, names: Sequence[str]) -> Keys:
    """Number of each row's content in some columns, in all three tables."""
    return dict(zip(ROLES, row_keys(ranks_of(context.tables, names)), strict=True))


def copied_identifiers(context: Context) -> Outcome:
    """Largest share of copied values in an identifying column, 0..1.

    It is the largest, over columns that name single records, of the share of the table's values that a training record
    has. Columns of texts that differ in nearly every row and dense row numbers take no part in any other metric, so a
    copied name or note would be seen by none. The reference is the share found in control, scaled to train's size: row
    numbers that start anew in every file are found in both.
    """
    names = [name for name, reason in context.encoding.excluded.items() if reason.startswith("identifier")]
    found = {name: _values_found(context, name) for name in names if context.table.frame[name].notna().any()}
    if not found:
        return NotComputable("no column names single records", lacks="identifiers")
    worst = max(found, key=lambda name: found[name][0])
    value, reference, n = found[worst]
    low, high = share_interval(value, n, context.options.confidence)
    details = {"columns": {name: share for name, (share, _, _) in found.items()}, "worst_column": worst}
    excess = None if reference is None else (value - reference, low - reference, high - reference)
    return Measure(value, low, high, reference, n, details, excess)


def _values_found(context: Context, name: str) -> tuple[float, float | None, int]:
    """Shares of the table's values in train and, scaled to train's size, in control; and their number."""
    train, control, table = (part[:, 0] for part in ranks_of(context.tables, [name]))
    known = table[table >= 0]
    share, other = (float(np.isin(known, side).mean()) for side in (train, control))
    scaled = min(other * max(len(train) / max(len(control), 1), 1.0), 1.0)
    return share, None if context.control is None else scaled, len(known)


STEP = 0.05
"""Share of its column's range by which a number of a near copy differs, at most."""
FEWEST = 20
"""Fewest people who are alone, of those in the data and of those who are not, of whom a share says anything."""


def _space(context: Context) -> Space:
    """Gower's distance, with the ranges of the training records: a category that differs counts 1."""
    return gower(context.encoding, tables=[context.encoded("train")])


def _reach(context: Context, near: bool) -> float:
    """Distance of a copy; of a near one, at most: one category, and every number by :data:`STEP` of its range."""
    continuous = context.encoding.continuous
    return float(not continuous.all()) + STEP * int(continuous.sum()) if near else 0.0


def to_others(context: Context, role: Role) -> tuple[Array, Array]:
    """Distance of people to the nearest other person, of training or control.

    Of the records that searches query (:meth:`Context.asked`), by ascending position: positions, and Gower's distances,
    not divided by the number of columns; 0: somebody is equal.
    """

    def compute() -> tuple[Array, Array]:
        space = _space(context)
        asked = context.asked_rows(role)
        everybody = context.encoded("train").join(context.encoded("control"))
        train, control = context.train, context.control
        persons = train.persons if control is None else persons_of_both(train, control)
        own = asked + (len(context.encoded("train")) if role == "control" else 0)
        places = space.place(everybody)
        return asked, nearest_of_others(space, places.take(own), places, persons, persons[own], own)[0]

    return context.once_for_asked(("to others", role), compute, context.whole(role))


def lone_rows(context: Context, role: Role, near: bool) -> Array:
    """Records beside which no other person's record lies as near as a near copy, or none is equal; ascending."""
    (rows, distances), reach = to_others(context, role), _reach(context, near)
    return rows[distances > reach + TIE * (1 + reach)]


def _attacked(context: Context, near: bool) -> Outcome:
    lone = lone_rows(context, "train", near), lone_rows(context, "control", near)
    if min(map(len, lone)) < FEWEST:
        return _too_few("metric.few.apart" if near else "metric.few.differ")
    space, reach = _space(context), _reach(context, near)
    rows = context.once("rows for copies", lambda: in_blocks(space, space.place(context.encoded("table"))))
    people = [space.place(context.encoded(role).take(of_role)) for role, of_role in zip(PEOPLE, lone, strict=True)]
    near_rows = (within(space, side, rows, np.full(side.codes.shape[1], reach)) for side in people)
    train, control = ((found > 0).astype(float) for found in near_rows)
    return measured(attacked_people(context, train, control, lone), people_alone=len(train))


def lone_copies(context: Context) -> Outcome:
    """Risk that the table repeats a person without an equal.

    Of the training people who differ from everybody else, in the data or not, the share whom a row equals in every
    column; beside the share of such people never seen: R = (r_T - r_C)/(1 - r_C), 0 without a leak, 1 for a copy.
    """
    return _attacked(context, near=False)


def lone_near_copies(context: Context) -> Outcome:
    """Risk that the table holds a near copy of a person without a neighbour.

    As :func:`lone_copies`, of people from whom all others differ by more than one category and a twentieth of the
    range of every number (together, by Gower's distance), and of rows that differ by no more.
    """
    return _attacked(context, near=True)


def lone_secrets(context: Context) -> Outcome:
    """Risk that the table repeats quasi-identifiers with secrets that only one person has.

    As :func:`lone_copies`, of people whose quasi-identifiers, secrets and targets nobody else has together, and of rows
    that equal them in these columns.
    """
    quasi, secrets = context.schema.quasi_identifiers, context.named_secrets
    if not set(secrets) - set(quasi):
        return _NO_SECRET
    names = [name for name in context.schema.names if name in {*quasi, *secrets, *context.schema.targets}]
    keys, lone = _keys_of(context, names), rows_alone(context, names)
    if min(map(len, lone)) < FEWEST:
        return _too_few("metric.few.differ")
    train, control = (
        np.isin(keys[role][of_role], keys["table"]).astype(float) for role, of_role in zip(PEOPLE, lone, strict=True)
    )
    return measured(attacked_people(context, train, control, lone), people_alone=len(train), columns=names)


def rows_alone(context: Context, names: Sequence[str]) -> tuple[Array, Array]:
    """Training and control rows whose values in some columns no other person has, of either; ascending."""
    train, control = context.train, context.control
    everybody = train if control is None else concat_tables(train, control)
    # Rows without a person are one each.
    everybody = replace(everybody, named_persons=person_groups(everybody.persons))
    alone = sharing(everybody, names) == 1
    return np.flatnonzero(alone[: len(train)]), np.flatnonzero(alone[len(train) :])


def _too_few(reason: str) -> NotComputable:
    return NotComputable(sentence(reason, n=FEWEST), "too_few", lacks="lone_records")


_NO_SECRET = NotComputable("no column is declared as a secret", lacks="secret")
_of_lone_people = partial(attack, copy=1.0, by_default=False, unit="share of people")
METRICS = (
    indicator(
        copied_identifiers,
        "The share of names, record numbers or free texts in the table that belong to a training person.",
        copy=None,
        needs=(),
        mechanism="exact",
    ),
    indicator(
        identical_match,
        "The share of rows that repeat a training record in every column.",
        needs=(),
        mechanism="exact",
        headline=True,
        leakage=True,
        decides=2,
        printed=("IMS", "CRP"),
    ),
    indicator(
        identical_match_quasi,
        "The share of rows whose quasi-identifiers are those of a training person.",
        needs=("quasi_identifiers",),
        mechanism="exact",
    ),
    indicator(
        identical_match_secrets,
        "The share of rows whose quasi-identifiers and secrets together are those of a training person.",
        needs=("quasi_identifiers",),
        mechanism="exact",
    ),
    _of_lone_people(
        lone_copies,
        "singling out",
        "How many training people whom nobody equals are, beyond chance, repeated in every column.",
        mechanism="exact",
    ),
    _of_lone_people(
        lone_near_copies,
        "singling out",
        "How many training people beside whom nobody lies have, beyond chance, a near copy in the table.",
    ),
    _of_lone_people(
        lone_secrets,
        "singling out",
        "How many training people have, beyond chance, quasi-identifiers and secrets in the table that only they have.",
        needs=("control", "quasi_identifiers"),
        mechanism="exact",
    ),
)
