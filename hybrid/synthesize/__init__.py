"""Generators: one protocol, one codec, one registry."""

from hybrid.synthesize.base import Encoded, Encoding, Feature, Generator, Model
from hybrid.synthesize.fitted import FittedGenerator, fit
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.registry import REGISTRY, availability
from hybrid.synthesize.saved import load_generator, save_generator

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
    "load_generator",
    "save_generator",
]
