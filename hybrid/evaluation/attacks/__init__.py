"""Metrics of the family privacy, one subject per file."""
