"""Metrics of the family privacy, one concept per file."""
