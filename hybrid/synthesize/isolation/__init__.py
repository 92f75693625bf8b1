"""Generators in processes and environments of their own."""
