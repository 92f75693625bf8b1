"""Base class of option models: frozen, unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model


class Options(BaseModel):
    """Options of one stage; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def composed_options(
    name: str,
    bases: type[Options] | tuple[type[Options], ...],
    fields: Mapping[str, Any],
    module: str,
    words: str | None = None,
) -> Any:
    """Option model made from a registry, not from a class statement.

    It has no source text with docstrings, and for pydantic to look for one takes longer than to make the model.

    Parameters
    ----------
    name, module : str
        Of the class, as :func:`pickle` looks for it.
    bases : type of Options, or a tuple of them
        Classes whose fields it has.
    fields : mapping of str to (type, Field)
        Further fields by name.
    words : str, optional
        Docstring of the class.
    """
    made = create_model(
        name,
        __base__=bases,
        __module__=module,
        __doc__=words,
        __cls_kwargs__={"use_attribute_docstrings": False},
        **dict(fields),
    )
    made.model_config["use_attribute_docstrings"] = True  # of classes that are derived from it
    return made
