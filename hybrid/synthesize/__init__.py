"""Generators: one protocol, one codec, one registry.

Names are imported when they are first used: a worker in a managed environment needs the protocol and one adapter,
and has no more packages than those.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid.base.callable_package import make_callable

if TYPE_CHECKING:
    from hybrid.synthesize.fitted import FittedGenerator, fit
    from hybrid.synthesize.options import SynthesizeOptions
    from hybrid.synthesize.protocol import Encoded, Encoding, Feature, Generator, Model
    from hybrid.synthesize.registry import REGISTRY, availability

_HOME = {
    "REGISTRY": "registry",
    "FittedGenerator": "fitted",
    "SynthesizeOptions": "options",
    "availability": "registry",
    "fit": "fitted",
}
"""Module of each public name that :mod:`hybrid.synthesize.protocol` does not have."""

__all__ = [
    "REGISTRY",
    "Encoded",
    "Encoding",
    "Feature",
    "FittedGenerator",
    "Generator",
    "Model",
    "SynthesizeOptions",
    "availability",
    "fit",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'hybrid.synthesize' has no attribute {name!r}")
    return getattr(import_module(f"hybrid.synthesize.{_HOME.get(name, 'protocol')}"), name)


make_callable(__name__, "hybrid.python.synthesis")
