"""Differentially private one-way histograms: how often each state of each column occurs, alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.privacy.accounting import BudgetPart, gaussian_rho, variance_for
from hybrid.privacy.domain import Domain
from hybrid.privacy.noise import Bits, discrete_gaussian, secure_bytes
from hybrid.table import Table


@dataclass(frozen=True)
class NoisyHistograms:
    """Shares of the states of each column, and the price of all of them."""

    shares: dict[str, Array]
    """0 or more, summing to 1; the missing state is the last; shape (n_states,), float64."""
    parts: tuple[BudgetPart, ...]


def noisy_histograms(table: Table, domains: Sequence[Domain], rho: float, bits: Bits = secure_bytes) -> NoisyHistograms:
    """Count the states of each column with noise, and make shares of the counts.

    Each histogram gets discrete Gaussian noise (Canonne, Kamath and Steinke 2020, arXiv:2004.00010, Theorem 4) of an
    equal part of rho, the budget of all. The table has one row of each person, all known; a person more or less changes
    one count of each histogram by 1. What follows, negative counts as 0 and the shares, is post-processing. Without a
    positive count all states are equally likely. No record decided the domains.
    """
    persons = table.persons
    if (persons < 0).any() or len(np.unique(persons)) < len(persons):
        raise ValueError("a histogram counts one row of each known person")
    variance = variance_for(rho / len(domains), 1)
    shares, parts = {}, []
    for domain in domains:
        counts = np.bincount(domain.encode(table.frame[domain.column.name]), minlength=domain.size)
        noisy = np.maximum(counts + discrete_gaussian(domain.size, variance, bits), 0)
        total = noisy.sum()
        shares[domain.column.name] = noisy / total if total else np.full(domain.size, 1 / domain.size)
        parts.append(BudgetPart(f"histogram of {domain.column.name}", gaussian_rho(variance, 1)))
    return NoisyHistograms(shares, tuple(parts))
