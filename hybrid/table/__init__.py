"""Tables about people: schema, reading, writing, splitting."""

from hybrid.table.kinds.registry import DTYPES, Kind
from hybrid.table.kinds.value_type import ColumnFormat
from hybrid.table.schema import Column, Role, Schema, Table

__all__ = ["DTYPES", "Column", "ColumnFormat", "Kind", "Role", "Schema", "Table"]
