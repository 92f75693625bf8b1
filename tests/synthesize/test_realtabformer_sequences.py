"""REaLTabFormer for persons: refusals without a network, and networks small enough for seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.base.progress import silent
from hybrid.synthesize import REGISTRY, SynthesizeOptions, fit
from hybrid.synthesize.generators.realtabformer import RealtabformerOptions
from hybrid.synthesize.generators.realtabformer.model import RowShape, learn_children
from hybrid.synthesize.protocol import Children, Encoded, Feature
from hybrid.table import Table
from hybrid.table.persons import constant_within
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame
from tests.synthesize.visits import STATIC, visits

SMALL = {"n_embd": 16, "n_head": 2, "n_layer": 1, "epochs": 2, "batch_size": 16, "accumulation": 1}
NUMBER = Feature("cost", 0, ordered=True, missing=False)


def sequences(counts: list[int], largest: float = 9.0) -> Children:
    """Persons without columns, whose rows have one number."""
    values = np.linspace(0, largest, sum(counts)).round()
    return Children([NUMBER], [values], parents=Encoded([], []), counts=np.array(counts))


@pytest.mark.parametrize(
    ("data", "own", "said"),
    [
        (sequences([1, 2, 3]), {"overfit": 1.2}, "overfit is about single rows"),
        (sequences([3]), {}, "two persons or more"),
        (sequences([0] * 20 + [2]), {}, "ten persons or more with rows"),
        (sequences([500] * 10, largest=99_999), {}, "500 rows of 3 words each are 2,500 words"),
    ],
    ids=["overfit", "one person", "hardly any rows", "long"],
)
def test_what_it_cannot_learn_is_refused_before_anything_is_trained(
    data: Children, own: dict[str, Any], said: str
) -> None:
    with pytest.raises(GeneratorError, match=said):
        learn_children(data, RealtabformerOptions(**own), 1, silent)


def test_numbers_of_persons_stay_within_what_was_learned_and_rows_follow_their_order() -> None:
    persons = Encoded([NUMBER, Feature("sex", 2, False, False)], [np.array([0.0, 120.0]), np.array([0, 1])])
    data = Children([NUMBER], [np.array([3.0, 1.0])], parents=persons, counts=np.array([1, 1]), order=0)
    shape = RowShape.of(data, RealtabformerOptions())
    read = shape.read([np.array([-5.0, 7.0, 1000.0]), np.array([1, 0, 1])], 3)
    assert read["c0"].tolist() == [0.0, 7.0, 120.0] and read["c1"].tolist() == ["s1", "s0", "s1"]
    (values,) = shape.ordered([np.array([5.0, 2.0, 4.0, 1.0])], np.array([0, 0, 1, 1]))
    assert values.tolist() == [2.0, 5.0, 1.0, 4.0]
    assert shape.least == 1
    none = RowShape.of(sequences([0, 2]), RealtabformerOptions())
    assert none.least == 0 and none.read([], 2).to_dict("list") == {"nothing": ["s0", "s0"]}


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads that wait for each other make small networks slow."""
    pytest.importorskip("realtabformer", reason="needs the extra [realtabformer]")
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_persons_come_out_with_their_rows_and_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    real = visits(40)
    options = SynthesizeOptions(generator="realtabformer", isolate=False, options=SMALL)
    steps: list[int] = []
    fitted = fit(real, options, 1, lambda _, done, total=None, **__: steps.append(done), tmp_path, static=STATIC)
    drawn = fitted.sample(30, 3)
    assert not drawn.rows_are_persons and len(np.unique(drawn.persons)) == 30, "every real person has a row"
    assert drawn.schema == real.schema and drawn.frame.dtypes.equals(real.frame.dtypes)
    assert constant_within(drawn, STATIC) == list(STATIC)
    day = drawn.frame["day"].to_numpy()
    assert (np.diff(day)[np.diff(drawn.persons) == 0] >= np.timedelta64(0)).all()
    again: list[int] = []
    fit(real, options, 1, lambda _, done, total=None, **__: again.append(done), tmp_path, static=STATIC)
    assert len(again) < len(steps), "the model of the persons was whole and is not trained again"
    (tmp_path / "saved").mkdir()
    fitted.model.save(tmp_path / "saved")
    loaded = REGISTRY["realtabformer"].load(tmp_path / "saved")
    one, two = fitted.model.draw(12, 5), loaded.draw(12, 5)
    np.testing.assert_array_equal(one.counts, two.counts)
    assert all((left == right).all() for left, right in zip(one.rows, two.rows, strict=True))


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_numbers_of_rows_follow_the_parent() -> None:
    counts = np.array([0, 1, 3] * 20)
    kind = np.array(["none", "one", "three"] * 20)
    parents = read_frame(pd.DataFrame({"kind": kind}), ReadOptions())
    owners = np.repeat(np.arange(len(counts)), counts)
    rows = read_frame(pd.DataFrame({"same": kind[owners]}), ReadOptions())
    own = {**SMALL, "n_embd": 32, "epochs": 25, "batch_size": 8, "lr": 5e-3, "dropout": 0, "validation": 0}
    options = SynthesizeOptions(generator="realtabformer", isolate=False, options=own)
    fitted = fit(Table(rows.frame, rows.schema, owners), options, 1, parents=parents)
    drawn = fitted.sample_below(parents, 2)
    assert not drawn.rows_are_persons
    found = np.bincount(drawn.persons, minlength=len(parents))
    means = [found[kind == name].mean() for name in ("none", "one", "three")]
    assert means == pytest.approx([0, 1, 3], abs=0.3)
    assert (drawn.frame["same"].to_numpy(object) == kind[drawn.persons]).mean() > 0.9
