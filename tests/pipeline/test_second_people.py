"""Rows that tell about two people are noticed, and are no pass: k counts one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.pipeline.starter.guess_config import guess_frame
from hybrid.pipeline.starter.person_numbers import second_people
from hybrid.pipeline.starter.reading import guess_frame_reading
from hybrid.publication.column_roles import DecidedRoles
from hybrid.table.typed_table import read_frame


def _meetings(people: int = 80) -> pd.DataFrame:
    """Each of a group meets eight others, and both write a row about it."""
    first = np.repeat(np.arange(people), 8)
    second = (first + np.tile([1, 2, 3, 4, -1, -2, -3, -4], people)) % people
    rng = np.random.default_rng(0)
    return pd.DataFrame({"person_id": first + 1, "pid": second + 1, "age_of_other": 20 + second % 40}).assign(
        meeting_id=np.arange(len(first)) + 1, place_id=rng.integers(1, people, len(first))
    )


def _second(frame: pd.DataFrame) -> tuple[str, ...]:
    return second_people(read_frame(frame, guess_frame_reading(frame)), "person_id")


def test_who_is_met_is_a_second_person() -> None:
    """A partner's answers were once counted as those of many people: each row has another first person."""
    assert _second(_meetings()) == ("pid",)
    notes = guess_frame(_meetings()).notes
    assert "rows tell about a second person, whom k does not count: pid" in notes


def test_particular_numbers_and_texts_need_no_rows_back() -> None:
    """Winners and losers: nobody wins against whom he loses to; a counter of rows or places is no person."""
    won = _meetings()[_meetings()["person_id"] < _meetings()["pid"]].reset_index(drop=True)
    assert _second(won) == ()
    assert _second(won.assign(person_id=won["person_id"] * 977, pid=won["pid"] * 977)) == ("pid",)
    assert _second(won.assign(person_id="p" + won["person_id"].astype(str), pid="p" + won["pid"].astype(str))) == (
        "pid",
    )


def test_codes_of_few_groups_number_nobody() -> None:
    """Codes 1, 2, 3 of a race stand among the codes of persons, too."""
    frame = _meetings()[["person_id"]].astype(str)
    assert _second(frame.assign(race_code=[str(at % 3 + 1) for at in range(len(frame))])) == ()


def test_the_same_person_twice_is_one_person() -> None:
    frame = _meetings()
    assert _second(frame.assign(pid=frame["person_id"])) == ()


@pytest.mark.parametrize(("second", "status"), [((), "pass"), (("pid",), "review")])
def test_a_second_person_is_a_review(second: tuple[str, ...], status: str) -> None:
    roles = DecidedRoles(decided_by="A Name", date="2026-11-20", person=("person_id",), second=second)
    assert roles.check().status == status
    assert ("second person (pid)" in roles.check().message) is bool(second)
    assert DecidedRoles.from_json(roles.to_json()) == roles
