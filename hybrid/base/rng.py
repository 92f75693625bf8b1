"""Independent random generators, one per stage, derived from the run's seed."""

from __future__ import annotations

import secrets
import zlib

import numpy as np

from hybrid.base.errors import ConfigError


def fresh_seed() -> int:
    """An unpredictable seed: 63 random bits from the operating system."""
    return secrets.randbits(63)


def rng_for(seed: int, *names: str | int) -> np.random.Generator:
    """Random generator of one stage, the same for the same arguments, whatever other stages drew before.

    ``names`` say what it is for, such as ``"sample"``; different names give independent streams.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError("the seed is no whole number of 0 or more", hint="seed=7, or none for a fresh one")
    keys = [name if isinstance(name, int) else zlib.crc32(name.encode()) for name in names]
    return np.random.default_rng(np.random.SeedSequence([seed, *keys]))
