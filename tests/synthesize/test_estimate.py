"""What a generator would take, said before it starts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.synthesize import REGISTRY, SynthesizeOptions
from hybrid.synthesize import estimate as module
from hybrid.synthesize.estimate import estimate, foreseen, in_words, slowness
from hybrid.table import Kind
from tests.synthesize.synthesize_tables import people, table_of


def wide(n: int = 20_000):
    codes = pd.Series(np.arange(n).astype(str))
    return table_of({"code": (Kind.CATEGORICAL, codes), "age": (Kind.INTEGER, np.arange(n) % 90)})


@pytest.mark.parametrize("name", list(REGISTRY))
def test_more_records_and_more_work_take_longer(name):
    few, many = (estimate(people(n), SynthesizeOptions(generator=name))[0] for n in (500, 5000))
    assert 0 < few.seconds < many.seconds
    assert 0 < few.memory_bytes <= many.memory_bytes
    if "epochs" in REGISTRY[name].Options.model_fields:
        longer = SynthesizeOptions(generator=name, options={"epochs": 100_000})
        assert estimate(people(500), longer)[0].seconds > 2 * few.seconds


def test_the_engine_s_own_cost_is_told():
    native, other = (
        estimate(people(3000), SynthesizeOptions(generator="tabddpm", options={"engine": engine, "steps": 1000}))[0]
        for engine in ("native", "synthcity")
    )
    assert other.seconds > native.seconds
    assert other.inputs == 0


def test_a_table_too_wide_is_an_error_that_names_the_column():
    found = list(foreseen(wide(), SynthesizeOptions(generator="ctgan")))
    assert [finding.level for finding in found] == ["note", "error"]
    assert "20,011 inputs (limit 5,000), most for 'code' (20,000 states)" in found[1].message
    assert "cart" in found[0].message and "about" in found[0].message


def test_limits_that_will_not_do_are_said(monkeypatch):
    monkeypatch.setattr(module, "slowness", lambda: 1.0)
    options = SynthesizeOptions(generator="tabddpm", memory_limit=0.1, time_limit=5, options={"epochs": 100_000})
    time, memory, late = foreseen(people(2000), options)
    assert "fewer epochs" in time.hint
    assert "0.1 GiB that synthesize.memory_limit allows" in memory.message
    assert "time_limit (5 s)" in late.message


def test_times_in_words():
    assert [in_words(s) for s in (0.2, 59, 150, 2700, 7200)] == ["1 s", "59 s", "2 min", "45 min", "2 h"]
    assert [in_words(s) for s in (99.6, 5990)] == ["100 s", "100 min"]


def test_the_probe_is_quick_and_steady():
    assert 0.02 < slowness() < 200
