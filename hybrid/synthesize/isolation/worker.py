"""Worker process of a generator: reads a job folder, writes results.

Started as ``python -m hybrid.synthesize.isolation.worker FOLDER`` by :mod:`hybrid.synthesize.isolation.job`, which
documents the folder. Ends by itself when its parent is gone (and then removes the folder) or when it holds more
memory than it may.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError, HybridError
from hybrid.base.resources import forbid_dumps, peak_bytes
from hybrid.synthesize.protocol import (
    Children,
    DrawnColumns,
    Encoded,
    Feature,
    Generator,
    InspectableGenerator,
    LoadingGenerator,
    SavedModel,
)

OUT_OF_MEMORY = 77
"""Exit status when the memory limit was passed."""
ORPHANED = 78
"""Exit status when the parent process was gone."""
WATCH_SECONDS = 0.2
_PICKLED = "model.joblib"


def main(folder: Path) -> None:
    """Do the job in ``folder``; ``result.json`` is written last."""
    forbid_dumps()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    threading.Thread(target=_watch, args=(folder, os.getppid(), job["memory_bytes"]), daemon=True).start()
    try:
        {"learn": _learn, "draw": _draw, "log_odds": _inspect}[job["task"]](folder, job)
        result: dict[str, Any] = {"problems": []}
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except HybridError as error:
        result = {"problems": [[problem.message, problem.hint, problem.values] for problem in error.problems]}
    except Exception as error:  # noqa: BLE001  (any library may throw anything)
        traceback.print_exc()
        message = f"{_adapter(job).name} failed to {job['task']} ({type(error).__name__})"
        hint = "--debug shows its own words; more records or a smaller learning rate may help"
        result = {"problems": [[message, hint, str(error)]]}
    # Read only when this process has ended with status 0.
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


def write_columns(path: Path, columns: Any) -> None:
    """Write encoded columns as Parquet, named by their position."""
    pq.write_table(pa.table({str(at): pa.array(values) for at, values in enumerate(columns)}), path)


def read_columns(path: Path) -> list[Array]:
    """Read what :func:`write_columns` wrote."""
    table = pq.read_table(path)
    return [table.column(at).to_numpy() for at in range(table.num_columns)]


def read_drawn(folder: Path) -> DrawnColumns:
    *parents, counts = read_columns(folder / "drawn.parents")
    return DrawnColumns(read_columns(folder / "drawn.parquet"), parents, counts)


def _encoded(folder: Path, job: dict[str, Any], name: str = "data") -> Encoded:
    features, columns = ([Feature(**one) for one in job["features"]], read_columns(folder / f"{name}.parquet"))
    if job.get("parents") is None:
        return Encoded(features, columns)
    *known, counts = read_columns(folder / "data.parents")
    parents = Encoded([Feature(**one) for one in job["parents"]], known)
    owners = np.repeat(np.arange(len(counts)), counts)
    about = {"counts": counts, "order": job["order"], "given": job["given"]}
    return Children(features, columns, owners, parents=parents, **about)


def _adapter(job: dict[str, Any]) -> Generator:
    """The generator of a job, whose module alone is imported: a managed environment has no more packages."""
    module, _, name = job["adapter"].partition(":")
    generator: Generator = getattr(import_module(module), name)()
    return generator


def _learn(folder: Path, job: dict[str, Any]) -> None:
    generator = _adapter(job)
    options = generator.Options.model_validate(job["options"])
    with (folder / "events.jsonl").open("a", encoding="utf-8", buffering=1) as events:

        def progress(step: str, done: int, total: int | None = None, **values: float) -> None:
            events.write(json.dumps([step, done, total, values]) + "\n")

        unfinished = None if job["unfinished"] is None else Path(job["unfinished"])
        (folder / "model").mkdir(mode=0o700)
        model = generator.learn(_encoded(folder, job), options, job["seed"], progress, unfinished)
        if isinstance(model, SavedModel):
            model.save(folder / "model")
        else:
            joblib.dump(model, folder / "model" / _PICKLED)


def _loaded(generator: Generator, job: dict[str, Any]) -> Any:
    try:
        if isinstance(generator, LoadingGenerator):
            return generator.load(Path(job["model"]))
        return joblib.load(Path(job["model"]) / _PICKLED)
    except Exception as error:  # noqa: BLE001  (a broken file may break any reader)
        traceback.print_exc()
        raise GeneratorError(
            f"{generator.name}: the saved model cannot be read ({type(error).__name__})", hint="train it again"
        ) from None


def _inspect(folder: Path, job: dict[str, Any]) -> None:
    generator = _adapter(job)
    assert isinstance(generator, InspectableGenerator)
    people, reference = (_encoded(folder, job, name) for name in ("data", "reference"))
    odds = generator.log_odds(_loaded(generator, job), people, reference, job["seed"])
    write_columns(folder / "odds.parquet", [odds])


def _draw(folder: Path, job: dict[str, Any]) -> None:
    model, given, about = _loaded(_adapter(job), job), folder / "given.parents", (job["n"], job["seed"])
    drawn = model.draw_below(read_columns(given), *about) if given.is_file() else model.draw(*about)
    write_columns(folder / "drawn.parquet", drawn.rows)
    write_columns(folder / "drawn.parents", [*drawn.parents, drawn.counts])


def _watch(folder: Path, parent: int, memory_bytes: int | None) -> None:
    while True:
        if os.getppid() != parent:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(ORPHANED)
        if memory_bytes is not None and peak_bytes() > memory_bytes:
            os._exit(OUT_OF_MEMORY)
        time.sleep(WATCH_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
