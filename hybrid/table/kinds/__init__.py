"""Kinds of values: one class each, and the list of them in :mod:`hybrid.table.kinds.registry`."""
