"""Generators, one per file."""
