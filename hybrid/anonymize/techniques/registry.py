"""Registry of techniques, the columns of each step, and what a list of steps promises together.

A new technique is one file and one line of :data:`REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Field, TypeAdapter

from hybrid.anonymize.models.protocol import PopulationModel
from hybrid.anonymize.models.t_closeness import TCloseness
from hybrid.anonymize.techniques.coding import Coding
from hybrid.anonymize.techniques.generalization import Generalization
from hybrid.anonymize.techniques.microaggregation import Microaggregation
from hybrid.anonymize.techniques.noise import Noise
from hybrid.anonymize.techniques.pram import Pram
from hybrid.anonymize.techniques.protocol import LabelTechnique, Technique
from hybrid.anonymize.techniques.rank_swapping import RankSwapping
from hybrid.anonymize.techniques.suppression import Suppression
from hybrid.base.errors import ConfigError, Problem
from hybrid.table import Role, Schema

if TYPE_CHECKING:
    from hybrid.anonymize.options import AnonymizeOptions


REGISTRY: tuple[type[Technique], ...] = (
    Generalization,
    Suppression,
    Microaggregation,
    Pram,
    RankSwapping,
    Noise,
    Coding,
)
"""Every technique."""
LABELLING = frozenset(
    str(technique.model_fields["name"].default) for technique in REGISTRY if issubclass(technique, LabelTechnique)
)
"""Names of the techniques that make labels of hierarchies."""


def _steps(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return [{"name": one} if isinstance(one, str) else one for one in listed]


if TYPE_CHECKING:
    AnyTechnique = Technique
    Steps = tuple[Technique, ...]
else:
    AnyTechnique = Annotated[Union[REGISTRY], Field(discriminator="name")]  # noqa: UP007
    """Options of a technique."""
    Steps = Annotated[tuple[AnyTechnique, ...], BeforeValidator(_steps), Field(min_length=1)]
    """One technique by its name or its options, or several in their order."""


def technique_of(options: Mapping[str, Any]) -> Technique:
    """Technique from its options as kept with a result (JSON types).

    A pydantic.ValidationError for one that is not registered, or has other options: nothing is known of its promise.
    """
    made: Technique = TypeAdapter(AnyTechnique).validate_python(dict(options))
    return made


Assigned = tuple[tuple[Technique, tuple[str, ...]], ...]
"""Steps with their columns, in order."""


def refuse_misfits(options: AnonymizeOptions) -> None:
    """Check steps and the other options of the section against each other."""
    steps = options.technique
    if generalizes(options):
        return
    labelling = [at for at, step in enumerate(steps) if isinstance(step, LabelTechnique)]
    if len(steps) > 1 and not all(step.columns for step in steps):
        raise ValueError("technique: with several steps, each needs its columns")
    names = [name for step in steps for name in step.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"technique: {', '.join(map(repr, twice))} in two steps; a column is masked once")
    if len(labelling) > 1:
        raise ValueError("technique: one step may generalize or leave out records; put its columns together")
    if labelling and labelling[0]:
        raise ValueError(
            f"technique: {steps[labelling[0]].name} may leave out records, and comes before steps that would have "
            "counted on them"
        )
    if options.known_rows > 1 or options.population is not None:
        raise ValueError("known_rows and population need technique: generalization")
    if any(isinstance(model, PopulationModel) for model in options.models):
        raise ValueError("a population model needs technique: generalization")
    if options.models and not any(step.k_anonymous for step in steps):
        raise ValueError("models are about groups of k persons, and no step makes any")
    first = any(isinstance(step, Microaggregation) and step.closeness == "first" for step in steps)
    if first and sum(isinstance(model, TCloseness) for model in options.models) != 1:
        raise ValueError("technique: closeness: first needs one model t_closeness, whose column makes the strata")
    if not labelling and (options.levels or options.beforehand is not None):
        raise ValueError("levels and beforehand are about labels, and no step makes any")


def generalizes(options: AnonymizeOptions) -> bool:
    """True if all quasi-identifiers are generalized, and nothing else is done."""
    return options.technique == (Generalization(),)


def assigned(options: AnonymizeOptions, schema: Schema) -> Assigned:
    """Steps with their columns in a table.

    Refused at once: columns that are not there or may not be masked, quasi-identifiers without a step, and what a
    technique says against its columns.
    """
    steps = steps_on(options, schema.quasi_identifiers)
    problems = list(_problems(steps, schema, options))
    if problems:
        raise ConfigError(problems)
    return steps


def steps_on(options: AnonymizeOptions, quasi_identifiers: Sequence[str]) -> Assigned:
    """Steps with their columns: those they name, or all quasi-identifiers."""
    return tuple((step, step.columns or tuple(quasi_identifiers)) for step in options.technique)


def _problems(steps: Assigned, schema: Schema, options: AnonymizeOptions) -> Iterator[Problem]:
    for step, names in steps:
        known = [name for name in names if name in schema]
        if unknown := sorted(set(names) - set(known)):
            yield Problem(
                f"anonymize.technique: {step.name} has columns that are none of the table: {', '.join(unknown)}",
                f"one of: {', '.join(schema.names)}",
            )
        outside = [name for name in known if schema[name].role is not Role.QUASI_IDENTIFIER]
        if outside:
            yield Problem(
                f"anonymize.technique: {step.name} masks quasi-identifiers, and {', '.join(outside)} is none",
                "give the column role: quasi_identifier if an attacker may know it, or leave it out of the step",
            )
        yield from step.problems([schema[name] for name in known])
    covered = {name for _, names in steps for name in names}
    if bare := [name for name in schema.quasi_identifiers if name not in covered]:
        yield Problem(
            f"anonymize.technique: no step masks the quasi-identifiers {', '.join(bare)}",
            "add them to a step, or give them another role if no attacker knows them",
        )
    if options.models and not gives_k(steps, schema.quasi_identifiers):
        yield Problem(
            "anonymize.models are about groups of k persons, and no step makes groups on all quasi-identifiers",
            "leave the models out, or mask all quasi-identifiers in one step of generalization or microaggregation",
        )


def gives_k(steps: Assigned, quasi_identifiers: Sequence[str]) -> bool:
    """True if one step gives k-anonymity on all quasi-identifiers.

    Columns are disjoint, so further steps change none of them. Groups of k on some of the quasi-identifiers and other
    values in the rest promise nothing: an attacker who knows all of them can single out records.
    """
    return any(step.k_anonymous and set(quasi_identifiers) <= set(names) for step, names in steps)


def unlabelled(options: AnonymizeOptions, quasi_identifiers: Sequence[str]) -> frozenset[str]:
    """Quasi-identifiers that need no hierarchy, since a technique of values masks them."""
    return frozenset(
        name
        for step in options.technique
        if not isinstance(step, LabelTechnique)
        for name in (step.columns or quasi_identifiers)
        if name in quasi_identifiers
    )


def sensible_transitions(options: AnonymizeOptions) -> frozenset[str] | None:
    """Transitions that make sense after all steps; None: all."""
    found = [step.transitions for step in options.technique if step.transitions is not None]
    return frozenset.intersection(*found) if found else None
