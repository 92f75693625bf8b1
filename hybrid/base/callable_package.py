"""Packages that can be called: ``hybrid.synthesize(frame)``, and ``hybrid.synthesize.registry`` is still a module."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, module: str) -> None:
    """Let a package be called as the function of the same name in a module, which is imported then.

    Both are full names. The module may be of a higher layer: nothing of it is imported before.
    """
    name = package.rpartition(".")[2]

    def function() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    class CalledPackage(ModuleType):
        """Package that can be called."""

        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return function()(*arguments, **named)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(function())

        @property
        def __doc__(self) -> str | None:  # type: ignore[override]
            return function().__doc__

    sys.modules[package].__class__ = CalledPackage
