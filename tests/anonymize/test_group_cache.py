"""Grouping from tables that are already grouped gives the classes of the table itself, compiled or not."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.search.group_cache import _LONG
from hybrid.anonymize.search.problem import prepare
from hybrid.base.keys import by_first_row, pack
from hybrid.hierarchy import from_levels
from hybrid.table import Kind
from tests.anonymize.cases import random_problem, wide_table


def classes_by_hand(problem, node) -> Counter:
    return Counter(tuple(problem.levels[at][level][row[at]] for at, level in enumerate(node)) for row in problem.rows)


@pytest.mark.parametrize("seed", range(5))
def test_every_node(seed: int, loops: str) -> None:
    problem = random_problem(seed)
    diverse = {"model": "l_diversity", "l": 2, "attribute": "secret"}
    options = AnonymizeOptions(k=3, models=[diverse])
    task = prepare(problem.table(), problem.hierarchies(), options, None)
    checker = task.checker(task.lattice)
    assert (checker.bases.kernels is None) == (loops == "numpy")
    for node in itertools.product(*map(range, task.lattice.shape)):
        levels = tuple(task.lattice.levels(node).values())
        by_hand = classes_by_hand(problem, levels)
        found = checker.check(node)
        assert (found.n_groups, found.n_suppressed + 0) == (len(by_hand), suppressed_by_hand(problem, levels))
        assert sorted(found.groups.sizes[found.groups.sizes > 0].tolist()) == sorted(by_hand.values())
        hidden = task.records.counts * found.distinct(found.suppressed)
        per_leaf = [
            np.bincount(leaves, hidden, hierarchy.n_leaves)
            for leaves, hierarchy in zip(task.records.leaves, task.records.hierarchies, strict=True)
        ]
        assert found.leaf_counts(found.suppressed).tolist() == np.concatenate(per_leaf).tolist()


def suppressed_by_hand(problem, node) -> int:
    members: dict[tuple, list[int]] = {}
    for row, secret in zip(problem.rows, problem.secrets, strict=True):
        label = tuple(problem.levels[at][level][row[at]] for at, level in enumerate(node))
        members.setdefault(label, []).append(secret)
    return sum(len(secrets) for secrets in members.values() if len(secrets) < 3 or len(set(secrets)) < 2)


def test_columns_whose_codes_need_more_than_64_bits(loops: str) -> None:
    """16 columns of 40 values each: 40^16 > 2^64 combinations."""
    table, _ = wide_table(16, 300)
    rng = np.random.default_rng(5)
    frame = table.frame.copy()
    for name in frame.columns:
        frame[name] = rng.permutation(np.arange(300) % 40)
    levels = [["a"] * 20 + ["b"] * 20, ["*"] * 40]
    hierarchies = {name: from_levels(name, Kind.INTEGER, np.arange(40), levels) for name in frame.columns}
    task = prepare(type(table)(frame.astype("Int64"), table.schema), hierarchies, AnonymizeOptions(k=2), None)
    checker = task.checker(task.lattice)
    assert checker.check((0,) * 16).n_groups == len(frame.drop_duplicates()) == 300
    halves = frame // 20
    assert checker.check((1,) * 16).n_groups == len(halves.drop_duplicates())
    mixed = frame.assign(**{name: frame[name] // 20 for name in frame.columns[::2]})
    assert checker.check((1, 0) * 8).n_groups == len(mixed.drop_duplicates())


def test_what_is_long_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(1)
    task = prepare(problem.table(), problem.hierarchies(), AnonymizeOptions(k=2), None)
    import sys

    monkeypatch.delitem(sys.modules, "hybrid.anonymize.search.kernels", raising=False)
    bases = task.checker(task.lattice).bases
    assert bases.kernels is None
    bases._rows_read = _LONG + 1
    assert bases.kernels is not None


def test_a_thread_waits_while_another_loads_the_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    task = prepare(*wide_table(2, 50), AnonymizeOptions(), None)
    bases, begun, allowed = task.checker(task.lattice).bases, Event(), Event()
    name = "hybrid.anonymize.search.kernels"

    def slow(function):
        begun.set()
        assert allowed.wait(20)
        return function

    monkeypatch.setattr(importlib.import_module("hybrid.base.jit"), "compiled", slow)
    monkeypatch.delitem(sys.modules, name, raising=False)
    try:
        with ThreadPoolExecutor(2) as threads:
            loading = threads.submit(importlib.import_module, name)
            assert begun.wait(20)
            waiting = threads.submit(lambda: bases.kernels)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
            allowed.set()
            assert waiting.result(20) is loading.result(20) and hasattr(waiting.result(), "lacking")
    finally:
        sys.modules.pop(name, None)  # its loops are not compiled


@pytest.mark.parametrize("n_columns", [1, 5, 8])
def test_the_compiled_loop_packs_as_the_packer_does(n_columns: int) -> None:
    kernels = importlib.import_module("hybrid.anonymize.search.kernels")
    rng = np.random.default_rng(n_columns)
    sizes = np.array([int(rng.choice([1, 2, 9, 200])) for _ in range(n_columns)])
    leaves = np.stack([rng.integers(0, 300, 500) for _ in sizes]).astype(np.int32)
    number_of = [rng.integers(0, size, 300) for size in sizes]
    starts = 300 * np.arange(n_columns)
    positions = np.zeros(n_columns, dtype=np.int64)
    numbers, n_classes = kernels.number(
        leaves, positions, np.concatenate(number_of), starts[:, None], sizes[:, None].astype(np.int64)
    )
    columns = ((number[leaf], int(size)) for number, leaf, size in zip(number_of, leaves, sizes, strict=True))
    expected, n_expected = by_first_row(pack(columns, 500)[0])
    assert numbers.tolist() == expected.tolist() and n_classes == n_expected
