"""Generators: one protocol, one codec, one registry.

Names are imported when they are first used: a worker in a managed environment needs the protocol and one adapter,
and has no more packages than those.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid.base.callable_package import make_callable

if TYPE_CHECKING:
    from hybrid.synthesize.fitted import FittedGenerator as FittedGenerator
    from hybrid.synthesize.fitted import fit as fit
    from hybrid.synthesize.options import SynthesizeOptions as SynthesizeOptions
    from hybrid.synthesize.protocol import Encoded as Encoded
    from hybrid.synthesize.protocol import Encoding as Encoding
    from hybrid.synthesize.protocol import Feature as Feature
    from hybrid.synthesize.protocol import Generator as Generator
    from hybrid.synthesize.protocol import Model as Model
    from hybrid.synthesize.registry import REGISTRY as REGISTRY
    from hybrid.synthesize.registry import availability as availability

_HOME = {
    "REGISTRY": "registry",
    "Encoded": "protocol",
    "Encoding": "protocol",
    "Feature": "protocol",
    "FittedGenerator": "fitted",
    "Generator": "protocol",
    "Model": "protocol",
    "SynthesizeOptions": "options",
    "availability": "registry",
    "fit": "fitted",
}
"""Module of every public name."""
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid.synthesize' has no attribute {name!r}")
    return getattr(import_module(f"hybrid.synthesize.{_HOME[name]}"), name)


make_callable(__name__, "hybrid.python.synthesis")
