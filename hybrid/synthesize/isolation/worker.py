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
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError, HybridError
from hybrid.base.resources import forbid_dumps, peak_bytes
from hybrid.synthesize.protocol import (
    DrawnSequences,
    Encoded,
    Feature,
    Generator,
    InspectableGenerator,
    SequenceGenerator,
    Sequences,
)

OUT_OF_MEMORY = 77
"""Exit status when the memory limit was passed."""
ORPHANED = 78
"""Exit status when the parent process was gone."""
WATCH_SECONDS = 0.2


def main(folder: Path) -> None:
    """Do the job in ``folder``; ``result.json`` is written last."""
    forbid_dumps()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    threading.Thread(target=_watch, args=(folder, os.getppid(), job["memory_bytes"]), daemon=True).start()
    try:
        does = {"learn": _learn, "learn_sequences": _learn, "log_odds": _inspect}.get(job["task"], _draw)
        does(folder, job)
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


def write_sequences(path: Path, data: Sequences | DrawnSequences) -> None:
    """Write persons and their rows; ``path`` has no suffix."""
    persons, rows = (
        (data.persons, data.rows) if isinstance(data, DrawnSequences) else (data.persons.columns, data.rows.columns)
    )
    write_columns(path.with_suffix(".parquet"), rows)
    write_columns(path.with_suffix(".persons"), [*persons, data.counts])


def read_drawn_sequences(folder: Path) -> DrawnSequences:
    *persons, counts = read_columns(folder / "drawn.persons")
    return DrawnSequences(persons, read_columns(folder / "drawn.parquet"), counts)


def _sequences(folder: Path, job: dict[str, Any]) -> Sequences:
    *persons, counts = read_columns(folder / "data.persons")
    parts = ((job["persons"], persons), (job["features"], read_columns(folder / "data.parquet")))
    of_persons, of_rows = (Encoded([Feature(**one) for one in features], columns) for features, columns in parts)
    owners = np.repeat(np.arange(len(counts)), counts)
    return Sequences(of_persons, replace(of_rows, persons=owners), counts, job["order"])


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
        if job["task"] == "learn_sequences":
            assert isinstance(generator, SequenceGenerator)
            people = generator.learn_sequences(_sequences(folder, job), options, job["seed"], progress, unfinished)
            people.save(folder / "model")
            return
        data = Encoded([Feature(**feature) for feature in job["features"]], read_columns(folder / "data.parquet"))
        generator.learn(data, options, job["seed"], progress, unfinished).save(folder / "model")


def _loaded(generator: Generator, job: dict[str, Any], *, of_persons: bool) -> Any:
    try:
        load: Any = getattr(generator, "load_sequences" if of_persons else "load")
        return load(Path(job["model"]))
    except Exception as error:  # noqa: BLE001  (a broken file may break any reader)
        traceback.print_exc()
        raise GeneratorError(
            f"{generator.name}: the saved model cannot be read ({type(error).__name__})", hint="train it again"
        ) from None


def _inspect(folder: Path, job: dict[str, Any]) -> None:
    generator = _adapter(job)
    assert isinstance(generator, InspectableGenerator)
    features = [Feature(**feature) for feature in job["features"]]
    people, reference = (Encoded(features, read_columns(folder / f"{name}.parquet")) for name in ("data", "reference"))
    model = _loaded(generator, job, of_persons=False)
    write_columns(folder / "odds.parquet", [generator.log_odds(model, people, reference, job["seed"])])


def _draw(folder: Path, job: dict[str, Any]) -> None:
    of_persons = job["task"] != "draw"
    model = _loaded(_adapter(job), job, of_persons=of_persons)
    if job["task"] == "draw_rows":
        drawn = model.draw_rows(read_columns(folder / "given.persons"), job["n_rows"], job["seed"])
    else:
        drawn = model.draw(job["n_rows"], job["seed"])
    if of_persons:
        write_sequences(folder / "drawn", drawn)
    else:
        write_columns(folder / "drawn.parquet", drawn)


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
