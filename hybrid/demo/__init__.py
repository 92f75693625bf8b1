"""Simulated hospital admissions: tables, their hierarchies and a config."""

from hybrid.demo.write import write_demo
from hybrid.demo.write_linked import write_linked_demo

__all__ = ["write_demo", "write_linked_demo"]
