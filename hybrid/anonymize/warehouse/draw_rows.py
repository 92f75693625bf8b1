"""Random sample of rows that stay in their source, with labels verified on all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.anonymize.decide import AnonymizationRequest
from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.anonymize.verify_table import covered
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.anonymize_rows import RowsTask, SearchedRows, search_rows, stage
from hybrid.anonymize.warehouse.count_rows import WarehouseRows, scalar
from hybrid.anonymize.warehouse.expressions import DIGEST, KEY
from hybrid.anonymize.warehouse.write_labels import send_classes, verify_rows
from hybrid.base.arrays import Counts, Leaves, Mask, Nodes
from hybrid.base.errors import DataError, VerificationError
from hybrid.base.hashing import fingerprint
from hybrid.base.keys import group_rows, pack_small
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress
from hybrid.base.sentence import sentence
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.table import Role, Schema, Table
from hybrid.table.arrow import cast_to
from hybrid.table.warehouse import Transfer

KEY_BYTES = 32
_DIGITS = 15
"""Hexadecimal digits of a digest that the engine compares."""
_SPREAD = 6
"""Standard deviations by which the engine's part is larger than the sample, so that it holds it but once in 10^9."""


@dataclass(frozen=True)
class WholeTable:
    """Verified labels of all rows of a table that stays in its source."""

    result: AnonymizationResult
    """Of all rows; ``drawn`` of them came out."""
    schema: Schema
    """The quasi-identifiers, as all values decide their kinds."""
    hierarchies: Mapping[str, Hierarchy]
    """Of the quasi-identifiers, over the values of all rows."""
    levels: Mapping[str, int]
    """The chosen level of each."""
    classes: pd.DataFrame
    """Labels of each verified class, as texts; one column per quasi-identifier."""
    sizes_before: Counts
    sizes_after: Counts
    """Records of each combination of values, and of each class."""
    identifiers: Mapping[str, tuple[int, int]]
    """Length of the longest value of each identifier, and of the longest one that looks like a surrogate; 0 for
    none."""
    engine: str
    combinations: int
    """Distinct combinations of values."""
    transfers: tuple[Transfer, ...]
    """What was sent and fetched."""

    def to_json(self) -> dict[str, Any]:
        """Counts of what was sent and fetched."""
        moved = [asdict(transfer) for transfer in self.transfers]
        return {"engine": self.engine, "combinations": self.combinations, "transfers": moved}


def draw_rows(
    task: RowsTask, size: int, key_of: Callable[[str], bytes], recorder: Recorder, progress: Progress
) -> tuple[WholeTable, pa.Table]:
    """Verify labels on all rows, and fetch a random sample of them, ordered by content.

    Columns that enter no run stay there. Persons are drawn with all their rows that have labels, so many that ``size``
    rows are expected. ``key_of`` makes the secret of the draw, :data:`KEY_BYTES` bytes, of the fingerprint of rows and
    hierarchies. A unit is drawn if its digest under this key is among the smallest: all units are equally likely, and
    without the key no one can tell which.
    """
    searched = search_rows(task, recorder, progress)
    rows, asked, decided = searched.rows, searched.asked, searched.decided
    warehouse = rows.warehouse
    _refuse_nobody(rows, asked)
    columns = [name for name in asked.columns if asked.role(name).enters_runs]
    with stage("verify", recorder, progress):
        sent = send_classes(rows, asked, searched.combinations, decided)
        kept = sent.kept()
        labelled = expressions.labelled(kept, sent.labels(), asked.names)
        verified = verify_rows(sent, labelled, asked, searched.combinations, decided)
        result = searched.summary(verified, recorder)
        content = warehouse.fetch("content of all rows", expressions.content(rows.table, columns)).to_pylist()
        identifiers = _identifiers(searched)
    used = {name: decided.task.hierarchies[name] for name in asked.names}
    with stage("sample", recorder, progress):
        key = key_of(fingerprint(content, columns, decided.task.hierarchies))
        drawn, units = _draw(searched, kept, columns, result, size, key)
    assert decided.recoding.levels is not None
    return WholeTable(
        result=replace(result, drawn=drawn.num_rows, drawn_persons=units),
        schema=decided.schema.only(asked.names),
        hierarchies=used,
        levels=decided.recoding.levels,
        classes=verified.classes.to_pandas(),
        sizes_before=decided.task.records.counts,
        sizes_after=verified.sizes,
        identifiers=identifiers,
        engine=warehouse.engine,
        combinations=len(searched.combinations.counted.found),
        transfers=tuple(warehouse.transfers),
    ), _as_stored(drawn, task.stored)


def _as_stored(drawn: pa.Table, stored: pa.Schema | None) -> pa.Table:
    if stored is None:
        return drawn
    fields = [stored.field(name) for name in drawn.column_names]
    columns = [cast_to(drawn[field.name].combine_chunks(), field.type) for field in fields]
    return pa.table(columns, schema=pa.schema(fields))


def _refuse_nobody(rows: WarehouseRows, asked: AnonymizationRequest) -> None:
    nobody = 0
    if rows.persons:
        nobody = scalar(rows.warehouse, "rows without a person", expressions.without_key(rows.table, rows.persons))
    if nobody:
        raise DataError(
            f"{asked.source}: {nobody:,} rows lack a value in data.person ({', '.join(asked.data.person_columns)})",
            hint="persons are drawn, and such a row may be one of any person: leave these rows out of the source, in a "
            "warehouse by a view",
        )


