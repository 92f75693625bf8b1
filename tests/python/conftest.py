"""Tables that the tests of the Python interface share: simulated admissions, no real people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from hybrid.demo import write_demo


@pytest.fixture(scope="session")
def admissions(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """500 admissions of different people, with a name column and few other columns, so that tests are quick."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, rows=500, seed=3, several=False)
    return pd.read_csv(Path(folder) / "admissions.csv")[
        ["patient_id", "age", "sex", "ward", "length_of_stay", "bmi", "diagnosis", "readmitted"]
    ]
