"""Anonymization after protection."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.base.errors import InfeasibleError
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun

CONFIG = """
data:
  path: data.csv
  columns:
    age: {role: quasi_identifier, kind: integer, hierarchy: age.yaml}
    illness: {role: sensitive}
split: {control: 0}
protect: {columns: {illness: other}}
anonymize:
  k: 2
  models: [{model: l_diversity, kind: distinct, l: 2, attribute: illness}]
synthesize: {generator: none}
"""


def _pipeline(folder: Path, illnesses: int) -> TableRun:
    """Forty people with so many illnesses in turn."""
    rows = [f"{20 + i % 5},ill {i % illnesses}" for i in range(40)]
    (folder / "data.csv").write_text("age,illness\n" + "\n".join(rows) + "\n")
    (folder / "age.yaml").write_text("type: intervals\nwidths: [5]\n")
    (folder / "config.yaml").write_text(CONFIG)
    return TableRun(load_config(folder / "config.yaml"), seed=1)


def test_protection_is_named_where_it_left_too_few_different_secrets(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError) as info:
        _ = _pipeline(tmp_path, 20).anonymized
    reason, protection = info.value.problems
    assert "needs 2 different values in every class, and the whole column has 1" in reason.message
    assert "rare values of illness were replaced before (protect)" in protection.message
    assert "protect.min_count" in protection.hint and "ill 1" not in str(info.value)


def test_protection_is_not_named_where_it_changed_nothing(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError) as info:
        _ = _pipeline(tmp_path, 1).anonymized
    assert len(info.value.problems) == 1
