"""A trained generator on disk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.base.hashing import fingerprint
from hybrid.synthesize import SynthesizeOptions, fit, load_generator, save_generator
from tests.synthesize.synthesize_tables import people
from tests.synthesize.visits import STATIC, visits


def test_a_saved_generator_draws_the_same_rows(tmp_path):
    table = people(100)
    fitted = fit(table, SynthesizeOptions(options={"min_leaf": 9}), 1)
    save_generator(fitted, tmp_path / "model")
    loaded = load_generator(tmp_path / "model")
    pd.testing.assert_frame_equal(fitted.sample(40, 2).frame, loaded.sample(40, 2).frame)
    assert loaded.record == fitted.record
    assert loaded.record.trained_on == fingerprint(table)
    assert loaded.record.options["min_leaf"] == 9
    assert "numpy" in loaded.record.versions
    assert (tmp_path / "model").stat().st_mode & 0o77 == 0


def test_persons_and_rows_below_parents_are_saved_as_such(tmp_path):
    real = visits(60)
    persons = fit(real, SynthesizeOptions(), 1, static=STATIC)
    rows = replace(people(300).only(["age", "income"]), named_persons=np.arange(300) % 100)
    parents = people(100).only(["job"])
    below = fit(rows, SynthesizeOptions(), 1, parents=parents)
    for name, fitted in (("persons", persons), ("below", below)):
        save_generator(fitted, tmp_path / name)
    drawn, again = persons.sample(20, 2), load_generator(tmp_path / "persons").sample(20, 2)
    pd.testing.assert_frame_equal(drawn.frame, again.frame)
    assert (drawn.persons == again.persons).all()
    drawn, again = (one.sample_below(parents, 2) for one in (below, load_generator(tmp_path / "below")))
    pd.testing.assert_frame_equal(drawn.frame, again.frame)
    assert (drawn.persons == again.persons).all()


def test_a_table_without_variation_can_be_saved_too(tmp_path):
    fitted = fit(people(5).only(["country", "empty"]), SynthesizeOptions(), 1)
    save_generator(fitted, tmp_path / "model")
    assert load_generator(tmp_path / "model").sample(2, 1).frame["country"].tolist() == ["here", "here"]


@pytest.mark.parametrize("damage", ["change", "remove", "add", "note", "unknown", "nothing"])
def test_what_is_not_whole_is_not_opened(tmp_path, damage):
    folder = tmp_path / "model"
    if damage != "nothing":
        save_generator(fit(people(30), SynthesizeOptions(), 1), folder)
    match damage:
        case "change":
            (folder / "codec.joblib").write_bytes(b"nonsense")
        case "remove":
            next((folder / "model").iterdir()).unlink()
        case "add":
            (folder / "model" / "more").touch()
        case "note":
            (folder / "generator.json").write_text("{", encoding="utf-8")
        case "unknown":
            note = (folder / "generator.json").read_text(encoding="utf-8")
            (folder / "generator.json").write_text(note.replace('"cart"', '"gone"'), encoding="utf-8")
    with pytest.raises(GeneratorError, match="saved generator"):
        load_generator(folder)


def test_a_folder_is_never_overwritten(tmp_path):
    fitted = fit(people(30), SynthesizeOptions(), 1)
    with pytest.raises(FileExistsError):
        save_generator(fitted, tmp_path)
