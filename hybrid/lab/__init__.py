"""Laboratory of privacy metrics: trials on tables with a known leak."""

from hybrid.lab.demo import demo_plan
from hybrid.lab.plan import LabPlan, load_plan
from hybrid.lab.run import Laboratory, foresee, run_lab

__all__ = ["LabPlan", "Laboratory", "demo_plan", "foresee", "load_plan", "run_lab"]
