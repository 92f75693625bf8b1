"""Trained generators that are kept: in the store, for reuse and resumption, or in a folder of the private zone.

A folder, with checksums:

=====================  ==========================================================
``codec.joblib``       how its numbers become a table, and which columns are those of persons or parents
``model/``             what the generator saved
``generator.json``     written last: generator, training record, SHA-256 of every file
=====================  ==========================================================
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import joblib

from hybrid.base.arrays import Array
from hybrid.base.atomic import write_json
from hybrid.base.errors import GeneratorError
from hybrid.base.hashing import file_sha256, fingerprint
from hybrid.base.progress import Progress, silent
from hybrid.store import Store
from hybrid.synthesize.fitted import FittedGenerator, TrainingRecord, fit_all_levels, model_version
from hybrid.synthesize.isolation.job import IsolatedModel, WorkerLimits
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import Model
from hybrid.synthesize.registry import REGISTRY, engine, require
from hybrid.synthesize.snapshots import drawn_level, training_options
from hybrid.table import Table

_CODEC, _MODEL, _NOTE = "codec.joblib", "model", "generator.json"


def save_generator(fitted: FittedGenerator, folder: Path) -> None:
    """Write a trained generator into a new private folder, which only its owner can enter.

    Raises
    ------
    FileExistsError
        The folder is there already.
    """
    folder.mkdir(parents=True, mode=0o700)
    joblib.dump((fitted.codec, fitted.arrangement, fitted.parents), folder / _CODEC)
    if fitted.model is not None:
        (folder / _MODEL).mkdir(mode=0o700)
        fitted.model.save(folder / _MODEL)
    note = {"generator": fitted.name, "record": asdict(fitted.record) if fitted.record else None}
    write_json(folder / _NOTE, {**note, "files": _hashes(folder)})


def load_generator(folder: Path, limits: WorkerLimits = WorkerLimits()) -> FittedGenerator:  # noqa: B008  (immutable)
    """Read a model from :func:`save_generator`; one trained on a GPU loads on a CPU.

    Files are compared with their recorded SHA-256 before any of them is opened. Only load models of your own: reading
    one can run code.

    Parameters
    ----------
    folder : Path
        Must stay as long as the generator is used.
    limits : WorkerLimits
        What the process that draws may use, for generators that need extra packages.
    """
    try:
        note = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        files, name = note["files"], note["generator"]
        own = REGISTRY[name].Options.model_validate(note["record"]["options"] if note["record"] else {})
    except (OSError, ValueError, KeyError):
        raise GeneratorError(f"{folder} holds no saved generator", hint="train it again") from None
    if files != _hashes(folder):
        raise GeneratorError(f"{folder}: the saved generator is incomplete or was changed", hint="train it again")
    generator = engine(name, own)
    require(generator)
    kept = joblib.load(folder / _CODEC)
    if not isinstance(kept, tuple):
        raise GeneratorError(f"{folder}: an earlier version saved this generator", hint="train it again")
    codec, arrangement, parents = kept
    record = TrainingRecord(**note["record"]) if note["record"] else None
    model: Model | None = None
    if (folder / _MODEL).is_dir() and generator.requires:
        model = IsolatedModel(generator, limits, folder / _MODEL)
    elif (folder / _MODEL).is_dir():
        model = generator.load(folder / _MODEL)
    return FittedGenerator(generator.name, codec, model, record, arrangement=arrangement, parents=parents)


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _NOTE)
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}


logger = logging.getLogger(__name__)
STAGE = "model"


def fit_or_reuse(
    table: Table,
    options: SynthesizeOptions,
    seed: int,
    store: Store,
    progress: Progress = silent,
    domains: Mapping[str, Array] | None = None,
    *,
    static: Sequence[str] | None = None,
    parents: Table | None = None,
    only_kept: bool = False,
) -> FittedGenerator:
    """Fit a generator, or reuse a stored model or checkpoint.

    As :func:`hybrid.synthesize.fit`, with a store that keeps trained models and the checkpoints of unfinished ones.

    The key of a model covers the content of table and parents, the generator's options, the seed, the code of this
    package and the versions of the libraries it is trained with; the number of drawn rows, their condition, the limits
    of its process and the level among the snapshots of one training do not count.

    Parameters
    ----------
    only_kept : bool
        Refuse to train: without a kept model nothing is drawn.
    """
    generator, own = options.engine, options.resolve()
    require(generator)
    above = None if parents is None else (parents, parents.named_persons)
    below = None if static is None and parents is None else (static and list(static), above, table.named_persons)
    known = (training_options(own), table, domains, seed, model_version(generator), below)
    key = "" if store.place is None else fingerprint(STAGE, *known)

    def train() -> FittedGenerator:
        left = store.unfinished(STAGE, key) if key and generator.requires else None
        return fit_all_levels(table, options, seed, progress, left, domains, static=static, parents=parents)

    fitted = _kept(store, key, train, generator.name, only_kept)
    return fitted.at(drawn_level(own)).limited(options.limits)


def _kept(store: Store, key: str, train: Callable[[], FittedGenerator], name: str, only_kept: bool) -> FittedGenerator:
    """The model of a key, trained if it is not kept; without a key nothing is kept."""
    trained = False

    def compute() -> FittedGenerator:
        nonlocal trained
        trained = True
        if only_kept:
            raise GeneratorError(
                f"{name}: the store keeps no model of this run any more, or another version of the program trained it",
                hint="repeat the run with its store, then draw; or draw in one run: hybrid run CONFIG "
                "--set synthesize.where=...",
            )
        return train()

    fitted = store.get_or_compute(STAGE, key, compute) if key else compute()
    if not trained:
        logger.info("%s: trained before on the same table with the same options: the kept model is used", name)
    return fitted
