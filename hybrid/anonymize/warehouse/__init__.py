"""Anonymization of tables that stay in a warehouse."""
