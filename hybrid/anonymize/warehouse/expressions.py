"""Expressions of the operations in a warehouse, for every engine of ibis: counts, labels, digests of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from hybrid.table.surrogates import SURROGATES

RECORDS, NUMBER, PERSON, PERSONS, ALONE = (
    f"hybrid_{name}" for name in ("records", "number", "person", "persons", "alone")
)
"""Columns that are added to those of the table."""


def plain(rows: Any) -> Any:
    """The rows with UUIDs as texts."""
    uuids = {name: rows[name].cast("string") for name, kind in rows.schema().items() if kind.is_uuid()}
    return rows.mutate(**uuids) if uuids else rows


def person_keys(persons: Sequence[str]) -> list[str]:
    """Names under which the key columns of persons are kept."""
    return [f"{PERSON}_{at}" for at in range(len(persons))]


def with_keys(rows: Any, persons: Sequence[str], missing: Sequence[str]) -> Any:
    """The rows with the key of their person, without surrounding spaces; null where it is missing."""
    import ibis

    keys = {}
    for key, name in zip(person_keys(persons), persons, strict=True):
        column = rows[name]
        if column.type().is_string():
            column = column.strip()
            markers = sorted({marker.strip() for marker in missing})
            column = ibis.ifelse(column.isin(markers), ibis.null("string"), column) if markers else column
        keys[key] = column
    return rows.mutate(**keys)


def without_key(rows: Any, persons: Sequence[str]) -> Any:
    """Number of rows that name no person."""
    import ibis

    return rows.filter(ibis.or_(*(rows[key].isnull() for key in person_keys(persons)))).count()


def combinations(rows: Any, names: Sequence[str]) -> Any:
    """Distinct rows of some columns with their records."""
    import ibis

    return rows.group_by(list(names)).agg(**{RECORDS: ibis._.count()})


def repeated(rows: Any, names: Sequence[str]) -> Any:
    """Number of rows whose value another row has, per column."""
    counts = {name: rows[name].count() - rows[name].nunique() for name in names}
    return rows.aggregate(**counts)


def longest(rows: Any, names: Sequence[str]) -> Any:
    """Length of each column's longest value, and of the longest one that a surrogate may equal."""
    lengths = {}
    for at, name in enumerate(names):
        text = rows[name].cast("string").strip()
        lengths[f"any_{at}"] = text.length().max()
        lengths[f"like_{at}"] = text.length().max(where=text.re_search(SURROGATES))
    return rows.aggregate(**lengths)


def person_rows(rows: Any, names: Sequence[str], persons: Sequence[str]) -> Any:
    """Distinct pairs of a person and a combination, with records.

    With the number of the combination, and whether it is the only one of the person.
    """
    import ibis

    keys = person_keys(persons)
    pairs = combinations(rows, [*keys, *names])
    numbered = ibis.dense_rank().over(order_by=[pairs[name] for name in names])
    return pairs.mutate(**{NUMBER: numbered, ALONE: ibis._.count().over(group_by=keys) == 1})


def combinations_of(pairs: Any, names: Sequence[str]) -> Any:
    """Distinct rows of some columns, from :func:`person_rows`, with records, and persons who have no other one."""
    found = pairs.group_by([NUMBER, *names])
    return found.agg(**{RECORDS: pairs[RECORDS].sum(), PERSONS: pairs[ALONE].sum()})


def shared(pairs: Any, persons: Sequence[str]) -> Any:
    """Pairs of numbers of combination and person, of persons with several combinations."""
    import ibis

    several = pairs.filter(~pairs[ALONE])
    person = ibis.dense_rank().over(order_by=[several[key] for key in person_keys(persons)])
    return several.select(**{NUMBER: several[NUMBER], PERSON: person})


def counted(kept: Any, name: str) -> Any:
    """Distinct values of a column of combinations, with their records, ordered."""
    return kept.group_by(name).agg(**{RECORDS: kept[RECORDS].sum()}).order_by(name)


def mapping(values: pa.Array, labels: pa.DictionaryArray, at: int) -> pa.Table:
    """Labels by value of a quasi-identifier, with their positions among all labels, as a table to join with."""
    return pa.table(
        {f"hybrid_value_{at}": values, f"hybrid_label_{at}": labels, f"hybrid_position_{at}": labels.indices}
    )


def labels_between(mapping: Any, at: int, first: int, last: int) -> Any:
    """Rows of :func:`mapping` with labels of a range of positions, both ends included."""
    return mapping.filter(mapping[f"hybrid_position_{at}"].between(first, last))


def null_labels(labels: Mapping[int, pa.Array]) -> pa.Table:
    """Labels of missing values by the positions of their quasi-identifiers, as a table of one row."""
    return pa.table({f"hybrid_null_{at}": label for at, label in labels.items()})


def null_labels_of(nulls: Any, positions: Sequence[int]) -> Any:
    """Columns of :func:`null_labels` for some quasi-identifiers."""
    return nulls.select([f"hybrid_null_{at}" for at in positions])


