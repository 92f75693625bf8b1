"""Values that few people of a source hold, and the search for them in the texts of a release before publication.

A run keeps these values as hashes under the key of the private zone: they tell nothing to others, and let the gate
search reports, evaluation, descriptions and certificate without the source. A value is found where its words follow one
another, whatever is between them: case, punctuation, line breaks and the separators of thousands do not count.
Protection, pooled charts and masked counts should have kept such values out; where one was forgotten, or a person wrote
one into the configuration, nothing is published.
"""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, GateRefused, Problem
from hybrid.base.manifest import MANIFEST
from hybrid.publication.finished_run import FinishedRun, checked_content
from hybrid.publication.folder import TEXTS
from hybrid.table import Role, Table
from hybrid.table.holders import value_holders

MOST_WORDS = 8
"""Words of a value that are looked for; of longer ones these are the first."""
LEAST_DIGITS, MOST_DIGITS = 9, 14
"""Significant digits of a number that is looked for. Shorter ones may be a count, longer ones are computed."""
MOST_OF_TERM = 3
"""Words of a term, such as "not known", that the program's own texts may print by chance; more are no chance."""
_WORD = re.compile(r"\w+(?:[.@+'’-]\w+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
_REMARK = re.compile(r'^\s*"""(?:.|\n)*?"""|\s#.*$', re.MULTILINE)
"""Docstrings and comments, which are never printed."""
_NO_REPORT = ("cli", "comparison", "demo", "desk", "lab", "operations", "starter")
"""Folders of the package whose texts are in no release."""


def words_of(text: str) -> list[str]:
    """Words of a text in their order, without case."""
    return _WORD.findall(_THOUSANDS.sub("", unicodedata.normalize("NFKC", text)).casefold())


def phrase(text: str) -> str:
    """First words of a value, as :func:`phrases` finds them in a text; empty if too common to be looked for."""
    found = words_of(text)[:MOST_WORDS]
    return " ".join(found) if is_telling(found) else ""


def phrases(text: str) -> Iterator[str]:
    """Runs of up to :data:`MOST_WORDS` words that a value could be."""
    words = words_of(text)
    for first in range(len(words)):
        for end in range(first + 1, min(first + MOST_WORDS, len(words)) + 1):
            if is_telling(words[first:end]):
                yield " ".join(words[first:end])


def is_telling(words: list[str]) -> bool:
    """True if words are those of few texts.

    They are no short number, date, single letter or term of the program. A number tells where it has
    :data:`LEAST_DIGITS` to :data:`MOST_DIGITS` significant digits. A term is up to :data:`MOST_OF_TERM` words
    that the program itself uses.
    """
    if len(words) <= MOST_OF_TERM and all(word in vocabulary() for word in words):
        return False
    whole = " ".join(words)
    if any(character.isalpha() for character in whole):
        return len(whole) > 1
    digits = "".join(filter(str.isdigit, whole)).strip("0")
    return LEAST_DIGITS <= len(digits) <= MOST_DIGITS and _DATE.fullmatch(whole) is None


@cache
def vocabulary() -> frozenset[str]:
    """Words of the program's own texts, metrics and options."""
    found: set[str] = set()
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix not in (".py", ".html", ".yaml") or set(_NO_REPORT) & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = _REMARK.sub("", text)
        found.update(_WORD.findall(text.casefold()), _WORD.findall(text.casefold().replace("_", " ")))
    return frozenset(found)


def printed_texts(path: Path) -> Iterator[str]:
    """Texts that a reader of a file sees, one by one.

    Text nodes and titles of HTML, keys and values of JSON, lines of any other text.
    """
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        yield from _ShownTexts(content).found
    elif path.suffix in (".json", ".jsonld"):
        yield from scalars(json.loads(content))
    else:
        yield from content.splitlines()


def scalars(content: object) -> Iterator[str]:
    """Keys and values of nested mappings and lists, as texts."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield str(key)
            yield from scalars(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from scalars(value)
    elif content is not None:
        yield str(content)


class _ShownTexts(HTMLParser):
    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._hidden = False
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag in ("style", "script")
        self.found += [value for name, value in attrs if name in ("title", "alt", "aria-label", "content") and value]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found.append(data)


def all_phrases(texts: Iterable[str]) -> set[str]:
    return {one for text in texts for one in phrases(text)}


RARE = "rare-values.parquet"


@dataclass(frozen=True)
class RareValues:
    """Rare values of a source."""

    least: int
    """People who must hold a value so that it may be printed."""
    found: pd.DataFrame
    """``hash`` (uint64) of each rare value, ``column`` that holds it, and whether that is an ``identifier``."""

    @classmethod
    def of(cls, tables: Mapping[str, Table], least: int, secret: bytes) -> RareValues:
        """The rare values of a source's tables.

        Texts and values of identifiers, exact numbers and times, as far as they tell of somebody
        (:func:`is_telling`). What enough people hold in any column, also as a part of a longer
        text, is not rare.

        Parameters
        ----------
        tables : mapping of str to Table
            By name, which is empty for the only one; each with all columns and the people behind its rows.
        least : int
            People who must hold a value so that it is not rare.
        secret : bytes
            Key of the hashes, as for :func:`hybrid.table.record_hash.record_hashes`.
        """
        parts, common = [], set[str]()
        for name, table in tables.items():
            for column in table.schema:
                held = value_holders(table, column.name)
                often, seldom = (
                    column.kind.type.searched_texts(held.index[at]) for at in (held >= least, held < least)
                )
                common |= all_phrases(often)
                rare = sorted({phrase(text) for text in seldom} - {""})
                where, identifies = f"{name}.{column.name}" if name else column.name, column.role is Role.IDENTIFIER
                parts.append(pd.DataFrame({"value": rare}, dtype=object).assign(column=where, identifier=identifies))
        found = pd.concat(parts, ignore_index=True)
        found = found[~found["value"].isin(common)]
        hashes = hashed(found["value"], secret)
        return cls(least, found.drop(columns="value").assign(hash=hashes).sort_values("hash", ignore_index=True))

    def among(self, printed: Collection[str], secret: bytes) -> pd.DataFrame:
        """Rare values among phrases: ``value`` as printed, ``column``, ``identifier``."""
        phrases = pd.DataFrame({"value": sorted(printed)})
        found = phrases.assign(hash=hashed(phrases["value"], secret)).merge(self.found, on="hash")
        return found.astype({"value": str, "column": str, "identifier": bool})

    def write(self, folder: Path) -> None:
        self.found.assign(least=self.least).to_parquet(folder / RARE, index=False)

    @classmethod
    def read(cls, folder: Path, sha256: str | None) -> RareValues:
        """Read from the folder of a run; ``sha256`` is that of the run's manifest, None if it has none."""
        path = folder / RARE
        if sha256 is None or not path.is_file():
            raise DataError(
                f"{folder}: the run does not say which values few people hold, so nothing of it is published",
                hint="run it again",
            )
        found = pd.read_parquet(io.BytesIO(checked_content(path, sha256, sys.maxsize)))
        least = int(found["least"].iloc[0]) if len(found) else 0
        return cls(least, found.drop(columns="least"))


def hashed(texts: Iterable[str], secret: bytes) -> Array:
    """Keyed hash of each text (SipHash); shape (n,), uint64."""
    values, key = np.array(list(texts), dtype=object), b64encode(secret).decode()
    found: Array = pd.util.hash_array(values, hash_key=key, categorize=False)
    return found


_STATED = ("packages", "python", "platform", "git", "created", "name", "stages")
"""Entries of a manifest about the program, not the source."""


def refuse_rare_values(folder: Path, run: FinishedRun, approvers: Collection[str], secret: bytes) -> None:
    """Search the texts of a release for values that few people hold.

    Not of a private table (``privacy.mode: dp``): its files are a function of the table, its account and the
    configuration, and whether they are published must not depend on a record beyond that.

    Parameters
    ----------
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
    config = manifest["config"]
    sources = [config.get("data") or {}, *(config.get("tables") or {}).values()]
    for source in sources:
        yield from source.get("columns") or ()
    for table in (manifest, *(manifest.get("tables") or ())):
        yield from (str(column["name"]) for column in table.get("columns") or ())
