"""Metrics of privacy that only research uses: attacks that train again, distances of an encoder, known origins.

Policies judge none of them. Modules with ``METRICS`` are entry points in ``pyproject.toml``.
"""
