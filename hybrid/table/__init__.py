"""Tables about people: schema, reading, writing, splitting."""

from hybrid.table.schema import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table

__all__ = ["DTYPES", "Column", "ColumnFormat", "Kind", "Role", "Schema", "Table"]
