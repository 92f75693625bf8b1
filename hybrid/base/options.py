"""The base of every option model: frozen, and unknown keys are errors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """What a user can set for one stage. Immutable; hashable content through ``model_dump``."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
