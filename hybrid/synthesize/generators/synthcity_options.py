"""Options of the networks of synthcity."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from hybrid.base.options import Options


class NetworkOptions(Options):
    """Options of every network here."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records; the plugin's stopping rule is not used."""
    batch_size: int = Field(default=200, ge=2)
    """Records per step."""
    lr: float = Field(default=1e-3, gt=0)
    """Learning rate of Adam."""
    layers: tuple[int, ...] = Field(default=(500, 500), min_length=1)
    """Widths of the hidden layers of both networks, all alike; random vectors are as long."""
    clusters: int = Field(default=5, ge=1)
    """Normal distributions, at most, that a column of numbers is a mixture of."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs: states of all discrete columns, clusters + 1 per continuous one."""

    @model_validator(mode="after")
    def _one_width(self) -> Self:
        if len(set(self.layers)) > 1:
            raise ValueError(f"synthcity has layers of one width only, not {self.layers}")
        return self


class AdsganOptions(NetworkOptions):
    """Options of ``adsgan``; defaults are the plugin's, but for its 10,000 epochs."""

    identifiability: float = Field(default=0.1, ge=0)
    """Weight of the penalty on drawn rows near real ones; 0: a Wasserstein GAN with gradient penalty."""
    gradient_penalty: float = Field(default=10.0, ge=0)
    """Weight of the penalty on discriminators whose slope is not 1."""
    discriminator_steps: int = Field(default=1, ge=1)
    """Discriminator updates per generator update."""


class DpganOptions(NetworkOptions):
    """Options of ``dpgan``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Budget that the noise on the discriminator's gradients is scaled to; no bound for the table: see the guide."""
    delta: float = Field(default=1e-5, gt=0, lt=1)
    """The delta that goes with epsilon."""
    max_grad_norm: float = Field(default=2.0, gt=0)
    """Length that the gradient of each record is cut to."""


class PateganOptions(NetworkOptions):
    """Options of ``pategan``; defaults are the plugin's."""

    epochs: int = Field(default=10, ge=2)
    """Passes over the training records per round."""
    rounds: int = Field(default=200, ge=1)
    """Rounds of teachers and student at most; the first one in which the plugin's own count reaches epsilon is the
    last."""
    epsilon: float = Field(default=1.0, gt=0)
    """Budget by the plugin's own count; no bound for the table: see the guide."""
    teachers: int = Field(default=10, ge=1)
    """Classifiers, each trained on a part of the records of its own."""
    lamda: float = Field(default=1e-3, gt=0)
    """Inverse scale of the Laplace noise on the teachers' votes."""


class RtvaeOptions(NetworkOptions):
    """Options of ``rtvae``; defaults are the plugin's, but for its 1,000 epochs."""

    layers: tuple[int, ...] = Field(default=(500, 500, 500), min_length=1)
    """Widths of the hidden layers of encoder and decoder, all alike; random vectors are as long."""
    clusters: int = Field(default=10, ge=1)
    """Normal distributions, at most, that a column of numbers is a mixture of."""
    beta: int = Field(default=2, ge=1)
    """Exponent of the beta divergence; larger: outliers count less."""
