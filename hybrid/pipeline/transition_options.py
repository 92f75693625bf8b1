"""Section ``transition`` of a configuration: one option model per strategy, composed from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Discriminator, Tag

from hybrid.anonymize.techniques.registry import LABELLING
from hybrid.base.options import Options, composed_options
from hybrid.transition import REGISTRY as TRANSITIONS
from hybrid.transition.protocol import Transition

Order = Literal["pre", "post"]
DEFAULT_TRANSITION = "tree"
"""What no other strategy beat on both copies and utility on Adult (benchmarks/transition.py)."""
MASKED_TRANSITION = "single"
"""What keeps masked values as they are, and reads no original value."""


def default_transition(anonymize: Any) -> str:
    """Transition method of a configuration that names none, by its section ``anonymize`` as written.

    Where a technique masks values, they are kept.
    """
    stated = anonymize.get("technique") if isinstance(anonymize, Mapping) else getattr(anonymize, "technique", None)
    steps = stated if isinstance(stated, list | tuple) else [] if stated is None else [stated]
    names = [one.get("name") if isinstance(one, Mapping) else getattr(one, "name", one) for one in steps]
    return DEFAULT_TRANSITION if set(names) <= LABELLING else MASKED_TRANSITION


if TYPE_CHECKING:

    class TransitionOptions(Options):
        """Options of a transition: ``method``, ``order``, and the strategy's own.

        ``order`` is before or after the generator.
        """

        method: str
        order: Order

else:

    def _transition_model(strategy: Transition) -> Any:
        keys = {"method": (Literal[strategy.name], strategy.name), "order": (Order, "pre")}
        model = composed_options(f"{strategy.name.title()}Transition", strategy.Options, keys, __name__)
        # Under its name in this module, so that other processes can unpickle a configuration.
        globals()[model.__name__] = model
        return Annotated[model, Tag(strategy.name)]

    def _method(value: Any) -> str:
        found = value.get("method", DEFAULT_TRANSITION) if isinstance(value, Mapping) else value.method
        return str(found)

    TransitionOptions = Annotated[
        Union[tuple(_transition_model(strategy) for strategy in TRANSITIONS.values())],  # noqa: UP007
        Discriminator(_method),
    ]
