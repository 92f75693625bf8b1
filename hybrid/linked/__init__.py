"""Linked tables: several tables about the same people, from their configuration to their release."""
