"""Thin Prefect flows over the library."""
