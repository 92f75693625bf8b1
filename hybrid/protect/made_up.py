"""Texts in the form of a label, for groups in which no value has enough holders."""

from __future__ import annotations

import string
from functools import reduce

import numpy as np

from hybrid.base.arrays import Array, Leaves, Levels
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.spec import GroupsSpec, MaskSpec
from hybrid.table.holders import holders

_DRAWN = {"9": string.digits, "A": string.ascii_uppercase}
"""Characters that take the place of a hidden one, by its shape."""
_WORD = "a"
"""Shape of small letters: what has them is a word, of which no letters are made up."""


def made_up_texts(
    tree: Hierarchy,
    leaves: Leaves,
    rows: Array,
    level: Levels,
    least: int,
    persons: Array | None,
    rng: np.random.Generator,
) -> Array:
    """Texts below nodes in which no value may come through.

    Under a mask ("100**") the shown characters stay, and hidden digits and capitals are drawn, all equally likely, in
    the commonest shape of the column's values that begins so: so many texts that each stands for ``2 * least`` people
    or more, or one. Where there is no shape that enough people have, the text is the label itself ("100**"), which
    generalizes to itself; under groups it is that of all values without a group ("Other"). The root has none.

    Parameters
    ----------
    tree : Hierarchy
        Of the column, by a rule (:attr:`Hierarchy.rule`).
    leaves : numpy.ndarray, shape (n,), int
        Value of each record.
    rows : numpy.ndarray, shape (m,), int
        Records that need a text.
    level : numpy.ndarray, shape (m,), int
        Level of the node that the text must lie below.
    least : int
        People who must have a shape.
    persons : numpy.ndarray, shape (n,), int, optional
        Person of each record.
    rng : numpy.random.Generator
        Draws.

    Returns
    -------
    numpy.ndarray, shape (m,), object
        Texts; None at the root.
    """
    nodes = tree.node_of[leaves[rows], level]
    found = np.empty(len(rows), dtype=object)
    shapes = _shapes(tree, leaves, least, persons) if isinstance(tree.rule, MaskSpec) else []
    for node in np.unique(nodes):
        mine = np.flatnonzero(nodes == node)
        if node == tree.root:
            continue
        found[mine] = tree.rule.others if isinstance(tree.rule, GroupsSpec) else tree.labels[node]
        if isinstance(tree.rule, MaskSpec):
            shown = str(tree.leaves[leaves[rows[mine[0]]]])[: tree.rule.keep[level[mine[0]] - 1]]
            shape = next((one for one in shapes if _begins(one, shown, tree.rule)), None)
            if shape is not None and _WORD not in shape[len(shown) :]:
                people = len(mine) if persons is None else len(np.unique(persons[rows[mine]]))
                texts = _filled(shown, shape, max(people // (2 * least), 1), rng)
                found[mine] = texts[rng.integers(len(texts), size=len(mine))]
    return found


def _shapes(tree: Hierarchy, leaves: Leaves, least: int, persons: Array | None) -> list[str]:
    """Shapes of the values that enough people have, the commonest first."""
    texts = [_shape(str(value)) for value in tree.leaves[: tree.missing_leaf]]
    names, of_leaf = (
        np.unique(texts, return_inverse=True) if texts else (np.empty(0, dtype=str), np.empty(0, dtype=int))
    )
    codes = np.append(of_leaf, -1)[np.where(leaves == tree.missing_leaf, len(texts), leaves)]
    held = holders(codes, len(names), persons)
    return [str(names[at]) for at in np.argsort(-held, kind="stable") if held[at] >= least]


def _shape(text: str) -> str:
    return "".join("9" if c.isdigit() else "A" if c.isupper() else _WORD if c.isalpha() else c for c in text)


def _begins(shape: str, shown: str, rule: MaskSpec) -> bool:
    """True if a value of this shape can have these shown characters, and others hidden."""
    return len(shape) > len(shown) and shape.startswith(_shape(shown)) and rule.mark not in shape


def _filled(shown: str, shape: str, n: int, rng: np.random.Generator) -> Array:
    """Texts of a shape that begin with the shown characters, shape (n,), object."""
    columns = [rng.choice(list(_DRAWN.get(one, one)), size=n) for one in shape[len(shown) :]]
    return reduce(np.char.add, columns, np.full(n, shown)).astype(object)
