"""Privacy models: what every class of records with equal quasi-identifiers must have.

A new model is one file here and one line of :data:`REGISTRY`: its options, its rule for the search with the reason why
nodes may be pruned, and a check of finished tables by a formula of its own. Configuration, search, verification and
report are derived from the registry.

What the exact search may conclude from one generalization about the finer ones rests on two properties:

*Record-monotone* (k, distinct l, k-map): a record in a violating class is in a violating class under every finer
generalization, because its class only loses members, values, or population.

*Convex* (all models): if every class holds, every union of classes holds. So if one class violates under some
generalization, at least one does under every finer one. Each model's file says why it is convex.

A convex model that is not record-monotone may imply a record-monotone one: ``least_distinct`` values per class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field, TypeAdapter

from hybrid.anonymize.models.alpha_k import AlphaK
from hybrid.anonymize.models.beta_likeness import BetaLikeness
from hybrid.anonymize.models.households import Households
from hybrid.anonymize.models.k_map import KMap
from hybrid.anonymize.models.l_diversity import LDiversity
from hybrid.anonymize.models.protocol import PrivacyModel
from hybrid.anonymize.models.t_closeness import TCloseness

REGISTRY: tuple[type[PrivacyModel], ...] = (
    LDiversity,
    TCloseness,
    AlphaK,
    BetaLikeness,
    Households,
    KMap,
)
"""Every privacy model beside k-anonymity."""

if TYPE_CHECKING:
    AnyModel = PrivacyModel
else:
    AnyModel = Annotated[Union[REGISTRY], Field(discriminator="model")]  # noqa: UP007
    """A privacy model beside k-anonymity."""


def describe(options: Mapping[str, Any]) -> str:
    """Description of a model for a public sentence, made from its options as they are kept with a result."""
    model: PrivacyModel = TypeAdapter(AnyModel).validate_python(options)
    return model.words