def kept_rows(
    rows: Any, names: Sequence[str], mappings: Sequence[Any], nulls: Any | None, suppressed: Any | None
) -> Any:
    """Released rows as they are, with their labels beside them.

    Parameters
    ----------
    rows : ibis table
        With the columns ``names``.
    mappings : sequence of ibis tables
        As :func:`mapping`, without null; values that no released row has are not there.
    nulls : ibis table or None
        As :func:`null_labels`; where a quasi-identifier is not there, no released row lacks its value.
    suppressed : ibis table or None
        Combinations of labels that are left out, in columns named as in :func:`mapping`.
    """
    import ibis

    for at, (name, table) in enumerate(zip(names, mappings, strict=True)):
        joined = rows.left_join(table, rows[name] == table[f"hybrid_value_{at}"])
        rows = joined.drop(f"hybrid_value_{at}", f"hybrid_position_{at}")
    labels = _label_names(names)
    if nulls is not None:
        rows = rows.cross_join(nulls)
        given = {
            label: ibis.ifelse(rows[name].isnull(), rows[null], rows[label])
            for label, name, null in zip(labels, names, _names("null", len(names)), strict=True)
            if null in nulls.columns
        }
        rows = rows.mutate(**given).drop(nulls.columns)
    rows = rows.filter([rows[label].notnull() for label in labels])
    return rows if suppressed is None else rows.anti_join(suppressed, labels)


def labelled(kept: Any, names: Sequence[str]) -> Any:
    """Rows of :func:`kept_rows` with labels in the place of the quasi-identifiers."""
    labels = _label_names(names)
    others = [name for name in kept.columns if name not in (*names, *labels)]
    named = {name: kept[label] for name, label in zip(names, labels, strict=True)}
    return kept.select(**{name: named.get(name, kept[name]) for name in [*names, *others]})


def _label_names(names: Sequence[str]) -> list[str]:
    return _names("label", len(names))


def _names(kind: str, n: int) -> list[str]:
    return [f"hybrid_{kind}_{at}" for at in range(n)]


def in_content_order(rows: Any, columns: Sequence[str]) -> Any:
    """Some columns of the rows, ordered by their content, so that nothing is left of any other order."""
    chosen = rows.select(list(columns))
    return chosen.order_by(list(columns))


def persons_of_classes(rows: Any, names: Sequence[str], persons: Sequence[str]) -> Any:
    """Records and distinct persons of each class of labelled rows."""
    import ibis

    pairs = combinations(rows, [*names, *person_keys(persons)])
    return pairs.group_by(list(names)).agg(**{RECORDS: pairs[RECORDS].sum(), PERSONS: ibis._.count()})


DIGEST, KEY = "hybrid_digest", "hybrid_key"
_TEXT, _OCCURRENCE = "hybrid_text", "hybrid_occurrence"
_BETWEEN = "\x1f"
"""Between the columns of a row's text."""
_LARGE = 2**31 - 1
"""Prime below which hashes are summed, so that no sum of 64 bits overflows."""


def content(rows: Any, names: Sequence[str]) -> Any:
    """Number of rows, and two sums of hashes of their content: the same for the same rows in any order."""
    texts = rows.select(text=_text_of(rows, names))
    hashes = {f"hash_{at}": texts.text.concat(str(at)).hash().cast("int64") % _LARGE for at in range(2)}
    hashed = texts.select(**hashes)
    return hashed.aggregate(rows=hashed.count(), **{name: hashed[name].sum() for name in hashes})


def digested(rows: Any, unit: Sequence[str], key: Any, *, each_row: bool, engine: str) -> Any:
    """Rows with the keyed digest of their sampling unit: SHA-256 of key and unit.

    Parameters
    ----------
    rows : ibis table
    unit : sequence of str
        Columns that name the unit.
    key : ibis table
        One row with the secret in the column :data:`KEY`. A table, since texts of queries are logged.
    each_row : bool
        Whether each row is a unit, also those with equal columns.
    engine : str
        Name of the engine, which decides how a digest is written.
    """
    import ibis

    text, added = _text_of(rows, unit), [KEY, _TEXT]
    if each_row:
        # Equal rows are counted, and told apart by a number: half the work of a window over all rows.
        counted = rows.group_by(rows.columns).agg(**{_OCCURRENCE: ibis._.count()})
        rows = counted.mutate(**{_OCCURRENCE: ibis.range(counted[_OCCURRENCE]).unnest()})
        text, added = _text_of(rows, unit).concat(rows[_OCCURRENCE].cast("string")), [*added, _OCCURRENCE]
    rows = rows.mutate(**{_TEXT: text}).cross_join(key)
    return rows.mutate(**{DIGEST: _sha256(rows[KEY].concat(rows[_TEXT]), engine)}).drop(*added)


def _text_of(rows: Any, names: Sequence[str]) -> Any:
    """Text of some columns of a row, equal exactly for equal values."""
    import ibis

    parts = [
        ibis.ifelse(rows[name].isnull(), "n", ibis.literal("v").concat(rows[name].cast("string"))) for name in names
    ]
    return ibis.literal("").concat(*(part.concat(_BETWEEN) for part in parts))


def _sha256(text: Any, engine: str) -> Any:
    """SHA-256 of a text in UTF-8, as 64 hexadecimal digits."""
    match engine:
        case "postgres":
            found = _called("convert_to", "binary", text, "UTF8")
            return _called("encode", "string", _called("sha256", "binary", found), "hex")
        case "bigquery":
            return _called("to_hex", "string", _called("sha256", "binary", text))
        case "snowflake":
            return _called("sha2", "string", text)
        case _:
            return text.hexdigest("sha256")


def _called(name: str, returns: str, given: Any, option: str | None = None) -> Any:
    """Call of an engine's function that ibis does not know."""
    import ibis

    builtin, kind = ibis.udf.scalar.builtin, given.type()
    if option is None:
        return builtin(lambda value: value, name=name, signature=((kind,), returns))(given)
    return builtin(lambda value, _option: value, name=name, signature=((kind, "string"), returns))(given, option)
