"""Metrics of the family utility, one concept per file."""
