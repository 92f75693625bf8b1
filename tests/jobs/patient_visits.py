"""Visits of patients, and numbers of people in texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.pipeline import Pipeline

SECRET = b"twelve bytes"


@dataclass
class Case:
    """A folder with tables, the visits written as often."""

    folder: Path

    @cached_property
    def config(self) -> RunConfig:
        return load_config(self.folder / "config.yaml")

    @cached_property
    def pipeline(self) -> Pipeline:
        return Pipeline(self.config)


def visits() -> pd.DataFrame:
    """Some 400 visits of 160 patients; one of them has six, with a ward, a diagnosis and a cost of her own."""
    rng = np.random.default_rng(7)
    rows = rng.integers(1, 5, 160)
    rows[0] = 6
    whose = np.repeat(np.arange(160), rows)
    years, sexes = rng.integers(1940, 2005, 160), rng.choice(["m", "f"], 160)
    frame = pd.DataFrame(
        {"patient_id": [f"P{at:04d}" for at in whose], "birth_year": years[whose], "sex": sexes[whose]}
    )
    frame["ward"] = rng.choice(["A", "B", "C"], len(frame))
    frame["diagnosis"] = rng.choice(["flu", "copd", "burn"], len(frame))
    frame["cost"] = rng.gamma(2, 50, len(frame)).round(2)
    frame.loc[whose == 0, ["ward", "diagnosis", "cost"]] = ["Rare ward", "Orphan disease", 98765.43]
    return frame


def people_in(text: str) -> list[str]:
    """Numbers of people that a text states, and shares of them."""
    return re.findall(r"(?:about|fewer than|of|holds|at least)? ?\d[\d,]* (?:% of the )?(?:persons|people)", text)
