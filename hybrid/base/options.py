"""Base class of option models: frozen, unknown keys are errors."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue


class Options(BaseModel):
    """Options of one stage; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, words in meanings(cls).items():
            key = cls.model_fields[name].alias or name
            if words and key in properties:
                properties[key].setdefault("description", words)
        return schema


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Meaning of each option of a model: its ``description``, else the text below it in the class; empty without both.

    The source is read when it is asked for. pydantic would read it in every process, for a third of the time in which
    all models are made (``use_attribute_docstrings``).
    """
    words: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel):
            below = _texts_below(base)
            words |= {name: below.get(name, "") for name in vars(base).get("__annotations__", {})}
    return {name: info.description or words.get(name, "") for name, info in model.model_fields.items()}


@cache
def _texts_below(model: type[BaseModel]) -> dict[str, str]:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    except (OSError, TypeError):  # made from a registry, or without source text
        return {}
    assert isinstance(tree, ast.ClassDef)
    return {
        option.target.id: inspect.cleandoc(text.value.value)
        for option, text in pairwise(tree.body)
        if isinstance(option, ast.AnnAssign) and isinstance(option.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def composed_options(
    name: str,
    bases: type[Options] | tuple[type[Options], ...],
    fields: Mapping[str, Any],
    module: str,
    words: str | None = None,
) -> Any:
    """Option model made from a registry, not from a class statement, with further fields (type and Field) by name.

    :func:`pickle` looks for it by ``name`` and ``module``; ``words`` are its docstring.
    """
    return create_model(name, __base__=bases, __module__=module, __doc__=words, **dict(fields))
