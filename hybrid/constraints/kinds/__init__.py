"""Kinds of constraints, a family in each file."""
