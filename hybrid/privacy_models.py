"""Every privacy model as a function: which k, l, t a table of any library reaches.

Made from the registry of models. ``hybrid.privacy_models.k_anonymity(frame, ["age", "sex"])`` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from hybrid.python.functions import docstring, function, option_lines, option_parameters, paragraphs, parameter

if TYPE_CHECKING:
    from hybrid.anonymize.models.protocol import PrivacyModel
    from hybrid.anonymize.models.released import ModelCheck
    from hybrid.python.frames import AnyTable

_TABLE = [
    ("table", "table, n rows", "A DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, a path."),
    ("quasi_identifiers", "sequence of str", "Columns that an attacker knows; a missing value is a value of its own."),
]
_PERSON = ("person", "str, optional", "The column that says whose a row is; by default each row is another person.")


class Reached(float):
    """Level of the least protected class under a privacy model.

    Parameters
    ----------
    found : ModelCheck
        Result of the check.
    """

    def __new__(cls, found: ModelCheck) -> Reached:
        """Take what was reached."""
        return super().__new__(cls, found.reached)

    def __init__(self, found: ModelCheck) -> None:
        self.name = found.name
        """The model, such as "distinct 2-diversity of 'illness'"."""
        self.threshold = found.threshold
        """What was asked for."""
        self.holds = found.holds
        """Whether every class meets it."""
        self._found = found

    def __repr__(self) -> str:
        return f"{float(self):.4g} ({self.name} {'holds' if self.holds else 'does not hold'})"

    def __reduce__(self) -> tuple[type[Reached], tuple[ModelCheck]]:
        return Reached, (self._found,)


def k_anonymity(table: AnyTable, quasi_identifiers: Sequence[str], *, person: str | None = None) -> int:
    """Count the people of the smallest class of equal quasi-identifiers.

    Sweeney 2002, doi 10.1142/S0218488502001648.

    Parameters
    ----------
    table : table, n rows
        A DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, or a path.
    quasi_identifiers : sequence of str
        Columns that an attacker knows; a missing value is a value of its own.
    person : str, optional
        The column that says whose a row is; by default each row is another person.

    Returns
    -------
    int
        1 or more, larger is safer; 0 for an empty table.

    Raises
    ------
    ConfigError
        A column does not exist.
    DataError
        The table cannot be read.
    """
    from hybrid.anonymize.models.measure import fewest_persons

    frame, persons = _read(table, quasi_identifiers, person)
    return fewest_persons(frame, list(quasi_identifiers), persons)


def _read(table: AnyTable, names: Sequence[str], person: str | None) -> tuple[Any, Any]:
    import numpy as np
    import pandas as pd

    from hybrid.base.errors import ConfigError
    from hybrid.python.frames import plain

    if isinstance(names, str):
        raise ConfigError("quasi_identifiers is one text", hint=f"give a list: [{names!r}]")
    frame = plain(table)
    wanted = [*names, *([] if person is None else [person])]
    if unknown := [name for name in wanted if name not in frame.columns]:
        raise ConfigError(f"no such column: {', '.join(unknown)}", hint=f"one of: {', '.join(map(str, frame.columns))}")
    if person is None:
        return frame.reset_index(drop=True), np.arange(len(frame))
    return frame.reset_index(drop=True), pd.factorize(frame[person])[0]


def _checked(
    model: type[PrivacyModel],
    table: AnyTable,
    quasi_identifiers: Sequence[str],
    person: str | None = None,
    population: AnyTable | None = None,
    **options: Any,
) -> Reached:
    from hybrid.anonymize.models.measure import CheckInputs, check
    from hybrid.base.config_files import validated
    from hybrid.base.errors import ConfigError
    from hybrid.python.frames import plain

    frame, persons = _read(table, quasi_identifiers, person)
    asked = validated(model, {"model": _name(model), **options}, _name(model))
    attribute = getattr(asked, "attribute", None)
    if attribute is not None and attribute not in frame.columns:
        raise ConfigError(f"no such column: {attribute}", hint=f"one of: {', '.join(map(str, frame.columns))}")
    inputs = CheckInputs(
        population=None if population is None else plain(population), persons=persons, reference_persons=persons
    )
    return Reached(check(frame, list(quasi_identifiers), asked, inputs))


def _name(model: type[PrivacyModel]) -> str:
    return str(get_args(model.model_fields["model"].annotation)[0])


@cache
def _models() -> dict[str, type[PrivacyModel]]:
    from hybrid.anonymize.models import REGISTRY
    from hybrid.anonymize.models.households import Households

    # Of a table alone, l_diversity of the column that names the household says the same.
    return {_name(model): model for model in REGISTRY if model is not Households}


@cache
def _made(name: str) -> Callable[..., Any]:
    from hybrid.anonymize.models.protocol import PopulationModel

    model = _models()[name]
    first, *more = paragraphs(model.__doc__)
    of_population = issubclass(model, PopulationModel)
    others = (
        [("population", "table", "People of the population, generalized as the table is.")] if of_population else []
    )
    doc = docstring(
        first,
        more,
        [*_TABLE, *option_lines(model, ["model"]), *others, _PERSON],
        ("Reached", "What the least protected class reaches, a float; ``.holds`` compares it with what was asked for."),
        {"ConfigError": "A column does not exist, or an option is wrong.", "DataError": "A table cannot be read."},
    )
    parameters = [
        parameter("table", "table", keyword=False),
        parameter("quasi_identifiers", "Sequence[str]", keyword=False),
        *option_parameters(model, ["model"]),
        *([parameter("population", "table", None)] if of_population else []),
        parameter("person", "str | None", None),
    ]
    return function(name, __name__, lambda **given: _checked(model, **given), parameters, "Reached", doc)


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _models():
        raise AttributeError(f"module 'hybrid.privacy_models' has no attribute {name!r}")
    return _made(name)


def __dir__() -> list[str]:
    return sorted([*_models(), "k_anonymity", "Reached"])
