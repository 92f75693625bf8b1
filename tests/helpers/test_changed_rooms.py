"""`make quick` runs the tests of the rooms that changed."""

from __future__ import annotations

from tests.helpers.changed_rooms import folders_of_tests


def test_rooms_of_changed_files() -> None:
    files = [
        "hybrid/table/split.py",
        "tests/store/test_store.py",
        "configs/adult.yaml",
        "README.md",
        "hybrid/__init__.py",
    ]
    assert folders_of_tests(files) == ["tests/pipeline", "tests/store", "tests/table"]


def test_folders_without_tests_are_left_out() -> None:
    assert folders_of_tests(["tests/data/README.md", "hybrid/absent/module.py", "flows/serve.py"]) == ["tests/flows"]


def test_nothing_changed() -> None:
    assert folders_of_tests([]) == []
