"""Expressions of the operations in a warehouse, for every engine of ibis: counts, labels, digests of rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hybrid.table.surrogates import SURROGATES

RECORDS, NUMBER, CLASS, PERSON, PERSONS, ALONE = (
    f"hybrid_{name}" for name in ("records", "number", "class", "person", "persons", "alone")
)
"""Columns that are added to those of the table."""


def plain(rows: Any) -> Any:
    """The rows with UUIDs as texts, and numbers as a table in memory has them."""
    changed = {name: rows[name].cast("string") for name, kind in rows.schema().items() if kind.is_uuid()}
    changed |= {name: number(rows[name]) for name, kind in rows.schema().items() if kind.is_floating()}
    return rows.mutate(**changed) if changed else rows


def number(column: Any) -> Any:
    """A column of floating-point numbers: NaN is missing, and zero has one sign."""
    import ibis

    return ibis.ifelse(column.isnan(), ibis.null(column.type()), (column + 0.0).cast(column.type()))


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


def numbered(combinations: Any) -> Any:
    """Combinations with a number each, 0, 1, ..."""
    import ibis

    return combinations.mutate(**{NUMBER: ibis.row_number()})


def person_rows(rows: Any, names: Sequence[str], persons: Sequence[str]) -> Any:
    """Distinct pairs of a person and a combination, with records.

    With the number of the combination, and whether it is the only one of a person with a key.
    """
    import ibis

    keys = person_keys(persons)
    pairs = combinations(rows, [*keys, *names])
    number = ibis.dense_rank().over(order_by=[pairs[name] for name in names])
    alone = _has_key(pairs, keys) & (ibis._.count().over(group_by=keys) == 1)
    return pairs.mutate(**{NUMBER: number, ALONE: alone})


def combinations_of(pairs: Any, names: Sequence[str]) -> Any:
    """Distinct rows of some columns, from :func:`person_rows`, with records and number."""
    return pairs.group_by([NUMBER, *names]).agg(**{RECORDS: pairs[RECORDS].sum()})


def alone(pairs: Any) -> Any:
    """Number of persons with no other combination, by combination and the records that they have of it."""
    import ibis

    return pairs.filter(pairs[ALONE]).group_by([NUMBER, RECORDS]).agg(**{PERSONS: ibis._.count()})


def shared(pairs: Any, persons: Sequence[str]) -> Any:
    """Numbers of combination and person, and records, of persons with several combinations."""
    import ibis

    keys = person_keys(persons)
    several = pairs.filter(_has_key(pairs, keys) & ~pairs[ALONE])
    person = ibis.dense_rank().over(order_by=[several[key] for key in keys])
    return several.select(**{NUMBER: several[NUMBER], PERSON: person, RECORDS: several[RECORDS]})


def nobodys(pairs: Any, persons: Sequence[str]) -> Any:
    """Rows that name no person, by the number of their combination."""
    unknown = pairs.filter(~_has_key(pairs, person_keys(persons)))
    return unknown.group_by(NUMBER).agg(**{RECORDS: unknown[RECORDS].sum()})


def _has_key(rows: Any, keys: Sequence[str]) -> Any:
    import ibis

    return ibis.and_(*(rows[key].notnull() for key in keys))


def counted(rows: Any, name: str) -> Any:
    """Distinct values of a column with their number of rows, ordered; of combinations, with their records."""
    import ibis

    records = rows[RECORDS].sum() if RECORDS in rows.columns else ibis._.count()
    return rows.group_by(name).agg(**{RECORDS: records}).order_by(name)


def classified(combinations: Any, classes: Any, names: Sequence[str]) -> Any:
    """Distinct values of some columns, and the number of the class that rows with them are in.

    ``classes`` is :data:`CLASS` by :data:`NUMBER`; not of combinations that are left out.
    """
    return combinations.inner_join(classes, NUMBER).select(*names, CLASS).distinct()


def kept_rows(rows: Any, combinations: Any, names: Sequence[str], missing: Collection[str]) -> Any:
    """Released rows as they are, with the number of their class."""
    beside = combinations.rename({f"hybrid_value_{at}": name for at, name in enumerate(names)})
    equal = []
    for at, name in enumerate(names):
        mine, theirs = rows[name], beside[f"hybrid_value_{at}"]
        if name in missing:  # No engine joins by "is not distinct from" as fast as by two equalities, PostgreSQL least.
            equal.append(mine.isnull() == theirs.isnull())
            mine, theirs = (column.fill_null(_any_value(column.type())) for column in (mine, theirs))
        equal.append(mine == theirs)
    return rows.inner_join(beside, equal).select(*rows.columns, CLASS)


def _any_value(kind: Any) -> Any:
    """Some value of a type."""
    import ibis

    if kind.is_string():
        return ibis.literal("")
    if kind.is_boolean():
        return ibis.literal(False)
    text = "1970-01-01" if kind.is_date() or kind.is_timestamp() else "00:00:00" if kind.is_time() else 0
    return ibis.literal(text).cast(kind)


def in_classes(kept: Any, first: int, last: int) -> Any:
    """Rows of :func:`kept_rows` in a range of classes, both ends included."""
    return kept.filter(kept[CLASS].between(first, last))


def labelled(kept: Any, labels: Any, names: Sequence[str]) -> Any:
    """Rows of :func:`kept_rows` with labels in the place of the quasi-identifiers.

    ``labels`` has them by class, in columns named by :func:`label_names`.
    """
    rows = kept.inner_join(labels, CLASS)
    others = [name for name in kept.columns if name not in (*names, CLASS)]
    named = {name: rows[label] for name, label in zip(names, label_names(names), strict=True)}
    return rows.select(CLASS, **named, **{name: rows[name] for name in others})


def label_names(names: Sequence[str]) -> list[str]:
    """Columns of the labels of some quasi-identifiers."""
    return [f"hybrid_label_{at}" for at in range(len(names))]


def in_content_order(rows: Any, names: Sequence[str], columns: Sequence[str]) -> Any:
    """Some columns of rows with classes, ordered by their content, so that nothing is left of any other order.

    By the labels first: classes are numbered in the order of these, and one number is compared for all of ``names``.
    """
    return rows.order_by([CLASS, *(name for name in columns if name not in names)]).select(*columns)


def persons_of_classes(kept: Any, persons: Sequence[str]) -> Any:
    """Records and distinct persons of each class of :func:`kept_rows`."""
    import ibis

    keys = person_keys(persons)
    pairs = combinations(kept, [*keys, CLASS])
    people = ibis.ifelse(_has_key(pairs, keys), 1, 0).sum()
    return pairs.group_by(CLASS).agg(**{RECORDS: pairs[RECORDS].sum(), PERSONS: people})


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
    """Rows with the keyed digest of their sampling unit, the columns ``unit``: SHA-256 of key and unit.

    The secret is a table of one row, since texts of queries are logged. With ``each_row`` rows of equal columns are
    units of their own.
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
