"""Laboratory on a table from elsewhere: leaks of known size are planted into it."""

from hybrid.lab.tables.plan import SCALES, TablesPlan
from hybrid.lab.tables.run import TablesForecast, foresee_tables, run_on_tables

__all__ = ["SCALES", "TablesForecast", "TablesPlan", "foresee_tables", "run_on_tables"]
