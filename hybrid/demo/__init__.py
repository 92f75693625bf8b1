"""Simulated hospital admissions: a table, its hierarchies and a config."""

from hybrid.demo.write import write_demo

__all__ = ["write_demo"]
