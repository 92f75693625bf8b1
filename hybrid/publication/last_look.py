"""Search of a release for values that few people hold.

It is the last look before publication.

Reports, evaluation, descriptions and certificate are searched for every value that fewer people of the source hold than
may be told apart. Protection, pooled charts and masked counts should have kept them out; where one was forgotten, or a
person wrote one into the configuration, nothing is published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from hybrid.base.errors import GateRefused, Problem
from hybrid.base.manifest import MANIFEST
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.rare_values import RARE, RareValues
from hybrid.publication.words import all_phrases, printed_texts, scalars

TEXTS = (".html", ".json", ".jsonld", ".md")
"""Endings of the files of a release that hold texts; all others are tables."""
_STATED = ("packages", "python", "platform", "git", "created", "name", "stages")
"""Entries of a manifest about the program, not the source."""


def refuse_rare_values(folder: Path, run: FinishedRun, approvers: Collection[str], secret: bytes) -> None:
    """Search the texts of a release for values that few people hold.

    Not of a private table (``privacy.mode: dp``): its files are a function of the table, its account and the
    configuration, and whether they are published must not depend on a record beyond that.

    Parameters
    ----------
    folder : Path
        The files that would be published.
    run : FinishedRun
        Knows the rare values of its source.
    approvers : collection of str
        People who accepted the review; they are named in the release.
    secret : bytes
        Key of the hashes of the rare values.

    Raises
    ------
    GateRefused
        A text prints a rare value. The message names file and column, not the value.
    DataError, VerificationError
        The run does not know its rare values, or they were changed.
    """
    if run.is_dp:
        return
    listed = run.manifest["files"].get(RARE)
    rare = RareValues.read(run.folder, None if listed is None else listed["sha256"])
    stated, columns = all_phrases([*approvers, *_stated(run)]), all_phrases(_columns(run.manifest))
    files: dict[str, list[str]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in TEXTS:
            continue
        found = rare.among(all_phrases(printed_texts(path)) - stated, secret)
        # A column may be called what few people have in another one; but not what only an identifier says.
        alike = found["value"].isin(columns) & (~found["identifier"] | found["value"].str.isalpha())
        for column in sorted(set(found.loc[~alike, "column"])):
            files.setdefault(column, []).append(path.name)
    if files:
        raise GateRefused(_problem(", ".join(names), column, rare.least) for column, names in files.items())


def _problem(where: str, column: str, least: int) -> Problem:
    return Problem(
        f"a value of the column {column!r} that fewer than {least} people of the source hold is printed in {where}; "
        "nothing was published",
        "take the value out of the configuration (constraints, conditions, names of columns, reasons of approvals); or "
        f"protect the column (protect.columns.{column}: sample, other or missing) and run again",
    )


def _stated(run: FinishedRun) -> Iterator[str]:
    """Texts that the publisher, the policy and the program state of themselves."""
    config: Mapping[str, Any] = run.manifest["config"]
    yield from scalars([run.manifest.get(key) for key in _STATED])
    yield from scalars([run.policy.model_dump(mode="json"), config.get("publish"), run.manifest.get("roles")])
    yield from scalars([(config.get("anonymize") or {}).get("beforehand")])
    yield from (name for name in (*run.payload, MANIFEST))
    yield from (str(table["name"]) for table in run.manifest.get("tables") or ())


def _columns(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Names of the columns of all tables."""
    config = manifest["config"]
    sources = [config.get("data") or {}, *(config.get("tables") or {}).values()]
    for source in sources:
        yield from source.get("columns") or ()
    for table in (manifest, *(manifest.get("tables") or ())):
        yield from (str(column["name"]) for column in table.get("columns") or ())
