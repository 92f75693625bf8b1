"""Progress in words."""

from __future__ import annotations

from hybrid.base import progress
from hybrid.base.progress import LogProgress


def test_long_steps_are_said_every_so_often_with_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines: list[str] = []
    tell = LogProgress(lines.append, every_seconds=30)
    tell("fit ctgan", 0, 300)
    for done in range(1, 101):
        now[0] += 1
        tell("fit ctgan", done, 300, loss=0.5, discriminator_loss=-1.25)
    tell("evaluate", 0)
    assert lines == [
        "fit ctgan ...",
        "fit ctgan 30 of 300, loss 0.5, discriminator loss -1.25, about 4 min left",
        "fit ctgan 60 of 300, loss 0.5, discriminator loss -1.25, about 4 min left",
        "fit ctgan 90 of 300, loss 0.5, discriminator loss -1.25, about 4 min left",
        "evaluate ...",
    ]
