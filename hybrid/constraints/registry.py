"""Registry of the kinds of constraints.

A new kind is a class in ``kinds``, in a file of its own or with its family, and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Discriminator, Tag

from hybrid.constraints.constraint import Constraint
from hybrid.constraints.kinds.checked import Formula, MissingTogether, Range, Unique
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.computed import Counter, Derived, Equal
from hybrid.constraints.kinds.order import Le, Tied

_KINDS: tuple[type[Constraint], ...] = (
    Equal,
    Le,
    Tied,
    Derived,
    Combinations,
    Range,
    MissingTogether,
    Unique,
    Counter,
    Formula,
)
KINDS: dict[str, type[Constraint]] = {next(iter(kind.model_fields)): kind for kind in _KINDS}
"""Every kind by its key."""


def _key(value: Any) -> str:
    """Key that names the kind of a declared constraint; of a mapping without a known one, its first key."""
    if isinstance(value, Constraint):
        return value.key
    names = list(value) if isinstance(value, Mapping) else []
    return next((str(name) for name in names if name in KINDS), str(names[0]) if names else "none")


def learns_values(constraints: Iterable[Mapping[str, Any]]) -> bool:
    """True if the training records decide which values are allowed; a kind that is not registered counts."""
    return any(key not in KINDS or KINDS[key].learns == "values" for one in constraints for key in one)


if TYPE_CHECKING:
    AnyConstraint = Constraint
else:
    AnyConstraint = Annotated[
        Union[tuple(Annotated[kind, Tag(key)] for key, kind in KINDS.items())],  # noqa: UP007
        Discriminator(_key),
    ]
    """One constraint of a configuration."""
