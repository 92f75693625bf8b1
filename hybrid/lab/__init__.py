"""Laboratory of privacy metrics: trials on tables with a known leak."""

from hybrid.lab.plan import LabPlan, load_plan
from hybrid.lab.run import foresee, run_lab

__all__ = ["LabPlan", "foresee", "load_plan", "run_lab"]
