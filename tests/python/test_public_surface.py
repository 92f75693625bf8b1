"""The public names with their parameters are those of a kept list: they change on purpose only.

``python -m tests.python.public_surface`` writes the list anew.
"""

from __future__ import annotations

import inspect

import pytest

import hybrid
from tests.python.public_surface import KEPT, names


def test_public_names_and_parameters_are_those_that_are_kept() -> None:
    assert names() == KEPT.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("module", ["metrics", "transitions", "techniques", "privacy_models", "hierarchies"])
def test_functions_made_from_registries_are_documented(module: str) -> None:
    found = getattr(hybrid, module)
    functions = [getattr(found, name) for name in dir(found) if name[0].islower()]
    assert len(functions) > 3
    for one in functions:
        doc = inspect.getdoc(one) or ""
        described = set(inspect.signature(one).parameters)
        assert doc.splitlines()[0].endswith("."), one.__name__
        assert {name for name in described if f"\n{name} : " not in f"\n{doc}"} == set(), one.__name__
        assert "Returns\n-------" in doc and "Raises\n------" in doc, one.__name__
    with pytest.raises(AttributeError, match="nonsense"):
        found.nonsense  # noqa: B018


def test_packages_that_can_be_called_have_the_signature_of_their_function() -> None:
    from hybrid.python.synthesis import synthesize

    assert inspect.signature(hybrid.synthesize) == inspect.signature(synthesize)
    assert inspect.getdoc(hybrid.synthesize) == inspect.getdoc(synthesize)
    assert hybrid.synthesize.registry.REGISTRY  # type: ignore[attr-defined]
    assert hybrid.__version__ == "0.1.0"
    assert not [name for name in dir(hybrid) if name in ("Any", "TYPE_CHECKING", "import_module", "annotations")]
