"""Options of ``realtabformer``."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.synthesize.snapshots import refuse_unordered


class RealtabformerOptions(Options):
    """Options of ``realtabformer``; defaults are the library's, without its bootstrapped stop criterion."""

    epochs: int = Field(default=50, ge=1)
    """Passes over the training records at most."""
    batch_size: int = Field(default=8, ge=1)
    """Records at a time."""
    accumulation: int = Field(default=4, ge=1)
    """Batches whose gradients make one step."""
    lr: float = Field(default=5e-5, gt=0)
    """Learning rate of AdamW."""
    validation: float = Field(default=0.1, ge=0, lt=1)
    """Share of the records on which the loss is watched; 0: no early stopping."""
    patience: int = Field(default=5, ge=1)
    """Stop after this many evaluations (every 100 steps, or every epoch if that is sooner) without a lower loss."""
    n_layer: int = Field(default=6, ge=1)
    """Transformer blocks."""
    n_head: int = Field(default=12, ge=1)
    """Attention heads per block."""
    n_embd: int = Field(default=768, ge=1)
    """Width of the network; a multiple of ``n_head``."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of units dropped while training."""
    digits: int = Field(default=10, ge=1)
    """Characters of a number that are learned."""
    draw_batch: int = Field(default=512, ge=1)
    """Records written at a time when sampling."""
    overfit: float | None = Field(default=None, gt=1, le=10)
    """For research on memorization: no early stopping, but an end where the validation loss is this many times its
    minimum. null: the weights at the minimum."""
    snapshots: tuple[Annotated[float, Field(gt=1, le=10)], ...] | None = Field(default=None, min_length=1)
    """Levels of overfit to keep from one training, ascending; overfit is the one of them that is drawn from.
    Configurations that only differ in overfit share the training."""
    gpu: bool = True
    """Use a GPU when there is one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n_embd % self.n_head:
            raise ValueError(f"n_embd must be a multiple of n_head ({self.n_head})")
        if self.overfit is not None and not self.validation:
            raise ValueError("overfit needs a validation share above 0")
        if self.snapshots is not None:
            refuse_unordered(self.snapshots, self.overfit)
        return self
