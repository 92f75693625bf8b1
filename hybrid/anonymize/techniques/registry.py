"""Registry of techniques.

A new one is one file and one line of :data:`REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Field, TypeAdapter

from hybrid.anonymize.techniques.coding import Coding
from hybrid.anonymize.techniques.generalization import Generalization
from hybrid.anonymize.techniques.microaggregation import Microaggregation
from hybrid.anonymize.techniques.noise import Noise
from hybrid.anonymize.techniques.pram import Pram
from hybrid.anonymize.techniques.protocol import LabelTechnique, Technique
from hybrid.anonymize.techniques.rank_swapping import RankSwapping
from hybrid.anonymize.techniques.suppression import Suppression

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
    """List of options from a name, options, or a list of either."""
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

    Raises
    ------
    pydantic.ValidationError
        It is not registered, or has other options: nothing is known of its promise.
    """
    made: Technique = TypeAdapter(AnyTechnique).validate_python(dict(options))
    return made
