"""Verification of a finished table from its labels alone, with a second opinion by the package pycanon.

Independent of the search: classes and counts are made by pandas group-bys of the labels, and every privacy model judges
them by a formula of its own (:meth:`~hybrid.anonymize.models.protocol.SensitiveModel.verify`), not by the rule that the
search was steered by.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.models.alpha_k import AlphaK
from hybrid.anonymize.models.l_diversity import LDiversity
from hybrid.anonymize.models.measure import CheckInputs, check, fewest_persons
from hybrid.anonymize.models.protocol import PopulationModel, PrivacyModel
from hybrid.anonymize.models.released import ModelCheck, equivalence_classes
from hybrid.anonymize.models.t_closeness import TCloseness
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.problem import SearchProblem, encode
from hybrid.base.arrays import Codes, Counts, Leaves, Nodes
from hybrid.base.errors import VerificationError
from hybrid.base.keys import group_rows, pack_small
from hybrid.base.sentence import sentence
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table
from hybrid.table.holders import all_differ

MOST_CLASSES = 20_000
"""pycanon looks at every class in Python; of more classes it is shown the smallest ones."""
MOST_SHARES = 50_000
"""For t it looks at every value in every class; each such pair takes it about .07 ms."""


def second_opinion(
    frame: pd.DataFrame, names: list[str], models: Sequence[PrivacyModel], k: int, persons: Codes
) -> dict[str, Any]:
    """k, distinct l, alpha and t as pycanon measures them, in the smallest classes if there are many.

    Of persons with several rows it is shown one row a class: so it counts persons, but knows one value of each only,
    and is asked for k alone.

    ``measured`` and ``agrees`` are by name (k: the same number; l and alpha: the threshold holds; t: the same as our
    formula says of the same records). ``classes`` of ``of`` were shown, and our own check alone judged ``not_asked``.
    Or ``skipped``, and why.
    """
    if importlib.util.find_spec("pycanon") is None:
        return {"skipped": "pycanon is not installed (extra [anjana])"}
    alone = all_differ(persons)
    if not alone:
        rows = frame[names].assign(person=persons)[persons >= 0].drop_duplicates()
        frame = frame.loc[rows.index]
    if not len(frame):
        return {"skipped": "no records"}
    classes, n_classes = equivalence_classes(frame, names)
    shown = _classes_shown(frame, models if alone else ())
    if n_classes > shown:
        smallest = np.argsort(np.bincount(classes), kind="stable")[:shown]
        frame = frame[np.isin(classes, smallest)]
    # pycanon takes the labels of an index for positions.
    frame = frame.reset_index(drop=True)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from pycanon import anonymity

        measured: dict[str, float] = {"k": anonymity.k_anonymity(frame[names].astype(str), names)}
        agrees = {"k": measured["k"] == k}
        asked = [found for model in models if alone and (found := _opinion(frame, names, model)) is not None]
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
    model: str
    name: str
    measured: float
    agrees: bool


def _opinion(frame: pd.DataFrame, names: list[str], model: PrivacyModel) -> _Opinion | None:
    """The number of pycanon for a model; None where it has no such number."""
    from pycanon import anonymity

    def texts(attribute: str) -> pd.DataFrame:
        return frame[[*names, attribute]].astype(str)

    if isinstance(model, LDiversity) and model.kind == "distinct":
        least = anonymity.l_diversity(texts(model.attribute), names, [model.attribute])
        return _Opinion(model.name, f"l of {model.attribute!r}", least, least >= model.l)
    if isinstance(model, AlphaK):
        most = anonymity.alpha_k_anonymity(texts(model.attribute), names, [model.attribute])[0]
        return _Opinion(model.name, f"alpha of {model.attribute!r}", most, most <= model.alpha + 1e-12)
    if isinstance(model, TCloseness) and model.distance in ("equal", "ordered"):
        ranks, known = pd.factorize(frame[model.attribute], sort=True)
        asked = texts(model.attribute)
        if model.distance == "ordered":
            asked[model.attribute] = np.where(ranks < 0, len(known), ranks)
        if asked[model.attribute].nunique() < 2:
            return None
        # pycanon's reference is the table it is shown, so our formula is asked about the same one.
        measured = float(anonymity.t_closeness(asked, names, [model.attribute]))
        ours = check(frame, names, model).reached
        return _Opinion(model.name, f"t of {model.attribute!r}", measured, abs(measured - ours) <= 1e-9)
    return None


def verify(anonymized: AnonymizedTable, task: SearchProblem, by_pycanon: bool = True) -> dict[str, Any]:
    """Measure again what the released labels reach: ``k``, ``models``, and ``pycanon`` (:func:`second_opinion`).

    A VerificationError where a class is too small, a model does not hold, a label does not cover its value, more
    records are left out than allowed, or pycanon disagrees.
    """
    names = anonymized.quasi_identifiers
    frame = pd.DataFrame(dict(zip(names, anonymized.labels.nodes.T, strict=True)))
    frame = pd.concat([frame, anonymized.labels.rest.frame], axis=1)
    frame = task.options.with_households(frame, anonymized.originals)
    failures = _shape_failures(anonymized, task)
    persons = anonymized.originals.persons
    k = fewest_persons(frame, names, persons)
    if k < task.options.k:
        unit = "records" if anonymized.originals.rows_are_persons else "persons"
        failures.append(sentence("broken.class", n=k, unit=unit, k=task.options.k))
    if not anonymized.originals.rows_are_persons and task.options.known_rows > 1:
        failures += _pair_failures(frame, names, persons, task.options.k)
    reached = models_reached(frame, names, task.options, task.hierarchies, task.train, persons, task.population)
    failures += broken_models(reached)
    pycanon: dict[str, Any] = {"skipped": "nothing is released of this table: our own check alone"}
    if by_pycanon:
        pycanon = second_opinion(frame, names, task.options.models, k, persons)
    failures += [
        sentence("broken.pycanon", name=name) for name, agrees in pycanon.get("agrees", {}).items() if not agrees
    ]
    if failures:
        raise VerificationError(
            sentence("broken.table", found=tuple(failures)),
            hint="do not release it; please report this" if task.options.engine == "exact" else "use engine: exact",
        )
    return {"k": k, "models": [asdict(one) for one in reached], "pycanon": pycanon}


def _shape_failures(anonymized: AnonymizedTable, task: SearchProblem) -> list[str]:
    failures: list[str] = []
    if len(anonymized) + len(anonymized.suppressed) != len(task.train):
        failures.append("records were lost or added")
    if len(anonymized.suppressed) > task.allowed:
        failures.append(sentence("broken.left_out", n=len(anonymized.suppressed), allowed=task.allowed, unit="records"))
    elif (gone := lost_persons(anonymized)) > task.allowed_persons:
        failures.append(sentence("broken.left_out", n=gone, allowed=task.allowed_persons, unit="persons"))
    for at, name in enumerate(anonymized.quasi_identifiers):
        if not covered(anonymized.hierarchies[name], anonymized.leaves[:, at], anonymized.labels.nodes[:, at]):
            failures.append(sentence("broken.cover", column=name))
    return failures


def lost_persons(anonymized: AnonymizedTable) -> int:
    """Number of persons with a key who lost all their records."""
    if anonymized.originals.rows_are_persons:
        return len(anonymized.suppressed)
    kept, left_out = anonymized.originals.persons, anonymized.suppressed.persons
    return len(set(left_out[left_out >= 0].tolist()) - set(kept.tolist()))


def covered(hierarchy: Hierarchy, leaves: Leaves, nodes: Nodes) -> bool:
    """True if each leaf is below the node beside it; both of shape (n,), int."""
    pairs = np.unique(leaves.astype(np.int64) * hierarchy.n_nodes + nodes)
    leaf, node = pairs // hierarchy.n_nodes, pairs % hierarchy.n_nodes
    return bool((hierarchy.node_of[leaf] == node[:, None]).any(axis=1).all())


def _pair_failures(frame: pd.DataFrame, names: list[str], persons: Codes, k: int) -> list[str]:
    """Pairs of rows that fewer than k persons share, found by joining all rows of each person."""
    members = pd.DataFrame({"class": equivalence_classes(frame, names)[0], "person": persons, "row": range(len(frame))})
    members = members[members["person"] >= 0]
    pairs = members.merge(members, on="person")
    pairs = pairs[(pairs["row_x"] < pairs["row_y"])]
    pairs = pairs.assign(low=pairs[["class_x", "class_y"]].min(axis=1), high=pairs[["class_x", "class_y"]].max(axis=1))
    fewest = pairs.groupby(["low", "high"])["person"].nunique().min()
    return [sentence("broken.pair", n=int(fewest), k=k)] if fewest < k else []


def broken_models(reached: Iterable[ModelCheck]) -> list[str]:
    """Models that are not met, in words."""
    return [
        sentence("broken.model", name=one.name, n=one.reached, threshold=one.threshold)
        for one in reached
        if not one.holds
    ]


def models_reached(
    frame: pd.DataFrame,
    names: list[str],
    options: AnonymizeOptions,
    hierarchies: Mapping[str, Hierarchy],
    train: Table,
    persons: Codes,
    population: Table | None = None,
) -> list[ModelCheck]:
    """Check a table of labels, or of masked values, against every model, by the formula of each."""
    inputs = CheckInputs(
        hierarchies={name: hierarchies[name] for name in options.attributes if name in hierarchies},
        reference=options.sensitive_values(train),
        persons=persons,
        reference_persons=train.persons,
    )
    reached = []
    for model in options.models:
        if isinstance(model, PopulationModel):
            assert population is not None
            trees = [hierarchies[name] for name in names]
            patterns = frame[names].drop_duplicates().to_numpy()
            reached.append(model.verify(pd.Series(matches(patterns, encode(population, trees), trees))))
        else:
            reached.append(check(frame, names, model, inputs))
    return reached


def matches(patterns: Nodes, people: Leaves, hierarchies: Sequence[Hierarchy]) -> Counts:
    """Number of people that each pattern of nodes covers; patterns on the same levels are looked up together.

    ``patterns``, of shape (n_patterns, n_qi), differ; ``people``, of shape (n_people, n_qi), are leaves.
    """
    columns = ((people[:, at], hierarchy.n_leaves) for at, hierarchy in enumerate(hierarchies))
    person_of, chosen = group_rows(*pack_small(columns, len(people)))
    weights, people = np.bincount(person_of), people[chosen]
    levels = np.stack([hierarchy.level_of()[nodes] for hierarchy, nodes in zip(hierarchies, patterns.T, strict=True)])
    columns = ((level, hierarchy.n_levels) for level, hierarchy in zip(levels, hierarchies, strict=True))
    kind_of, kinds = group_rows(*pack_small(columns, len(patterns)))
    order = np.argsort(kind_of, kind="stable")
    counts = np.zeros(len(patterns), dtype=np.int64)
    for kind, members in zip(kinds, np.split(order, np.cumsum(np.bincount(kind_of))[:-1]), strict=True):
        nodes = [
            h.node_of[leaves, level] for h, leaves, level in zip(hierarchies, people.T, levels[:, kind], strict=True)
        ]
        both = np.concatenate([patterns[members], np.stack(nodes, axis=1)])
        columns = ((both[:, at], hierarchy.n_nodes) for at, hierarchy in enumerate(hierarchies))
        code, _ = group_rows(*pack_small(columns, len(both)))
        counts[members] = np.bincount(code[len(members) :], weights, len(both))[code[: len(members)]]
    return counts
