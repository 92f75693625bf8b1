"""Simulated hospital admissions: tables, their hierarchies and a config."""

from hybrid.demo.several_tables import write_linked_demo
from hybrid.demo.write import write_demo

__all__ = ["write_demo", "write_linked_demo"]
