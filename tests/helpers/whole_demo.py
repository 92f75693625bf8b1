"""The demo with all of its people: what is tested on few records must not depend on which half of them is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid.demo import write_demo

WHOLE = {
    "  suppression_limit: 0.02 ": "  suppression_limit: 0.05 ",
    "beta: 0.45, by: equivalence_class": "beta: 1.0, by: equivalence_class",
    ", options: {min_leaf: 30}": "",
}
"""Text of the demo's configuration, and what takes its place."""


def write_whole_demo(folder: Path, rows: int = 30_000, seed: int = 20240501, **options: Any) -> Path:
    """As :func:`hybrid.demo.write_demo`, without sampling and with the generator's own leaves."""
    config = write_demo(folder, rows, seed, **options)
    text = config.read_text(encoding="utf-8")
    for own, whole in WHOLE.items():
        assert own in text, own
        text = text.replace(own, whole)
    config.write_text(text, encoding="utf-8")
    return config
