"""Registry of the report's sections, in their order.

One file per section, one line here.
"""

from typing import Any

from hybrid.report.run.sections import (
    anonymity,
    changes,
    columns,
    constraints,
    limits,
    pairs,
    pipeline_steps,
    privacy,
    protection,
    stages,
    tables,
    utility,
    verdict,
    who_is_missing,
)
from hybrid.report.run.sections.section import ReportedRun, Section

SECTIONS: tuple[Section, ...] = (
    verdict.SECTION,
    pipeline_steps.SECTION,
    protection.SECTION,
    anonymity.SECTION,
    who_is_missing.SECTION,
    columns.SECTION,
    pairs.SECTION,
    constraints.SECTION,
    utility.SECTION,
    privacy.SECTION,
    stages.SECTION,
    changes.SECTION,
    limits.SECTION,
)
"""Every section, in the order of the report."""
JOINT: tuple[Section, ...] = (verdict.SECTION, tables.SECTION, changes.SECTION, limits.SECTION)
"""Sections of the first page of a report of linked tables."""


def collect_sections(run: ReportedRun, smallest: int) -> dict[str, Any]:
    """Aggregates that sections take from the run themselves, by anchor.

    ``smallest``: fewest records that a number of the report may count.
    """
    return {section.anchor: section.collect(run, smallest) for section in SECTIONS if section.collect is not None}
