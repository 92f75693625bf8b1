"""Generators, one file (or folder) or family each."""
