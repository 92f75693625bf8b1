"""Gaussian copula through sdv.

Source: Patki, Wedge, Veeramachaneni, The Synthetic Data Vault, DSAA 2016.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.sdv_model import SdvModel, fit_sdv, load_sdv
from hybrid.synthesize.isolation.contained import global_seed
from hybrid.synthesize.protocol import Encoded, Encoding, Feature


class CopulaOptions(Options):
    """Options of ``copula``."""

    distribution: Literal["beta", "norm", "truncnorm", "uniform", "gamma", "gaussian_kde"] = "beta"
    """What every continuous column's distribution is fitted with; gaussian_kde is slow."""


class Copula:
    """The generator ``copula``."""

    name: ClassVar[str] = "copula"
    title: ClassVar[str] = "Gaussian copula (Patki et al. 2016), through sdv: only linear dependence, hardly copies"
    licence: ClassVar[str] = "BUSL-1.1 (sdv, copulas): internal use is free, offering synthesis as a service is not"
    requires: ClassVar[tuple[str, ...]] = ("sdv", "copulas")
    extra: ClassVar[str | None] = "ctgan"
    environment: ClassVar[str | None] = "sdv"
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = CopulaOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    def encoding(self, options: CopulaOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Encoding with a flag for missing numbers."""
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: CopulaOptions) -> Cost:
        """One distribution per column, and the correlations."""
        each = 1e-3 if options.distribution == "gaussian_kde" else 1.3e-5
        return Cost(1.0 + each * n_rows * len(features), 100 * n_rows * len(features))

    def learn(
        self,
        data: Encoded,
        options: CopulaOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> SdvModel:
        """Fit the distributions and their correlations; see :class:`CopulaOptions`."""
        from sdv.single_table import GaussianCopulaSynthesizer

        progress("fit copula", 0, 1)
        with global_seed(seed):
            model = fit_sdv(
                lambda metadata: GaussianCopulaSynthesizer(metadata, default_distribution=options.distribution), data
            )
        progress("fit copula", 1, 1)
        return model

    def load(self, folder: Path) -> SdvModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        return load_sdv(folder)
