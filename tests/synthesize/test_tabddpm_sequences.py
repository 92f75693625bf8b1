"""TabDDPM for persons: forms of columns, and persons with all their rows through the worker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import GeneratorError
from hybrid.store import Store
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.generators.tabddpm.forms import Knowledge, TableForm
from hybrid.synthesize.kept import fit_or_reuse
from hybrid.synthesize.protocol import Feature
from hybrid.table.persons import constant_within
from tests.synthesize.visits import STATIC, visits


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for each other make small networks slow, here and in the worker."""
    torch = pytest.importorskip("torch", reason="needs the extra [tabddpm]")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)


NUMBERS = st.lists(st.one_of(st.none(), st.floats(-9, 9, allow_subnormal=False)), min_size=1, max_size=30)


@given(NUMBERS, st.integers(0, 5), st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_columns_come_back_from_their_form(values: list[float | None], most: int, codes: list[int]) -> None:
    n = min(len(values), len(codes))
    number = np.array([np.nan if value is None else value for value in values[:n]])
    state = np.array(codes[:n], dtype=np.int32)
    features = [Feature("number", 0, True, True), Feature("state", 4, False, False)]
    form, rng = TableForm.of(features, [number, state], most), np.random.default_rng(1)
    encoded = form.encode([number, state], rng)
    drawn = [] if encoded is None else list(encoded.columns)
    if encoded is not None:
        assert not any(np.isnan(column).any() for column in drawn)
        for feature, column in zip(encoded.features, drawn, strict=True):
            known = np.unique(column)
            assert len(known) > 1 or not feature.is_discrete, "a constant is not learned as states"
            assert not feature.is_discrete or set(known) == set(range(feature.n_levels))
    back = form.decode(drawn, n)
    np.testing.assert_array_equal(back[0], number)
    np.testing.assert_array_equal(back[1], state)


def test_what_is_known_of_a_row_as_numbers() -> None:
    features = {"ward": Feature("ward", 3, False, False), "age": Feature("age", 0, True, True)}
    features["same"] = Feature("same", 2, False, False)
    columns = {"ward": np.array([0, 2, 2, 0]), "age": np.array([10.0, 20.0, np.nan, 20.0]), "same": np.ones(4, int)}
    knowledge = Knowledge.of(features, columns)
    assert knowledge.n_states == 2, "states that do not occur, and columns with one value, say nothing"
    states, numbers = knowledge.encode({**columns, "age": np.array([10.0, np.nan, 15.0, 99.0])}, 4)
    assert states.tolist() == [[0], [1], [1], [0]]
    # Of three known ages, 10 is at the share 1/6 and 20 at 2/3; 15 lies halfway, 99 counts as 20.
    assert numbers[:, 0] == pytest.approx([-0.9674, 0, (-0.9674 + 0.4307) / 2, 0.4307], abs=1e-3)
    assert numbers[:, 1].tolist() == [0, 1, 0, 0]


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_persons_come_out_of_the_worker_and_the_model_is_kept(tmp_path: Path) -> None:
    real, store = visits(60), Store(tmp_path / "store")
    options = SynthesizeOptions(generator="tabddpm", options={"steps": 20, "layers": (32, 32), "sampling_steps": 5})
    fitted = fit_or_reuse(real, options, 1, store, static=STATIC)
    assert [point.done for point in fitted.losses] == [20, 20, 20], "persons, extents, rows"
    drawn = fitted.sample(40, 3)
    assert not drawn.rows_are_persons and len(np.unique(drawn.persons)) == 40
    assert drawn.schema == real.schema and drawn.frame.dtypes.equals(real.frame.dtypes)
    assert constant_within(drawn, STATIC) == list(STATIC)
    day = drawn.frame["day"].to_numpy()
    assert (np.diff(day)[np.diff(drawn.persons) == 0] >= np.timedelta64(0)).all()
    given = [column[:5] for column in fitted.model.draw(8, 1).parents]
    rows = fitted.model.draw_below(given, 5, 2)
    assert len(rows.counts) == 5 and all(len(column) == rows.counts.sum() for column in rows.rows)
    kept = fit_or_reuse(real, options, 1, store, static=STATIC, only_kept=True)
    pd.testing.assert_frame_equal(kept.sample(40, 3).frame, drawn.frame)


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_what_mostly_stays_mostly_stays_and_overfitting_is_refused() -> None:
    own = {"steps": 50, "layers": (32, 32), "sampling_steps": 10, "batch_size": 256}
    options = SynthesizeOptions(generator="tabddpm", isolate=False, options=own)
    table = visits(100).only(["sex", "disease"])
    drawn = fit(table, options, 1, static=["sex"]).sample(200, 2)
    assert not drawn.rows_are_persons
    inside = drawn.persons[1:] == drawn.persons[:-1]
    disease = drawn.frame["disease"].to_numpy(object)
    assert (disease[1:] == disease[:-1])[inside].mean() > 0.45, "by chance it would be .25"
    wrong = SynthesizeOptions(generator="tabddpm", isolate=False, options={"overfit": 1.2})
    with pytest.raises(GeneratorError, match="overfit is about single rows"):
        fit(table, wrong, 1, static=["sex"])
