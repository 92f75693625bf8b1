"""Foundations without knowledge of tables: errors, options, hashing, locks, logs."""
