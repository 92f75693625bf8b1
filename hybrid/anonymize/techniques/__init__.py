"""Techniques of anonymization: one file each, one protocol, one registry."""
