"""Compiled depth-first search of a box of lattice nodes.

A box holds the nodes from a lowest to a highest one. Its records are kept sorted by their class at the highest node;
lowering a column splits classes, so that every step reads each row once. A record in a class of fewer than k records is
in such a class at every node below, which holds under every privacy model: it is dropped and charged to the whole box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Codes, Counts, Leaves, Numbers, Rows
from hybrid.base.jit import compiled


class Table(NamedTuple):
    """Rows and how they are numbered on each level."""

    leaves: Leaves
    """Leaf of each cell; shape (n_qi, n), uint16 or int32."""
    weights: Numbers
    """Records per row; shape (n,), float64."""
    numbers: Codes
    starts: Codes
    sizes: Counts
    """Node numbers: :attr:`hybrid.anonymize.search.group_cache.GroupCache.tables`."""


class Costs(NamedTuple):
    """Lower bound of a loss.

    As :class:`hybrid.anonymize.search.losses.protocol.RowCosts`, with whether terms are multiplied.
    """

    terms: Numbers
    starts: Codes
    more: Numbers
    more_starts: Codes
    product: bool


class Limits(NamedTuple):
    """Conditions that end the search of a box.

    ``value`` and ``deeper`` are joined terms: products of (1 + term), or sums.
    """

    k: float
    """Records per class, at least."""
    allowed: float
    """Records that may be suppressed."""
    value: float
    """Boxes of this bound or more hold nothing better."""
    deeper: float
    """Boxes of this bound or more are given back as they are."""
    work: float
    """Rows to read before everything that is left is given back."""


class Stack(NamedTuple):
    """Boxes on the path to the one at hand.

    One row per depth: rows of the table by class, where classes begin, their number; the lowest and highest node, the
    column that was cut; records suppressed, and what they add to each term.
    """

    order: Rows
    begins: Rows
    classes: Counts
    low: Codes
    high: Codes
    cut: Codes
    hidden: Numbers
    more: Numbers
    tally: Numbers
    """Records per node number; all 0 between calls."""
    place: Codes
    """Where the next row of each node number goes; all 0 between calls."""
    gone: Rows
    """Rows in classes that are too small."""


class Boxes(NamedTuple):
    """Boxes that are left to search, with their bounds (joined terms)."""

    low: Codes
    high: Codes
    least: Numbers


def make_stack(n_rows: int, n_columns: int, n_terms: int, n_numbers: int, depth: int) -> Stack:
    """Room for boxes that are cut ``depth`` times, 1 or more."""
    path = depth + 1
    return Stack(
        order=np.empty((path, n_rows), np.int32),
        begins=np.empty((path, n_rows + 1), np.int32),
        classes=np.zeros(path, np.int64),
        low=np.zeros((path, n_columns), np.int64),
        high=np.zeros((path, n_columns), np.int64),
        cut=np.zeros(path, np.int64),
        hidden=np.zeros(path),
        more=np.zeros((path, n_terms)),
        tally=np.zeros(n_numbers),
        place=np.zeros(n_numbers, np.int64),
        gone=np.empty(n_rows, np.int32),
    )


@compiled
def explore(
    table: Table, costs: Costs, limits: Limits, forbidden: Codes, low: Codes, high: Codes, stack: Stack, left: Boxes
) -> tuple[int, int]:
    """Search a box, cut at least once; gives how many boxes are left, and how many nodes were grouped.

    A column's lowest position is raised while no node at or below (the position, the others highest) is feasible. Then
    the box is cut along the column whose term can differ most: its highest position apart from the others.

    No node at or below one of ``forbidden``, of shape (n_forbidden, n_qi), is feasible. ``left`` receives the boxes
    that are left. Together they hold each node of the box whose bound is below ``limits.value``, unless too many
    records are suppressed there; boxes of a single node are all that remains of others.
    """
    n_left, n_grouped, n_cut, work = 0, 0, 0, 0
    depth = _begin(table, costs, limits, low, high, stack)
    if depth < 0:
        return 0, 0
    table = _sorted(table, stack)
    new = True
    while depth >= 0:
        closed = False
        if new:
            closed, probes = _raise(table, costs, limits, forbidden, stack, depth)
            n_grouped += probes
            work += probes * stack.begins[depth, stack.classes[depth]]
        least = _least(costs, stack, depth)
        closed = closed or least >= limits.value
        column = -1 if closed else _widest(costs, stack, depth)
        full = n_left + len(stack.cut) + 1 >= len(left.least)
        stop = n_cut > 0 and (least >= limits.deeper or work > limits.work or full)
        if not closed and (column < 0 or stop or depth + 1 == len(stack.cut)):
            left.low[n_left] = stack.low[depth]
            left.high[n_left] = stack.high[depth]
            left.least[n_left] = least
            n_left += 1
            closed = True
        if closed:
            depth -= 1
            new = False
            if depth >= 0:
                stack.low[depth, stack.cut[depth]] = stack.high[depth, stack.cut[depth]]
            continue
        n_cut += 1
        n_grouped += 1
        work += 3 * stack.begins[depth, stack.classes[depth]]
        new = _lower(table, costs, limits, stack, depth, column)
        if new:
            depth += 1
        else:
            stack.low[depth, column] = stack.high[depth, column]
    return n_left, n_grouped


@compiled
def _begin(table: Table, costs: Costs, limits: Limits, low: Codes, high: Codes, stack: Stack) -> int:
    """Group the rows at the highest node, into depth 0.

    -1 if too much is suppressed there, else 0.
    """
    if table.weights.sum() < limits.k:
        return -1
    for row in range(len(table.weights)):
        stack.order[0, row] = row
    stack.begins[0, 0], stack.begins[0, 1], stack.classes[0] = 0, len(table.weights), 1
    stack.low[0], stack.high[0], stack.hidden[0] = low, high, 0.0
    stack.more[0] = 0.0
    for column in range(len(high)):
        if table.sizes[column, high[column]] > 1:
            _split(table, costs, limits.k, stack, 0, 1, column, high[column])
            n = stack.begins[1, stack.classes[1]]
            stack.order[0, :n] = stack.order[1, :n]
            stack.begins[0, : stack.classes[1] + 1] = stack.begins[1, : stack.classes[1] + 1]
            stack.classes[0], stack.hidden[0] = stack.classes[1], stack.hidden[1]
            stack.more[0] = stack.more[1]
    return 0 if stack.hidden[0] <= limits.allowed and stack.classes[0] > 0 else -1


@compiled
def _sorted(table: Table, stack: Stack) -> Table:
    """Rows of depth 0 by class: those that are read together lie together in memory."""
    n = stack.begins[0, stack.classes[0]]
    leaves, weights = np.empty((len(table.leaves), n), table.leaves.dtype), np.empty(n)
    for column in range(len(leaves)):
        leaf = table.leaves[column]
        for at in range(n):
            leaves[column, at] = leaf[np.uint32(stack.order[0, at])]
    for at in range(n):
        weights[at] = table.weights[np.uint32(stack.order[0, at])]
        stack.order[0, at] = at
    return Table(leaves, weights, table.numbers, table.starts, table.sizes)


@compiled
def _lower(table: Table, costs: Costs, limits: Limits, stack: Stack, depth: int, column: int) -> bool:
    """Cut off the nodes below the highest position of a column.

    False if nothing is feasible there.
    """
    stack.cut[depth] = column
    stack.low[depth + 1], stack.high[depth + 1] = stack.low[depth], stack.high[depth]
    stack.high[depth + 1, column] -= 1
    _split(table, costs, limits.k, stack, depth, depth + 1, column, stack.high[depth + 1, column])
    return bool(stack.hidden[depth + 1] <= limits.allowed and stack.classes[depth + 1] > 0)


@compiled
def _raise(table: Table, costs: Costs, limits: Limits, forbidden: Codes, stack: Stack, depth: int) -> tuple[bool, int]:
    """Raise each column's lowest position where nothing below is feasible.

    True if nothing better than the limit is left; and the number of nodes grouped.
    """
    low, high = stack.low[depth], stack.high[depth]
    if _is_forbidden(forbidden, high, 0, high[0]):
        return True, 0
    probes = 0
    for column in range(len(high)):
        raised = False
        while low[column] < high[column]:
            if not _is_forbidden(forbidden, high, column, low[column]):
                probes += 1
                room = limits.allowed - stack.hidden[depth]
                if _lost(table, limits.k, stack, depth, column, low[column], room) <= room:
                    break
            low[column] += 1
            raised = True
        if raised and _least(costs, stack, depth) >= limits.value:
            return True, probes
    return False, probes


@compiled
def _is_forbidden(forbidden: Codes, high: Codes, column: int, position: int) -> bool:
    """True if a node is at or below a forbidden one.

    The node is the highest one with one column at another position.
    """
    for at in range(len(forbidden)):
        inside = position <= forbidden[at, column]
        other = 0
        while inside and other < len(high):
            inside = other == column or high[other] <= forbidden[at, other]
            other += 1
        if inside:
            return True
    return False


@compiled
def _lost(table: Table, k: float, stack: Stack, depth: int, column: int, position: int, room: float) -> float:
    """Records in classes of fewer than k when a column is lowered.

    Counted until they exceed the room.
    """
    order, begins, tally = stack.order[depth], stack.begins[depth], stack.tally
    leaf, weights = table.leaves[column], table.weights
    number_of = table.numbers[table.starts[column, position] :]
    lost = 0.0
    for one in range(stack.classes[depth]):
        first, last = begins[one], begins[one + 1]
        if last - first > 1:
            for at in range(first, last):
                row = np.uint32(order[at])
                tally[np.uint32(number_of[np.uint32(leaf[row])])] += weights[row]
            for at in range(first, last):
                number = np.uint32(number_of[np.uint32(leaf[np.uint32(order[at])])])
                if tally[number] < k:
                    lost += tally[number]
                tally[number] = 0.0
            if lost > room:
                return lost
    return lost


@compiled
def _split(
    table: Table, costs: Costs, k: float, stack: Stack, depth: int, into: int, column: int, position: int
) -> None:
    """Split the classes of one depth by a column into another.

    Those of fewer than k records are dropped.
    """
    order, begins, tally, place = stack.order[depth], stack.begins[depth], stack.tally, stack.place
    leaf, weights = table.leaves[column], table.weights
    number_of = table.numbers[table.starts[column, position] :]
    n_classes, n_rows, n_gone, lost = 0, 0, 0, 0.0
    stack.begins[into, 0] = 0
    for one in range(stack.classes[depth]):
        for at in range(begins[one], begins[one + 1]):
            row = order[at]
            number = number_of[leaf[row]]
            tally[number] += weights[row]
            place[number] += 1
        for at in range(begins[one], begins[one + 1]):
            row = order[at]
            number = number_of[leaf[row]]
            if place[number] > 0 and tally[number] < k:
                lost += tally[number]
                place[number] = 0
            elif place[number] > 0:
                n_classes += 1
                stack.begins[into, n_classes] = n_rows + place[number]
                # Below 0: the class has its place, and its next row goes to -1 - place.
                place[number], n_rows = -1 - n_rows, n_rows + place[number]
            if place[number] == 0:
                stack.gone[n_gone] = row
                n_gone += 1
            else:
                stack.order[into, -1 - place[number]] = row
                place[number] -= 1
        for at in range(begins[one], begins[one + 1]):
            number = number_of[leaf[order[at]]]
            tally[number], place[number] = 0.0, 0
    stack.classes[into], stack.hidden[into] = n_classes, stack.hidden[depth] + lost
    _charge(table, costs, stack, depth, into, n_gone)


@compiled
def _charge(table: Table, costs: Costs, stack: Stack, depth: int, into: int, n_gone: int) -> None:
    """Add what dropped rows cost to each term."""
    stack.more[into] = stack.more[depth]
    if len(costs.more) == 0:
        return
    for column in range(len(table.leaves)):
        start, stop = costs.starts[column], costs.starts[column + 1]
        for at in range(n_gone):
            row = stack.gone[at]
            cost = costs.more_starts[column] + table.leaves[column, row] * (stop - start)
            for position in range(stop - start):
                stack.more[into, start + position] += table.weights[row] * costs.more[cost + position]


@compiled
def _term(costs: Costs, stack: Stack, depth: int, column: int, position: int) -> float:
    at = costs.starts[column] + position
    return float(max(costs.terms[at] + stack.more[depth, at], 0.0))


@compiled
def _least(costs: Costs, stack: Stack, depth: int) -> float:
    """Bound of a box: the least terms of its columns, joined."""
    joined = 1.0 if costs.product else 0.0
    for column in range(stack.low.shape[1]):
        term = np.inf
        for position in range(stack.low[depth, column], stack.high[depth, column] + 1):
            term = min(term, _term(costs, stack, depth, column, position))
        joined = joined * (1 + term) if costs.product else joined + term
    return float(joined)


@compiled
def _widest(costs: Costs, stack: Stack, depth: int) -> int:
    """Column whose terms at both ends of the box differ most.

    -1 if the box is a single node.
    """
    widest, found = -np.inf, -1
    for column in range(stack.low.shape[1]):
        low, high = stack.low[depth, column], stack.high[depth, column]
        if low < high:
            width = _term(costs, stack, depth, column, high) - _term(costs, stack, depth, column, low)
            if width > widest:
                widest, found = width, column
    return found
