"""Which generators there are, and which of them can run here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from hybrid.errors import MissingExtraError
from hybrid.synthesize.base import Generator
from hybrid.synthesize.cart import Cart
from hybrid.synthesize.copula import Copula
from hybrid.synthesize.ctgan import Ctgan
from hybrid.synthesize.realtabformer import Realtabformer
from hybrid.synthesize.tabddpm import Tabddpm
from hybrid.synthesize.tvae import Tvae

REGISTRY: dict[str, Generator] = {
    generator.name: generator for generator in (Cart(), Tabddpm(), Ctgan(), Tvae(), Copula(), Realtabformer())
}
"""Every generator by name. A new one is one file and one entry here."""


@dataclass(frozen=True)
class OptionDescription:
    """One option of a generator, as ``hybrid generators`` shows it."""

    name: str
    default: Any
    description: str


@dataclass(frozen=True)
class Availability:
    """What a generator is and whether it can run here."""

    name: str
    title: str
    licence: str
    available: bool
    install: str
    """The command that adds what is missing; empty if available."""
    presets: tuple[str, ...]
    options: tuple[OptionDescription, ...]


def availability() -> list[Availability]:
    """All generators, in the registry's order. Imports none of their packages."""
    return [_describe(generator) for generator in REGISTRY.values()]


def require(generator: Generator) -> None:
    """Check that a generator's packages are installed.

    Raises
    ------
    MissingExtraError
        Names what is missing and the command that installs it.
    """
    missing = _missing(generator)
    if missing:
        raise MissingExtraError(
            f"the generator {generator.name} needs {', '.join(missing)}, not installed here", mend=_install(generator)
        )


def _describe(generator: Generator) -> Availability:
    options = tuple(
        OptionDescription(
            name, field.get_default(call_default_factory=True), " ".join((field.description or "").split())
        )
        for name, field in generator.Options.model_fields.items()
    )
    available = not _missing(generator)
    return Availability(
        name=generator.name,
        title=generator.title,
        licence=generator.licence,
        available=available,
        install="" if available else _install(generator),
        presets=tuple(generator.presets),
        options=options,
    )


def _missing(generator: Generator) -> list[str]:
    return [package for package in generator.requires if find_spec(package) is None]


def _install(generator: Generator) -> str:
    return f"pip install 'hybrid-release[{generator.extra}]'"