def _identifiers(searched: SearchedRows) -> dict[str, tuple[int, int]]:
    asked, rows = searched.asked, searched.rows
    names = [name for name in asked.columns if asked.role(name) is Role.IDENTIFIER]
    if not names:
        return {}
    found = rows.warehouse.fetch("longest identifiers", expressions.longest(rows.table, names)).to_pylist()[0]
    return {name: (found[f"any_{at}"] or 0, found[f"like_{at}"] or 0) for at, name in enumerate(names)}


def _draw(
    searched: SearchedRows, kept: Any, columns: list[str], result: AnonymizationResult, size: int, key: bytes
) -> tuple[pa.Table, int]:
    n_rows = result.records - result.suppressed
    n_units = result.kept_people
    wanted = min(max(size * n_units // n_rows, 1), n_units)
    found = _smallest(searched.rows, kept, columns, key, wanted, n_units)
    digests = found[DIGEST].combine_chunks().dictionary_encode()
    order = np.argsort(digests.dictionary.to_numpy(zero_copy_only=False))[:wanted]
    chosen = np.zeros(len(digests.dictionary), dtype=bool)
    chosen[order] = True
    drawn = found.filter(pa.array(chosen[digests.indices.to_numpy()]))
    keys = expressions.person_keys(searched.rows.persons)
    units = drawn.group_by(keys).aggregate([]).num_rows if keys else len(order)
    return drawn.select(columns).sort_by([(name, "ascending") for name in columns]), units


def _smallest(rows: WarehouseRows, kept: Any, columns: list[str], key: bytes, wanted: int, n_units: int) -> pa.Table:
    """Rows of units with small digests, a few more than wanted."""
    secret = rows.warehouse.send("key of the sample", pa.table({KEY: [key.hex()]}))
    keys, unit = expressions.person_keys(rows.persons), list(rows.unit) or columns
    found = kept.select(list(dict.fromkeys([*columns, *keys, *unit])))
    found = expressions.digested(found, unit, secret, each_row=not rows.persons, engine=rows.warehouse.engine)
    share = (wanted + _SPREAD * math.sqrt(wanted) + _SPREAD**2) / n_units
    if share < 1:
        found = found.filter(found[DIGEST] < format(int(share * 16**_DIGITS), f"0{_DIGITS}x"))
    return rows.warehouse.fetch("sample", found.select([*columns, *keys, DIGEST]))


def label_sample(records: Table, hierarchies: Mapping[str, Hierarchy], whole: WholeTable) -> AnonymizedTable:
    """Give sampled records, without identifiers, the labels that were verified on all rows.

    Each combination of labels is one of a verified class, so at least k persons of the whole table have it; in the
    sample it can have fewer. Protection may have changed values: records without such a combination are left out. The
    result is that of the whole table, by whose rules ``hierarchies`` were built.
    """
    names = records.schema.quasi_identifiers
    used = {name: hierarchies[name] for name in names}
    leaves = np.stack([tree.encode(records.frame[name]) for name, tree in used.items()], axis=1)
    levels = [_level(tree, whole.hierarchies[name], whole.levels[name]) for name, tree in used.items()]
    columns = zip(used.values(), leaves.T, levels, strict=True)
    nodes = np.stack([tree.node_of[codes, level] for tree, codes, level in columns], axis=1)
    kept = _verified(nodes, used, whole)
    _refuse_wrong(leaves, nodes, used, kept)
    nodes, originals = nodes[kept], records.take(kept)
    rest = originals.only([name for name in records.schema.names if name not in used])
    packed = ((nodes[:, at], tree.n_nodes) for at, tree in enumerate(used.values()))
    class_ids, _ = group_rows(*pack_small(packed, len(nodes)))
    return AnonymizedTable(
        labels=LabelTable(nodes, rest, records.schema, used),
        originals=originals,
        leaves=leaves[kept],
        class_ids=class_ids,
        suppressed=records.take(~kept),
        result=whole.result,
    )


def _level(tree: Hierarchy, there: Hierarchy, level: int) -> int:
    """Level of a column's labels: where protection left no value, the hierarchy has the root alone."""
    if tree.n_levels == there.n_levels:
        return level
    return tree.n_levels - 1 if level == there.n_levels - 1 else 0


def _verified(nodes: Nodes, used: Mapping[str, Hierarchy], whole: WholeTable) -> Mask:
    texts = {name: np.array(tree.labels, dtype=object)[nodes[:, at]] for at, (name, tree) in enumerate(used.items())}
    classes = pd.MultiIndex.from_frame(whole.classes[list(used)])
    found: Mask = pd.MultiIndex.from_frame(pd.DataFrame(texts)).isin(classes)
    return found


def _refuse_wrong(leaves: Leaves, nodes: Nodes, used: Mapping[str, Hierarchy], kept: Mask) -> None:
    failures: list[str] = [
        sentence("broken.cover", column=name)
        for at, (name, tree) in enumerate(used.items())
        if not covered(tree, leaves[:, at], nodes[:, at])
    ]
    if not kept.any():
        failures.append("no record has a combination of labels that was verified")
    if failures:
        raise VerificationError(
            sentence("broken.sample", found=tuple(failures)),
            hint="the table may have changed meanwhile: run again",
        )
