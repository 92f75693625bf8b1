"""Every technique of anonymization as a function on tables of any library, made from the registry of techniques.

Those that put other values in place (``microaggregation``, ``noise``, ``pram``, ``rank_swapping``, ``coding``) change
the given columns alone, and keep all rows in their order: identifiers and everything else are still there. Those that
make labels (``generalization``, ``suppression``) are :func:`hybrid.anonymize` with that technique.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from hybrid.python.functions import docstring, function, option_lines, option_parameters, paragraphs, parameter

if TYPE_CHECKING:
    from hybrid.anonymize.techniques.protocol import Technique
    from hybrid.python.frames import AnyTable

_OWN = ("name", "columns")


def _masked(
    technique: type[Technique],
    table: AnyTable,
    columns: Sequence[str],
    k: int = 5,
    person: str | None = None,
    seed: int | None = None,
    **options: Any,
) -> Any:
    from hybrid.anonymize.options import AnonymizeOptions
    from hybrid.anonymize.steps import anonymize_in_steps
    from hybrid.base.config_files import validated
    from hybrid.base.errors import ConfigError
    from hybrid.base.rng import fresh_seed, rng_for
    from hybrid.pipeline.starter.reading import guess_frame_reading
    from hybrid.python.frames import in_memory, like
    from hybrid.table import Role, Table
    from hybrid.table.persons import with_persons
    from hybrid.table.read_options import ColumnOptions
    from hybrid.table.typed_table import read_frame

    if isinstance(columns, str) or not columns:
        raise ConfigError("columns is no list of names", hint='columns=["age"]')
    frame = in_memory(table)
    reading = guess_frame_reading(frame)
    roles = dict.fromkeys(columns, Role.QUASI_IDENTIFIER)
    known = {
        name: reading.columns.get(name, ColumnOptions()).model_copy(update={"role": role})
        for name, role in roles.items()
    }
    read = read_frame(frame, reading.model_copy(update={"columns": {**reading.columns, **known}}))
    people = with_persons(read, [] if person is None else [person])
    asked = validated(AnonymizeOptions, {"k": k, "technique": {"name": _name(technique), **options}}, _name(technique))
    rng = rng_for(fresh_seed() if seed is None else seed, "technique")
    found = anonymize_in_steps(people, {}, asked, rng)
    values = {name: found.hierarchies[name].decode(found.labels.nodes[:, at]) for at, name in enumerate(roles)}
    return like(table)(Table(read.frame.assign(**values), read.schema))


def _labelled(
    technique: type[Technique],
    table: AnyTable,
    columns: Sequence[str],
    k: int = 5,
    person: str | None = None,
    seed: int | None = None,
    **options: Any,
) -> Any:
    from hybrid.python.anonymization import anonymize

    settings = {"anonymize.technique": {"name": _name(technique), **options}}
    return anonymize(table, quasi_identifiers=columns, k=k, person=person, seed=seed, settings=settings, progress=False)


def _name(technique: type[Technique]) -> str:
    return str(technique.model_fields["name"].default)


@cache
def _techniques() -> dict[str, type[Technique]]:
    from hybrid.anonymize.techniques.registry import REGISTRY

    return {_name(technique): technique for technique in REGISTRY}


@cache
def _made(name: str) -> Callable[..., Any]:
    from hybrid.anonymize.techniques.protocol import LabelTechnique

    technique = _techniques()[name]
    labels = issubclass(technique, LabelTechnique)
    first, *more = paragraphs(technique.__doc__)
    promise = (
        "Masking all quasi-identifiers together gives k-anonymity of these columns."
        if technique.k_anonymous
        else "It gives no k-anonymity."
    )
    doc = docstring(
        first,
        (*more, promise),
        [
            (
                "table",
                "table, n rows",
                "A DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, a path.",
            ),
            ("columns", "sequence of str", "Columns to mask."),
            ("k", "int", "People of each group, for techniques that make groups."),
            *option_lines(technique, _OWN),
            ("person", "str, optional", "The column that says whose a row is; by default each row is another person."),
            ("seed", "int, optional", "Repeats the draws; by default a fresh one."),
        ],
        ("Anonymized", "As :func:`hybrid.anonymize` gives it.")
        if labels
        else ("table", "n rows in the same order, of the same kind; only the given columns differ."),
        {
            "ConfigError": "A column does not exist or cannot be masked so, or an option is wrong.",
            "InfeasibleError": "No masking meets what is asked for.",
        },
    )
    parameters = [
        parameter("table", "table", keyword=False),
        parameter("columns", "Sequence[str]", keyword=False),
        *option_parameters(technique, _OWN),
        parameter("k", "int", 5),
        parameter("person", "str | None", None),
        parameter("seed", "int | None", None),
    ]
    body = _labelled if labels else _masked
    returns = "Anonymized" if labels else "table"
    return function(name, __name__, lambda **given: body(technique, **given), parameters, returns, doc)


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _techniques():
        raise AttributeError(f"module 'hybrid.techniques' has no attribute {name!r}; dir(hybrid.techniques) lists all")
    return _made(name)


def __dir__() -> list[str]:
    return sorted(_techniques())
