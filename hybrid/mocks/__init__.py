"""Mock tables: made without the records, for writing and testing code outside of the house."""

from hybrid.mocks.draw import mock_tables
from hybrid.mocks.statement import MockStatement

__all__ = ["MockStatement", "mock_tables"]
