"""Registry of generators, and their availability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from typing import Any

from hybrid.base.errors import MissingExtraError
from hybrid.base.options import Options, meanings
from hybrid.synthesize.generators.baynet import Baynet, Privbayes
from hybrid.synthesize.generators.cart import Cart
from hybrid.synthesize.generators.noisy_marginals import Aim, Mst
from hybrid.synthesize.generators.realtabformer import Realtabformer
from hybrid.synthesize.generators.sdv import Copula, Ctgan, Tvae
from hybrid.synthesize.generators.synthcity import Adsgan, Dpgan, Pategan, Rtvae, SynthcityDdpm
from hybrid.synthesize.generators.tabddpm import Tabddpm
from hybrid.synthesize.isolation import environments
from hybrid.synthesize.protocol import Generator

REGISTRY: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        Cart(),
        Tabddpm(),
        Ctgan(),
        Tvae(),
        Copula(),
        Realtabformer(),
        Aim(),
        Mst(),
        Baynet(),
        Privbayes(),
        Adsgan(),
        Dpgan(),
        Pategan(),
        Rtvae(),
    )
}
"""Every generator by name. A new one is one file and one entry here."""
ENGINES: dict[tuple[str, str], Generator] = {("tabddpm", "synthcity"): SynthcityDdpm()}
"""Who does the work of a generator whose option ``engine`` is not its own."""
INSIDE = {"sdv": ("copulas", "ctgan", "rdt"), "synthcity": ("torch",)}
"""Distributions that do the work of a required package, and whose versions decide a model as well."""


@dataclass(frozen=True)
class OptionDescription:
    """One option of a generator, as ``hybrid generators`` shows it."""

    name: str
    default: Any
    description: str


@dataclass(frozen=True)
class Capabilities:
    """Abilities of a generator beside drawing single rows."""

    persons: bool
    """Whether it learns and draws persons with all their rows."""
    resumes: bool
    """Whether it continues an interrupted training."""
    private: bool
    """Whether it can be differentially private: a budget, and noise from a secure source."""

    @classmethod
    def of(cls, generator: Generator) -> Capabilities:
        private = "epsilon" in generator.Options.model_fields and generator.secure_noise
        return cls(generator.learns_parents, generator.resumes, private)

    @property
    def words(self) -> str:
        rows = "persons with all their rows" if self.persons else "single rows"
        training = "continues an interrupted training" if self.resumes else "starts an interrupted training again"
        return f"draws {rows}; {training}{'; can be differentially private' if self.private else ''}"


@dataclass(frozen=True)
class Availability:
    """Description of a generator and its availability."""

    name: str
    title: str
    licence: str
    available: bool
    install: str
    """The commands that add what is missing; empty if available."""
    environment: str | None
    """The managed environment that can run it."""
    capabilities: Capabilities
    presets: tuple[str, ...]
    options: tuple[OptionDescription, ...]


def availability() -> list[Availability]:
    """All generators, in the registry's order. Imports none of their packages."""
    return [_describe(generator) for generator in REGISTRY.values()]


def sequence_generators() -> list[str]:
    """Names of the generators that draw persons with several rows."""
    return [name for name, generator in REGISTRY.items() if Capabilities.of(generator).persons]


def draws_persons(name: str, options: Mapping[str, Any]) -> bool:
    """True if a generator with these options of its own draws persons; False without a generator."""
    found = ENGINES.get((name, str(options.get("engine", ""))), REGISTRY.get(name))
    return found is not None and Capabilities.of(found).persons


def engine(name: str, options: Options) -> Generator:
    """The generator that does the work of ``name`` under these options."""
    return ENGINES.get((name, str(getattr(options, "engine", ""))), REGISTRY[name])


def is_here(generator: Generator) -> bool:
    """True if the present environment has a generator's packages."""
    return not _missing(generator)


def distributions(generator: Generator) -> list[str]:
    """Distribution names of the packages that a generator requires, and of those that work inside of them; sorted."""
    inside = (name for package in generator.requires for name in INSIDE.get(package, ()))
    return sorted({*inside, *(name for package in generator.requires for name in _distributions_of(package))})


@cache
def _distributions_of(package: str) -> list[str]:
    """Distributions of an import name, mostly the one of the same name, which is quick to find."""
    try:
        return [distribution(package).name]
    except PackageNotFoundError:
        return packages_distributions().get(package, [package]) if find_spec(package) else [package]


def require(generator: Generator) -> None:
    """Check that the present environment or a generator's managed one has its packages."""
    if not _available(generator):
        missing = ", ".join(_missing(generator))
        raise MissingExtraError(
            f"the generator {generator.name} needs {missing}, not installed here", hint=_install(generator)
        )


def environment_of(name: str) -> str:
    """Managed environment of this name, or of this generator."""
    known = {entry.name: entry.environment for entry in REGISTRY.values()}
    found = name if name in environments.NAMES else known.get(name)
    if found is None:
        hint = f"environments: {', '.join(environments.NAMES)}"
        if name in known:
            raise MissingExtraError(f"{name} needs no environment", hint=hint)
        raise MissingExtraError(f"there is no generator or environment {name!r}", hint=hint)
    return found


def _describe(generator: Generator) -> Availability:
    words = meanings(generator.Options)
    options = tuple(
        OptionDescription(name, field.get_default(call_default_factory=True), " ".join(words[name].split()))
        for name, field in generator.Options.model_fields.items()
    )
    available = _available(generator)
    return Availability(
        name=generator.name,
        title=generator.title,
        licence=generator.licence,
        available=available,
        install="" if available else _install(generator),
        environment=generator.environment,
        capabilities=Capabilities.of(generator),
        presets=tuple(generator.presets),
        options=options,
    )


def _missing(generator: Generator) -> list[str]:
    return [package for package in generator.requires if find_spec(package) is None]


def _available(generator: Generator) -> bool:
    if is_here(generator):
        return True
    return generator.environment is not None and environments.interpreter(generator.environment) is not None


def _install(generator: Generator) -> str:
    hint = f"hybrid generators install {generator.environment}"
    return hint if generator.extra is None else f"pip install 'hybrid-release[{generator.extra}]', or {hint}"
