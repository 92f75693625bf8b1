"""Contradictions between the sections of a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hybrid.anonymize.models.households import Households
from hybrid.base.config_files import ConfigSource
from hybrid.base.errors import Problem, refuse
from hybrid.constraints import DrawCondition
from hybrid.constraints.checks import contradictions
from hybrid.pipeline.refusals import BELOW, LINKED, modes_of, refusal, refused
from hybrid.table import Kind, Role

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

NO_TRANSITION = Problem(
    "transition is off but anonymize is set: the generator needs values, and without a transition only the original "
    "ones are left",
    "leave transition out (then it is tree), choose a method, or set anonymize: null to do without anonymization",
)


def refuse_contradictions(config: RunConfig, source: ConfigSource = ConfigSource("config")) -> None:  # noqa: B008 - frozen
    """Check that the sections of a configuration are consistent, however it was made."""
    problems = located(_contradictions(config), source)
    refuse(problems)


def located(problems: Iterable[Problem], source: ConfigSource) -> list[Problem]:
    """Problems with the lines of the keys that they name."""
    return [Problem(f"{source.at_key_of(one.message)}: {one.message}", one.hint) for one in problems]


def _stage_order(config: RunConfig) -> Iterator[Problem]:
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


def _condition(config: RunConfig) -> Iterator[Problem]:
    if config.synthesize.balance is not None and config.data.having(Role.WEIGHT):
        yield Problem(
            "synthesize.balance is set beside a sampling weight: a balanced table represents no population",
            "leave balance out, or give the weight the role excluded",
        )
    text = config.synthesize.where
    if text is None:
        return
    for problem in DrawCondition(text).malformed():
        yield Problem(f"synthesize.where: {problem.message}", problem.hint)


def _weights(config: RunConfig) -> Iterator[Problem]:
    names = config.data.having(Role.WEIGHT)
    if len(names) > 1:
        yield Problem(
            f"data.columns: {', '.join(names)} have the role weight, and a row has one sampling weight",
            "leave the role to the weight that users shall apply, and the others out of the file",
        )
    if config.margins is not None and not names:
        yield Problem(
            "margins: no column has the role weight, and weights are what is raked to published totals",
            "give the column of sampling weights the role weight",
        )
    if config.margins is not None and (config.synthesize.chooses or config.synthesize.is_off):
        yield Problem(
            "margins is set, and the rows are not drawn for the whole population",
            "leave synthesize.where out, choose a generator, or leave margins out",
        )
    for name in config.margins.totals if config.margins is not None else ():
        about = config.data.columns.get(name)
        if about is None or about.kind not in (None, Kind.CATEGORICAL, Kind.BOOLEAN) or not about.role.is_learned:
            yield Problem(
                f"margins.totals: {name!r} is no column of categories under data.columns",
                "name a column of the kind categorical or boolean",
            )
    for name in names:
        column = config.data.columns[name]
        if column.kind is not None and not column.kind.is_number:
            yield Problem(f"data.columns.{name}: a weight is a number", "set kind: decimal, or leave it out")
        if column.target:
            yield Problem(f"data.columns.{name}: a weight is no target", "leave target out")
        if config.protection is not None and config.protection.columns.get(name) == "keep":
            yield Problem(
                f"protect.columns.{name}: a weight with many different values names rows, and is not kept as it is",
                f"leave {name} out of protect.columns: rare weights are drawn anew between their neighbours",
            )


def _contradictions(config: RunConfig) -> Iterator[Problem]:
    yield from _stage_order(config)
    yield from refused(config, *modes_of(config))
    yield from _persons(config)
    yield from contradictions(config.constraints)
    yield from _condition(config)
    yield from _weights(config)
    yield from _households(config)
    if config.anonymize is None:
        return
    quasi_identifiers = config.data.having(Role.QUASI_IDENTIFIER)
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
    for name in quasi_identifiers:
        if not any(name in (step.columns or quasi_identifiers) for step in config.anonymize.technique):
            yield Problem(
                f"data.columns.{name}: no step masks this quasi-identifier",
                "add it to the columns of a step of anonymize.technique",
            )
        elif config.data.columns[name].hierarchy is None and name not in config.unlabelled:
            yield _without_hierarchy(f"data.columns.{name}")


def _without_hierarchy(at: str) -> Problem:
    return Problem(
        f"{at}: a quasi-identifier needs a hierarchy",
        "hybrid hierarchy make CONFIG writes one to start from, for each that has none; or add hierarchy: PATH",
    )


def _households(config: RunConfig) -> Iterator[Problem]:
    models = config.anonymize.models if config.anonymize else ()
    if any(isinstance(model, Households) for model in models) and not config.data.household_columns:
        yield Problem("anonymize.models: households are not known", "set data.household: the column that names them")


def _labels_below(config: RunConfig, name: str) -> Iterator[Problem]:
    names = config.generalized_below(name)
    if names:
        yield from refused(config, BELOW)
    for column in names:
        if config.links.tables[name].columns[column].hierarchy is None:
            yield _without_hierarchy(f"tables.{name}.columns.{column}")


def contradictions_of_sections(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Sections of the content of a configuration that contradict its section ``tables``."""
    if "data" in content:
        yield refusal(LINKED, "data beside tables")
    if content.get("constraints"):
        yield refusal(LINKED, "constraints beside tables")
    synthesize = content.get("synthesize")
    own = synthesize if isinstance(synthesize, Mapping) else {}
    single = {"privacy": content.get("privacy"), "synthesize.part_rows": own.get("part_rows")}
    yield from (refusal(LINKED, key) for key, value in single.items() if value is not None)


def contradictions_of_links(config: RunConfig) -> Iterator[Problem]:
    """Contradictions between the tables of a configuration of linked tables, and what they do not support."""
    links = config.links
    for name, view in config.views.items():
        for column in links.tables[name].references:
            if view.protection is not None and view.protection.choice(column) == "other":
                yield refusal(LINKED, "references protected by the category other", name, column)
        for column in links.tables[name].having(Role.WEIGHT) if name != links.person else ():
            yield refusal(LINKED, "weights of other tables", name, column, links.person)
        yield from _labels_below(config, name)
    own = links.tables[links.person].columns
    others = {name for table in links.tables.values() for name in table.columns if name not in own}
    for model in config.anonymize.models if config.anonymize else ():
        attribute = getattr(model, "attribute", None)
        if attribute in others:
            yield refusal(LINKED, "anonymize.models of other tables", repr(attribute), links.person)
