"""Seconds that computing a result took, without those of results it asked for on the way."""

from __future__ import annotations

import pytest

from hybrid.store import local
from hybrid.store.local import own_seconds


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(local, "time", clock)
    return clock


def test_nested_blocks_are_not_counted_twice(clock: Clock) -> None:
    with own_seconds() as outer:
        clock.now += 1.0
        with own_seconds() as first:
            clock.now += 10.0
            with own_seconds() as inner:
                clock.now += 100.0
        with own_seconds() as second:
            clock.now += 1000.0
        clock.now += 2.0
    assert (outer(), first(), inner(), second()) == (3.0, 10.0, 100.0, 1000.0)


def test_a_block_that_fails_is_measured_and_does_not_disturb_the_next(clock: Clock) -> None:
    with own_seconds() as outer:
        with pytest.raises(ValueError, match="broken"), own_seconds() as failed:
            clock.now += 5.0
            raise ValueError("broken")
        clock.now += 1.0
    assert (outer(), failed()) == (1.0, 5.0)
    with own_seconds() as next_one:
        clock.now += 7.0
    assert next_one() == 7.0
