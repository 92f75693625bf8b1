"""Digests of rows, computed by an engine.

Of a whole table, and keyed ones of the units of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DIGEST, KEY = "hybrid_digest", "hybrid_key"
_TEXT, _OCCURRENCE = "hybrid_text", "hybrid_occurrence"
_BETWEEN = "\x1f"
"""Between the columns of a row's text."""
_LARGE = 2**31 - 1
"""Prime below which hashes are summed, so that no sum of 64 bits overflows."""


def content(rows: Any, names: Sequence[str]) -> Any:
    """Number of rows, and two sums of hashes of their content.

    The same for the same rows in any order.
    """
    texts = rows.select(text=_text_of(rows, names))
    hashes = {f"hash_{at}": texts.text.concat(str(at)).hash().cast("int64") % _LARGE for at in range(2)}
    hashed = texts.select(**hashes)
    return hashed.aggregate(rows=hashed.count(), **{name: hashed[name].sum() for name in hashes})


def digested(rows: Any, unit: Sequence[str], key: Any, *, each_row: bool, engine: str) -> Any:
    """Rows with the keyed digest of their sampling unit.

    SHA-256 of key and unit.

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
