"""Trained generators on disk, in the private zone, with checksums.

=====================  ==========================================================
``codec.joblib``       how its numbers become a table
``model/``             what the generator saved
``generator.json``     written last: generator, training record, SHA-256 of every file
=====================  ==========================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import joblib

from hybrid.base.atomic import write_json
from hybrid.base.errors import GeneratorError
from hybrid.base.hashing import file_sha256
from hybrid.synthesize.fitted import FittedGenerator, TrainingRecord
from hybrid.synthesize.isolation.job import IsolatedModel, Limits
from hybrid.synthesize.registry import REGISTRY, engine, require

_CODEC, _MODEL, _NOTE = "codec.joblib", "model", "generator.json"


def save_generator(fitted: FittedGenerator, folder: Path) -> None:
    """Write a trained generator into a new private folder.

    Only its owner can enter it.

    Raises
    ------
    FileExistsError
        The folder is there already.
    """
    folder.mkdir(parents=True, mode=0o700)
    joblib.dump(fitted.codec, folder / _CODEC)
    if fitted.model is not None:
        (folder / _MODEL).mkdir(mode=0o700)
        fitted.model.save(folder / _MODEL)
    note = {"generator": fitted.name, "record": asdict(fitted.record) if fitted.record else None}
    write_json(folder / _NOTE, {**note, "files": _hashes(folder)})


def load_generator(folder: Path, limits: Limits = Limits()) -> FittedGenerator:  # noqa: B008  (immutable)
    """Read a model from :func:`save_generator`.

    A model trained on a GPU loads on a CPU.

    Files are compared with their recorded SHA-256 before any of them is opened. Only load models of your own:
    reading one can run code.

    Parameters
    ----------
    folder : Path
        Must stay as long as the generator is used.
    limits : Limits
        What the process that draws may use, for generators that need extra packages.

    Raises
    ------
    GeneratorError
        The folder is no saved generator, is incomplete, or was changed.
    MissingExtraError
        The generator's packages are not installed.
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
    codec = joblib.load(folder / _CODEC)
    record = TrainingRecord(**note["record"]) if note["record"] else None
    if not (folder / _MODEL).is_dir():
        return FittedGenerator(generator.name, codec, None, record)
    if generator.requires:
        return FittedGenerator(generator.name, codec, IsolatedModel(generator, limits, folder / _MODEL), record)
    return FittedGenerator(generator.name, codec, generator.load(folder / _MODEL), record)


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _NOTE)
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}
