"""Linked tables: several tables about the same people."""
