"""Every transition as a function: specific values below the labels of :func:`hybrid.anonymize`.

Made from the registry of transitions. ``hybrid.transitions.tree(anonymized)`` is what
``anonymized.restore("tree")`` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from hybrid.python.functions import docstring, function, option_lines, option_parameters, parameter

if TYPE_CHECKING:
    from hybrid.python.anonymization import Anonymized


@cache
def _made(name: str) -> Callable[..., Any]:
    from hybrid.transition import REGISTRY

    options = REGISTRY[name].Options

    def restored(anonymized: Anonymized, seed: int | None = None, **given: Any) -> Any:
        from hybrid.base.errors import ConfigError
        from hybrid.python.anonymization import Anonymized

        if not isinstance(anonymized, Anonymized):
            raise ConfigError(
                f"a transition restores what hybrid.anonymize gives, not a {type(anonymized).__name__}",
                hint=f"hybrid.transitions.{name}(hybrid.anonymize(frame, quasi_identifiers=[...]))",
            )
        return anonymized.restore(name, seed=seed, **given)

    own = " ".join((options.__doc__ or "").split())
    doc = docstring(
        f"Restore specific values below labels by the strategy ``{name}``.",
        (own, "What comes out is not k-anonymous: a value below a label may be that of a person."),
        [
            ("anonymized", "Anonymized", "What :func:`hybrid.anonymize` returned."),
            *option_lines(options),
            ("seed", "int, optional", "Repeats the draws; by default a fresh one."),
        ],
        ("table", "As many rows as ``anonymized.table``, in the same order, of the same kind."),
        {"ConfigError": "It was not made by hybrid.anonymize, or an option is wrong."},
    )
    parameters = [
        parameter("anonymized", "Anonymized", keyword=False),
        *option_parameters(options),
        parameter("seed", "int | None", None),
    ]
    return function(name, __name__, restored, parameters, "table", doc)


def _names() -> list[str]:
    from hybrid.transition import REGISTRY

    return list(REGISTRY)


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _names():
        raise AttributeError(
            f"module 'hybrid.transitions' has no attribute {name!r}; dir(hybrid.transitions) lists all"
        )
    return _made(name)


def __dir__() -> list[str]:
    return sorted(_names())
