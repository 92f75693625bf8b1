"""The tune on a page: started, read, and its choice taken into the configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hybrid.desk.runner import TUNE
from hybrid.pipeline.config import load_config
from hybrid.tuning import Tuned
from hybrid.tuning.page import sentences, write_results
from hybrid.tuning.search import choose
from hybrid.tuning.settings import Setting
from tests.desk.open_desk import OpenDesk, Visitor
from tests.tuning.made_up_settings import measured

Own = tuple[Visitor, OpenDesk, Path]


def test_a_choice_is_read_and_taken_into_the_file(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor, found, folder = own
    path = folder / "config.yaml"
    config, before = load_config(path), path.read_text()
    begun: list[list[str]] = []
    monkeypatch.setattr(found.desk.runner, "begin", lambda _, words: begun.append(words))
    assert "<svg class" not in visitor.get("/tune").text
    assert visitor.post("/tune/start").status == 303
    assert begun[0][:3] == [TUNE, str(path), "--no-write"] and path.read_text() == before

    values = {"anonymize.k": config.k + 5, "transition.method": "uniform"}
    settings = (Setting("configured", {}, config), Setting("s01", values, config.with_values(values)))
    last = (measured("configured", 0.7, 0.95), measured("s01", 0.55, 0.9))
    tuned = Tuned(settings, (last,), (), choose(last), ("readmitted",), 420, True, True, 0.0)
    assert Path(begun[0][-1]) == found.desk.places.work
    write_results(tuned, found.desk.places.work / TUNE / config.name)
    page = visitor.get("/tune").text
    assert tuned.reason in page and "s01" in page and "style=" not in page

    state = visitor.field("state")
    assert visitor.post("/tune/use", state=state, reason="another").status == 409
    visitor.get("/tune")
    assert visitor.post("/tune/use", state=state, reason=tuned.reason).status == 303
    changed = load_config(path)
    assert (changed.k, changed.required_transition.method) == (config.k + 5, "uniform")
    assert "# tune: " in path.read_text()
    assert "This is what the configuration says." in visitor.get("/tune").text


def test_results_of_another_kind_are_left_alone(own: Own) -> None:
    visitor, found, folder = own
    place = found.desk.places.work / TUNE / load_config(folder / "config.yaml").name
    place.mkdir(parents=True)
    for text in ("[]", "{", "{}", "7"):
        (place / "tune.json").write_text(text)
        assert visitor.get("/tune").status == 200


def test_the_sentences_follow_the_choice(own: Own) -> None:
    config = load_config(own[2] / "config.yaml")
    setting = Setting("configured", {}, config)

    def said(auc: float, **changes: object) -> str:
        last = (measured("configured", auc, 0.9),)
        found = Tuned((setting,), (last,), (), choose(last), (), 420, True, True, 0.0)
        return " ".join(sentences(replace(found, **changes)))  # type: ignore[arg-type]

    assert "No setting is expected to pass" in said(0.7) and "No setting" not in said(0.5)
    assert "not looked at" in said(0.5) and "had a part" not in said(0.5)
    assert "had a part" in said(0.5, has_control=False) and "not looked at" not in said(0.5, has_control=False)
    assert "has no rule" in said(0.5, has_rule=False) and "has no rule" not in said(0.5)
