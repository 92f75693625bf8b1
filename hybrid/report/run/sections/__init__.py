"""Registry of the report's sections, in their order.

One file per section, one line here.
"""

from typing import Any

from hybrid.report.run.sections import (
    analyses,
    anonymity,
    changes,
    checks,
    columns,
    constraints,
    content,
    limits,
    pairs,
    pipeline_steps,
    privacy,
    protection,
    rows,
    stages,
    tables,
    utility,
    verdict,
    who_is_missing,
)
from hybrid.report.run.sections.section import ReportedRun, Section

FIRST_PAGE: tuple[Section, ...] = (
    verdict.SECTION,
    content.SECTION,
    pipeline_steps.SECTION,
    pipeline_steps.FILES,
    rows.SECTION,
)
"""Sections of the page that people decide by, in their order."""
DETAILS: tuple[Section, ...] = (
    checks.SECTION,
    protection.SECTION,
    anonymity.SECTION,
    who_is_missing.SECTION,
    columns.SECTION,
    pairs.SECTION,
    constraints.SECTION,
    analyses.SECTION,
    utility.SECTION,
    privacy.SECTION,
    stages.SECTION,
    pipeline_steps.DETAILS,
    changes.SECTION,
    limits.SECTION,
)
"""Sections of the page with everything else."""
SECTIONS = (*FIRST_PAGE, *DETAILS)
"""Every section, in the order of the report."""
JOINT: tuple[Section, ...] = (verdict.SECTION, tables.SECTION)
"""Sections of the first page of a report of linked tables."""
JOINT_DETAILS: tuple[Section, ...] = (checks.SECTION, changes.SECTION, limits.SECTION)
"""Sections of the page with everything else about linked tables together."""


def collect_sections(run: ReportedRun, smallest: int) -> dict[str, Any]:
    """Aggregates that sections take from the run themselves, by anchor.

    ``smallest``: fewest records that a number of the report may count.
    """
    return {section.anchor: section.collect(run, smallest) for section in SECTIONS if section.collect is not None}
