"""Adapters of all generators, one per file; a new one is a file and a line."""
