"""Second opinion on a finished table, by the package pycanon."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.models.alpha_k import AlphaK
from hybrid.anonymize.models.l_diversity import LDiversity
from hybrid.anonymize.models.measure import check
from hybrid.anonymize.models.protocol import PrivacyModel
from hybrid.anonymize.models.released import equivalence_classes
from hybrid.anonymize.models.t_closeness import TCloseness
from hybrid.base.arrays import Codes

MOST_CLASSES = 20_000
"""pycanon looks at every class in Python; of more classes it is shown the smallest ones."""
MOST_SHARES = 50_000
"""For t it looks at every value in every class; each such pair takes it about .07 ms."""


def second_opinion(
    frame: pd.DataFrame, names: list[str], models: Sequence[PrivacyModel], k: int, persons: Codes | None
) -> dict[str, Any]:
    """k, distinct l, alpha and t as pycanon measures them.

    In the smallest classes if there are many. Of persons with several rows it is shown one row a class: so it counts
    persons, but knows one value of each only, and is asked for k alone.

    Parameters
    ----------
    frame : pandas.DataFrame, n records
        The released table.
    names : list of str
        Its quasi-identifiers.
    models : sequence of PrivacyModel
        What was promised beside k.
    k : int
        What our own check found.
    persons : numpy.ndarray, shape (n,), int, or None
        Person of each record, negative without a key; None: each record is another person.

    Returns
    -------
    dict
        ``measured`` and ``agrees`` by name (k: the same number; l and alpha: the threshold holds; t: the same as our
        formula says of the same records), ``classes`` shown and ``of`` how many, and ``not_asked``: the models that our
        own check alone judged. Or ``skipped``, and why.
    """
    if importlib.util.find_spec("pycanon") is None:
        return {"skipped": "pycanon is not installed (extra [anjana])"}
    if persons is not None:
        rows = frame[names].assign(person=persons)[persons >= 0].drop_duplicates()
        frame = frame.loc[rows.index]
    if not len(frame):
        return {"skipped": "no records"}
    classes, n_classes = equivalence_classes(frame, names)
    shown = _classes_shown(frame, models if persons is None else ())
    if n_classes > shown:
        smallest = np.argsort(np.bincount(classes), kind="stable")[:shown]
        frame = frame[np.isin(classes, smallest)]
    # pycanon takes the labels of an index for positions.
    frame = frame.reset_index(drop=True)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from pycanon import anonymity

        measured: dict[str, float] = {"k": anonymity.k_anonymity(frame.astype(str), names)}
        agrees = {"k": measured["k"] == k}
        asked = [found for model in models if persons is None and (found := _opinion(frame, names, model)) is not None]
    for opinion in asked:
        measured[opinion.name], agrees[opinion.name] = opinion.measured, opinion.agrees
    judged = {opinion.model for opinion in asked}
    return {
        "measured": {name: float(value) for name, value in measured.items()},
        "agrees": agrees,
        "classes": min(n_classes, shown),
        "of": n_classes,
        "not_asked": [model.name for model in models if model.name not in judged],
    }


def _classes_shown(frame: pd.DataFrame, models: Sequence[PrivacyModel]) -> int:
    """Number of classes that pycanon has time for."""
    values = [int(frame[model.attribute].nunique(dropna=False)) for model in models if isinstance(model, TCloseness)]
    return min([MOST_CLASSES, *(max(1, MOST_SHARES // max(n, 1)) for n in values)])


@dataclass(frozen=True)
class _Opinion:
    """Opinion of pycanon on one model."""

    model: str
    name: str
    measured: float
    agrees: bool


def _opinion(frame: pd.DataFrame, names: list[str], model: PrivacyModel) -> _Opinion | None:
    """The number of pycanon for a model.

    None where it has no such number.
    """
    from pycanon import anonymity

    texts = frame.astype(str)
    if isinstance(model, LDiversity) and model.kind == "distinct":
        least = anonymity.l_diversity(texts, names, [model.attribute])
        return _Opinion(model.name, f"l of {model.attribute!r}", least, least >= model.l)
    if isinstance(model, AlphaK):
        most = anonymity.alpha_k_anonymity(texts, names, [model.attribute])[0]
        return _Opinion(model.name, f"alpha of {model.attribute!r}", most, most <= model.alpha + 1e-12)
    if isinstance(model, TCloseness) and model.distance in ("equal", "ordered"):
        ranks, known = pd.factorize(frame[model.attribute], sort=True)
        if model.distance == "ordered":
            texts[model.attribute] = np.where(ranks < 0, len(known), ranks)
        if texts[model.attribute].nunique() < 2:
            return None
        # pycanon's reference is the table it is shown, so our formula is asked about the same one.
        measured = float(anonymity.t_closeness(texts, names, [model.attribute]))
        ours = check(frame, names, model).reached
        return _Opinion(model.name, f"t of {model.attribute!r}", measured, abs(measured - ours) <= 1e-9)
    return None
