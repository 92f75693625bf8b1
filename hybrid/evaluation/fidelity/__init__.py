"""Metrics of the family fidelity, one concept per file."""
