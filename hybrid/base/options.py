"""Base class of option models: frozen, unknown keys are errors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """Options of one stage; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
