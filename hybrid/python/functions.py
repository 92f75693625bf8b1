"""Functions that are made from registries: their signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hybrid.base.options import meanings

if TYPE_CHECKING:
    from pydantic import BaseModel

KEYWORD = inspect.Parameter.KEYWORD_ONLY
REQUIRED = inspect.Parameter.empty


def function(
    name: str,
    module: str,
    body: Callable[..., Any],
    parameters: Sequence[inspect.Parameter],
    returns: str,
    doc: str,
) -> Callable[..., Any]:
    """Function with a name, a signature and a docstring of its own.

    ``body`` gets the arguments by their names.
    """
    signature = inspect.Signature(list(parameters), return_annotation=returns)

    def made(*arguments: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        bound.apply_defaults()
        return body(**bound.arguments)

    made.__name__ = made.__qualname__ = name
    made.__module__, made.__doc__ = module, doc
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def parameter(name: str, annotation: str, default: Any = REQUIRED, *, keyword: bool = True) -> inspect.Parameter:
    """A parameter; without a default it must be given."""
    kind = KEYWORD if keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def option_parameters(model: type[BaseModel], without: Iterable[str] = ()) -> list[inspect.Parameter]:
    """A parameter for each option of a model, the required ones first."""
    found = []
    for name, info in model.model_fields.items():
        if name not in without:
            default = REQUIRED if info.is_required() else info.get_default(call_default_factory=True)
            found.append(parameter(name, _words(info.annotation), default))
    return sorted(found, key=lambda one: one.default is not REQUIRED)


def option_lines(model: type[BaseModel], without: Iterable[str] = ()) -> list[tuple[str, str, str]]:
    """Name, type and meaning of each option of a model, for :func:`docstring`."""
    words = meanings(model)
    return [
        (name, _words(info.annotation), " ".join(words[name].split()))
        for name, info in model.model_fields.items()
        if name not in without
    ]


def _words(annotation: Any) -> str:
    found = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return found.replace("typing.", "").replace("collections.abc.", "")


def paragraphs(doc: str | None) -> list[str]:
    """Paragraphs of a docstring, each in one line; the first is there in any case."""
    return [" ".join(part.split()) for part in (doc or "").split("\n\n")]


def docstring(
    first: str,
    more: Sequence[str] = (),
    parameters: Sequence[tuple[str, str, str]] = (),
    returns: tuple[str, str] | None = None,
    raises: Mapping[str, str] | None = None,
) -> str:
    """Docstring by the conventions of numpydoc.

    Of parameters: name, type and meaning; of what is returned: type and meaning; errors by when they are raised.
    """
    lines = [first]
    for paragraph in filter(None, more):
        lines += ["", paragraph]
    if parameters:
        lines += ["", "Parameters", "----------"]
        for name, kind, text in parameters:
            lines += [f"{name} : {kind}", f"    {text}"]
    if returns is not None:
        lines += ["", "Returns", "-------", returns[0], f"    {returns[1]}"]
    if raises:
        lines += ["", "Raises", "------"]
        for error, text in raises.items():
            lines += [error, f"    {text}"]
    return "\n".join(lines) + "\n"
