"""Contradictions between the sections of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hybrid.anonymize.techniques.assignment import sensible_transitions
from hybrid.base.config_files import Source
from hybrid.base.errors import ConfigError, Problem
from hybrid.constraints import DrawCondition
from hybrid.constraints.checks import contradictions
from hybrid.constraints.kinds.counter import PERSON, Counter
from hybrid.leak import leak_of, removal_of
from hybrid.pipeline.private_mode import private_problems
from hybrid.pipeline.warehouse_problems import is_pushed_down
from hybrid.synthesize.registry import sequence_generators
from hybrid.table import Kind, Role
from hybrid.table.schema import PARQUET_SUFFIXES

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

NO_TRANSITION = Problem(
    "transition is off but anonymize is set: the generator needs values, and without a transition only the original "
    "ones are left",
    "leave transition out (then it is tree), choose a method, or set anonymize: null to do without anonymization",
)


def refuse_contradictions(config: RunConfig, source: Source = Source("config")) -> None:  # noqa: B008 - frozen
    """Check that the sections of a configuration are consistent.

    However it was made.

    Raises
    ------
    ConfigError
        They do not; all problems at once.
    """
    problems = [
        Problem(f"{source.at_key_of(problem.message)}: {problem.message}", problem.hint)
        for problem in _contradictions(config)
    ]
    if problems:
        raise ConfigError(problems)


def _stage_order(config: RunConfig) -> Iterator[Problem]:
    """Contradiction between the stated order of stages and other sections."""
    stated = config.stages
    if stated is None or stated == config.described_stages:
        return
    at = {stage: position for position, stage in enumerate(stated)}
    if at.get("synthesize", len(at)) < at.get("anonymize", -1):
        yield Problem(
            "stages: anonymizing after synthesis is refused: the generator has then learned from the original records, "
            "and the labels of invented people protect no person",
            "put anonymize first",
        )
    elif "transition" in at and at["transition"] < at.get("anonymize", len(at)):
        yield Problem(
            "stages: a transition without anonymization before it has no labels to restore", "put anonymize first"
        )
    else:
        described = ", ".join(config.described_stages)
        yield Problem(
            f"stages: the other sections describe the order [{described}]",
            "leave stages out, or set transition.order: pre (before the generator) or post (after it), and "
            "sample.order: pre (before anonymization) or post (after it)",
        )


def _persons(config: RunConfig) -> Iterator[Problem]:
    """Contradictions between the person of a row and other keys."""
    data, names = config.data, config.data.person_columns
    homes = data.household_columns
    for key, name in (*(("person", name) for name in names), *(("household", name) for name in homes)):
        column = data.columns.get(name)
        if column is None or column.role is not Role.IDENTIFIER:
            yield Problem(
                f"data.{key}: the column {name!r} does not have the role identifier",
                f"set data.columns.{name}.role: identifier; it is never learned, and surrogates take its place",
            )
    if homes and set(names) == set(homes):
        yield Problem(
            "data.household names the columns of data.person: a household then is one person",
            "name the column that members of a household share, or leave data.household out",
        )
    if homes and config.split.key is not None:
        yield Problem(
            f"split.key: {config.split.key!r} is not needed: data.household keeps households on one side",
            "leave split.key out",
        )
    elif names and config.split.key is not None and names != (config.split.key,):
        yield Problem(
            f"split.key: {config.split.key!r} is not the person of data.person ({', '.join(names)})",
            "leave split.key out: all rows of a person stay on one side",
        )
    if config.anonymize is not None and config.anonymize.known_rows > 1 and not names:
        yield Problem(
            "anonymize.known_rows is about rows of one person, and data.person names no column",
            "set data.person, or leave known_rows out",
        )
    if config.anonymize is not None and config.anonymize.engine == "anjana" and names:
        yield Problem("engine anjana counts records, and data.person asks for persons", "use anonymize.engine: exact")
    if data.order is not None and not names:
        yield Problem(
            "data.order orders the rows of a person, and data.person names no column",
            "set data.person, or leave order out",
        )
    if data.order is not None and names and not config.synthesize.is_off and not config.synthesize.learns_sequences:
        yield Problem(
            f"data.order asks for persons with their rows in order; {config.synthesize.generator} draws single rows",
            f"use synthesize.generator: {' or '.join(sequence_generators())}, or leave order out: each row then has a "
            "person number of its own",
        )
    for at, constraint in enumerate(config.constraints):
        if isinstance(constraint, Counter) and constraint.counter.within == PERSON and not names:
            yield Problem(
                f"constraints.{at}.counter counts within persons, and data.person names no column",
                "set data.person, or name the column to count within",
            )
    if data.max_rows is not None and not names:
        yield Problem(
            "data.max_rows limits the rows of a person, and data.person names no column",
            "set data.person, or leave max_rows out",
        )


def _known_leak(config: RunConfig) -> Iterator[Problem]:
    """Contradictions of a known leak, or of removed outliers, with other stages."""
    if config.risk is None:
        return
    off = {
        "protect": config.protection is None,
        "anonymize": config.anonymize is None,
        "sample": config.sample.method == "none",
    }
    for section in (name for name, is_off in off.items() if not is_off):
        yield Problem(
            f"{section} is set beside risk: the laboratory tries training records as they are",
            "set protect: off, anonymize: null and sample: {method: none}, or leave risk out",
        )
    if removal_of(config.risk) is not None and config.synthesize.is_off:
        yield Problem("risk.model outliers: no generator learns the others", "set synthesize.generator")
    if leak_of(config.risk) is not None and not config.split.release:
        yield Problem("risk needs people whom neither training nor control holds", "set split.release, such as 0.333")
    if config.evaluate.retrain is not None:
        yield Problem(
            "evaluate.retrain trains the generator on other records, and risk says what it learns",
            "leave one of them out",
        )


def _condition(config: RunConfig) -> Iterator[Problem]:
    """Contradictions of the condition on drawn rows."""
    text = config.synthesize.where
    if text is None:
        return
    for problem in DrawCondition(text).malformed():
        yield Problem(f"synthesize.where: {problem.message}", problem.hint)
    if config.risk is not None:
        yield Problem("synthesize.where is set beside risk, where no rows are drawn", "leave one of them out")


def _filter(config: RunConfig) -> Iterator[Problem]:
    """Contradictions of a filter of drawn rows."""
    if config.synthesize.filter is None:
        return
    if config.split.control == 0:
        yield Problem("synthesize.filter measures distances by control records", "set split.control, such as 0.3")
    if config.synthesize.is_off or leak_of(config.risk) is not None:
        yield Problem(
            "synthesize.filter is set and no generator runs: every row lies on the record it was made from",
            "choose a generator, or leave filter out",
        )
    if config.draws_persons:
        yield Problem(
            "synthesize.filter judges single rows, and the generator draws persons with all their rows",
            "choose a generator of single rows, or leave filter out",
        )
    if any(column.role is Role.WEIGHT for column in config.data.columns.values()):
        yield Problem(
            "synthesize.filter leaves out rows after sampling weights were calibrated to margins",
            "leave filter out, or give the weight another role",
        )


def _crossed(config: RunConfig) -> Iterator[Problem]:
    """Contradictions of ``split.control: cross`` with sections that need people kept apart."""
    if not config.split.is_crossed:
        return
    needed = {
        "synthesize.filter, which measures distances by control records": config.synthesize.filter is not None,
        "synthesize.part_rows, whose parts are counted beside control records": config.synthesize.part_rows is not None,
        "risk, which tries a known leak": config.risk is not None,
        "anonymization in a warehouse, where only a sample comes out": is_pushed_down(config),
    }
    for what in (what for what, is_set in needed.items() if is_set):
        yield Problem(
            f"split.control: cross keeps nobody apart for {what}", "set split.control to a share, such as 0.3"
        )


def _weights(config: RunConfig) -> Iterator[Problem]:
    """Contradictions about the column with the sampling weights."""
    names = [name for name, column in config.data.columns.items() if column.role is Role.WEIGHT]
    if len(names) > 1:
        yield Problem(
            f"data.columns: {', '.join(names)} have the role weight, and a row has one sampling weight",
            "leave the role to the weight that users shall apply, and the others out of the file",
        )
    for name in names:
        column = config.data.columns[name]
        if column.kind not in (None, Kind.INTEGER, Kind.DECIMAL):
            yield Problem(f"data.columns.{name}: a weight is a number", "set kind: decimal, or leave it out")
        if column.target:
            yield Problem(f"data.columns.{name}: a weight is no target", "leave target out")
        if config.protection is not None and config.protection.columns.get(name) == "keep":
            yield Problem(
                f"protect.columns.{name}: a weight with many different values names rows, and is not kept as it is",
                f"leave {name} out of protect.columns: rare weights are drawn anew between their neighbours",
            )


def _technique(config: RunConfig) -> Iterator[Problem]:
    """Contradictions between masked values and the transition."""
    options, transition = config.anonymize, config.transition
    if options is None or transition is None or not config.unlabelled:
        return
    names = " and ".join(step.name for step in options.technique)
    sensible = sensible_transitions(options)
    if sensible is not None and transition.method not in sensible:
        yield Problem(
            f"transition.method: {transition.method} chooses values below labels, and {names} has masked values",
            f"use {' or '.join(sorted(sensible))}; single keeps them as they are",
        )
    if transition.order == "post":
        yield Problem(
            f"transition.order: post has the generator learn labels, and {names} has masked values",
            "leave transition.order out",
        )


def _in_parts(config: RunConfig) -> Iterator[Problem]:
    """Sections that look at all rows of a table at once."""
    options = config.synthesize
    if options.part_rows is None:
        return
    key, hint = "synthesize.part_rows", "leave part_rows out: all rows are then drawn and judged at once"
    if options.is_off or options.rows == "same" or options.rows <= options.part_rows:
        yield Problem(f"{key} is for more rows than that", "set synthesize.rows to the rows of the table")
    if options.filter is not None:
        yield Problem(f"{key}: synthesize.filter compares drawn rows with each other", hint)
    if config.privacy is not None:
        yield Problem(f"{key}: privacy.mode dp draws all rows at once", hint)
    if config.risk is not None:
        yield Problem(f"{key} is for tables that are released, and risk for known leaks", "leave part_rows out")
    if any(column.role is Role.WEIGHT for column in config.data.columns.values()):
        yield Problem(f"{key}: sampling weights are calibrated on all rows at once", hint)
    file = config.data_file
    as_source = file is not None and file.suffix not in PARQUET_SUFFIXES
    if config.output.format == "csv" or (config.output.format == "same" and as_source):
        yield Problem(f"{key} writes Parquet, and the table would be CSV", "set output.format: parquet")


def _contradictions(config: RunConfig) -> Iterator[Problem]:
    yield from _stage_order(config)
    yield from _known_leak(config)
    yield from _persons(config)
    yield from contradictions(config.constraints)
    yield from _condition(config)
    yield from _weights(config)
    yield from _filter(config)
    yield from _crossed(config)
    yield from _in_parts(config)
    yield from private_problems(config)
    quasi_identifiers = [name for name, column in config.data.columns.items() if column.role == "quasi_identifier"]
    if config.sample.order == "pre":
        if config.anonymize is None:
            yield Problem(
                "sample.order is pre, and nothing is anonymized that could be sampled before", "leave sample.order out"
            )
        if config.sample.method == "stratified" and config.sample.by == "equivalence_class":
            yield Problem(
                "sample.by is equivalence_class, and before anonymization (sample.order: pre) there are no classes",
                "set sample.by to column names, or use sample.method: beta",
            )
    if config.anonymize is None:
        if config.transition is not None:
            yield Problem(
                "transition is set but anonymize is not: without generalized labels there is nothing to restore",
                "add an anonymize section, or remove transition",
            )
        if config.sample.method == "stratified" and config.sample.by == "equivalence_class":
            yield Problem(
                "sample.by is equivalence_class but anonymize is not set, so there are no classes",
                "set sample.by to column names, or use sample.method: beta",
            )
        return
    if config.transition is None:
        yield NO_TRANSITION
    elif config.transition.method == "original" and config.synthesize.is_off:
        yield Problem(
            "transition.method is original and no generator runs: the result would be the records themselves",
            "choose a generator, or another method",
        )
    if not quasi_identifiers:
        yield Problem(
            "anonymize is set but no column has the role quasi_identifier",
            "give the columns an attacker may know role: quasi_identifier and a hierarchy",
        )
    yield from _technique(config)
    for name in quasi_identifiers:
        if not any(name in (step.columns or quasi_identifiers) for step in config.anonymize.technique):
            yield Problem(
                f"data.columns.{name}: no step masks this quasi-identifier",
                "add it to the columns of a step of anonymize.technique",
            )
        elif config.data.columns[name].hierarchy is None and name not in config.unlabelled:
            yield Problem(
                f"data.columns.{name}: a quasi-identifier needs a hierarchy",
                f"add hierarchy: PATH, or make one with hybrid init {config.data.path}",
            )
