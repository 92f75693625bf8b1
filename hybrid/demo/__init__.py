"""A simulated population of hospital admissions: a table, its hierarchies and a config to try everything on."""

from hybrid.demo.write import write_demo

__all__ = ["write_demo"]
