"""The small job of every comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comparison.comparison_jobs import write_job


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder)
    return folder
