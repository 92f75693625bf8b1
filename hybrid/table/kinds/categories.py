"""Categories, which have no distance: texts, and truth values."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.table.kinds.value_type import ColumnFormat, InWords, ParsedTexts, ValueType, positions_of_bad

BOOLEAN_SPELLINGS = (
    *(("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")),
    *(("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"), ("sì", "no"), ("ja", "nee"), ("sim", "não")),
)


class CategoricalType(ValueType):
    """Words and codes; what is nothing else."""

    name = "categorical"
    words = "text"
    plural = InWords("words or codes", "Wörter oder Codes")
    dtype, plain_dtype = "category", "object"
    sort = "text"
    sql, croissant, datapackage = "Text", "sc:Text", "string"

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:  # noqa: ARG002
        return True

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        written = pa.array(texts, pa.large_string())
        if pc.all(pc.less(written[:-1], written[1:])).as_py() is not False:
            values = pd.Categorical.from_codes(np.arange(len(texts)), categories=pd.Index(texts, dtype=object))
        else:
            values = pd.Categorical(texts, categories=sorted(set(texts)))
        return ParsedTexts(pd.Series(values), ColumnFormat())

    def searched_texts(self, values: pd.Index) -> Iterable[str]:
        return map(str, values)

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:  # noqa: ARG002
        return None

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        raise NotImplementedError("texts are parsed")

    def to_arrow(self, values: pd.Series) -> pa.Array:
        return pa.array(values.astype(object).where(values.notna(), None), type=pa.string())

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        coded = kind in ("integer", "boolean")
        return values.astype("string").astype(object).astype("category") if coded else None


class BooleanType(ValueType):
    """Yes and no."""

    name = "boolean"
    words = "yes or no"
    plural = InWords("yes or no", "ja oder nein")
    dtype, plain_dtype = "boolean", "bool"
    sort = "truth"
    sql, croissant, datapackage = "Boolean", "sc:Boolean", "boolean"

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:  # noqa: ARG002
        return _spelling(texts) is not None

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        true, false = _spelling(texts) or _declared_spelling(texts)
        written = {text.lower(): text for text in texts}
        good = [text.lower() in (true, false) for text in texts]
        values = pd.array(
            [text.lower() == true if ok else pd.NA for text, ok in zip(texts, good, strict=True)], dtype="boolean"
        )
        shape = ColumnFormat(
            true=written.get(true, _same_case(written.get(false, ""), true)),
            false=written.get(false, _same_case(written.get(true, ""), false)),
        )
        return ParsedTexts(pd.Series(values), shape, positions_of_bad(good))

    def text(self, value: Any, shape: ColumnFormat) -> str:
        return shape.true if value else shape.false

    def cell(self, text: str, shape: ColumnFormat) -> Any:
        return text == shape.true if (shape.true, shape.false) == ("True", "False") else text

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        return ColumnFormat() if pa.types.is_boolean(arrow_type) else None

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        cast = pc.cast(raw, pa.bool_(), safe=False)
        return cast.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get).astype(self.dtype).rename(None)

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        coded = kind == "integer" and bool(values.dropna().isin([0, 1]).all())
        return values.astype("boolean") if coded else None


def _spelling(texts: list[str]) -> tuple[str, str] | None:
    if not 1 <= len(set(islice(texts, 3))) <= 2:
        return None
    lowered = {text.lower() for text in texts}
    if len(lowered) != len(set(texts)):
        return None
    for true, false in BOOLEAN_SPELLINGS:
        if lowered == {true, false} or (true == "true" and lowered < {true, false}):
            return true, false
    return None


def _declared_spelling(texts: list[str]) -> tuple[str, str]:
    """Spelling of a column declared boolean, where 1/0, on/off and single values count, too."""
    lowered = {text.lower() for text in texts}
    spellings = (*BOOLEAN_SPELLINGS, ("1", "0"), ("on", "off"))
    return max(spellings, key=lambda pair: len(lowered & set(pair)))


def _same_case(model: str, text: str) -> str:
    if model.isupper():
        return text.upper()
    return text.capitalize() if model[:1].isupper() else text
