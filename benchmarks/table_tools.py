"""Other tools on one table; run by benchmarks/table_peers.py with the python that has the tool.

python benchmarks/table_tools.py copula|ctgan|syndiffix|syndiffix_target|mostlyai TARGET FOLDER NAME...

FOLDER has train.csv or NAME.csv, and kinds.json (kinds of columns); FOLDER/TOOL gets NAME.csv with as many rows, and
NAME.s with the CPU seconds. Tools are at their defaults but for what stands here.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

MOSTLY_MINUTES = 3


def sdv(synthesizer: str, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    import sdv.single_table as tables
    import torch
    from sdv.metadata import Metadata

    torch.manual_seed(seed)
    metadata = Metadata.detect_from_dataframe(frame)
    table = next(iter(metadata.tables.values()))
    if table.primary_key is not None:
        metadata.remove_primary_key()
    for name, column in table.columns.items():
        if column["sdtype"] not in ("numerical", "categorical", "datetime"):
            number = pd.api.types.is_numeric_dtype(frame[name])
            metadata.update_column(name, sdtype="numerical" if number else "categorical")
    made = getattr(tables, synthesizer)(metadata)
    made.fit(frame)
    return made.sample(len(frame))


def syndiffix(target: str | None, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    from syndiffix import Synthesizer
    from syndiffix.common import AnonymizationParams

    salt = np.random.default_rng(seed).bytes(8)
    made = Synthesizer(frame, anonymization_params=AnonymizationParams(salt=salt), target_column=target).sample()
    return made.sample(len(frame), replace=len(made) < len(frame), random_state=seed)


def mostlyai(place: Path, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    from mostlyai import engine

    engine.set_random_state(seed)
    engine.split(frame, workspace_dir=place)
    engine.analyze(workspace_dir=place)
    engine.encode(workspace_dir=place)
    engine.train(max_training_time=MOSTLY_MINUTES, device="cpu", workspace_dir=place)
    engine.generate(sample_size=len(frame), device="cpu", workspace_dir=place)
    return pd.read_parquet(place / "SyntheticData")


def source(name: str) -> str:
    """File that a table is learned from: draws from all training rows, others from a half."""
    return "train.csv" if name.startswith("draw") else f"{name}.csv"


def write(frame: pd.DataFrame, place: Path, seconds: float) -> None:
    place.with_suffix(".s").write_text(f"{seconds:.1f}", encoding="utf-8")
    frame.to_csv(place.with_suffix(".part"), index=False)
    place.with_suffix(".part").rename(place.with_suffix(".csv"))


def main() -> None:
    tool, target, folder, names = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:]
    warnings.simplefilter("ignore")
    tools = {
        "copula": partial(sdv, "GaussianCopulaSynthesizer"),
        "ctgan": partial(sdv, "CTGANSynthesizer"),
        "syndiffix": partial(syndiffix, None),
        "syndiffix_target": partial(syndiffix, target),
        "mostlyai": partial(mostlyai, folder / tool / "workspace"),
    }
    kinds = json.loads((folder / "kinds.json").read_text(encoding="utf-8"))
    texts = {name: str for name, kind in kinds.items() if kind in ("categorical", "boolean")}
    dates = [name for name, kind in kinds.items() if kind in ("date", "datetime")]
    for name in names:
        seed = int(name.split("-")[1])
        np.random.seed(seed)  # noqa: NPY002 - the tools draw from it
        frame = pd.read_csv(
            folder / source(name), dtype=texts, parse_dates=dates, keep_default_na=False, na_values=[""]
        )
        started = time.process_time()
        made = tools[tool](frame, seed)
        write(made[list(frame)], folder / tool / name, time.process_time() - started)


if __name__ == "__main__":
    main()
