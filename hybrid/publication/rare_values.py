"""Values that few people of a source hold, as keyed hashes.

No text of a release may print them. A run keeps them beside its tables; hashes under the key of the private zone tell
nothing to anybody else, and let the gate look for the values without the source.
"""

from __future__ import annotations

import io
import sys
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.publication.finished_run import checked_content
from hybrid.publication.words import all_phrases, phrase
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.holders import value_holders

RARE = "rare-values.parquet"


@dataclass(frozen=True)
class RareValues:
    """Rare values of a source.

    Parameters
    ----------
    least : int
        People who must hold a value so that it may be printed.
    found : pandas.DataFrame
        ``hash`` (uint64) of each rare value, ``column`` that holds it, and whether that is an ``identifier``.
    """

    least: int
    found: pd.DataFrame

    @classmethod
    def of(cls, tables: Mapping[str, Table], least: int, secret: bytes) -> RareValues:
        """The rare values of a source's tables.

        Texts and values of identifiers, exact numbers and times, as far as they tell of somebody
        (:func:`hybrid.publication.words.is_telling`). What enough people hold in any column, also as a part of a longer
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
                common |= all_phrases(_texts(column, held.index[held >= least]))
                rare = sorted({phrase(text) for text in _texts(column, held.index[held < least])} - {""})
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
        """Write into the folder of a run."""
        self.found.assign(least=self.least).to_parquet(folder / RARE, index=False)

    @classmethod
    def read(cls, folder: Path, sha256: str | None) -> RareValues:
        """Read from the folder of a run.

        Parameters
        ----------
        folder : Path
            Of the run.
        sha256 : str or None
            Of the file, as the run's manifest states it; None if it does not.

        Raises
        ------
        DataError
            The run has no such file.
        VerificationError
            The file is not the one that the run wrote.
        """
        path = folder / RARE
        if sha256 is None or not path.is_file():
            message = f"{folder}: the run does not say which values few people hold, so nothing of it is published"
            raise DataError(message, hint="run it again")
        found = pd.read_parquet(io.BytesIO(checked_content(path, sha256, sys.maxsize)))
        least = int(found["least"].iloc[0]) if len(found) else 0
        return cls(least, found.drop(columns="least"))


def hashed(texts: Iterable[str], secret: bytes) -> Array:
    """Keyed hash of each text (SipHash); shape (n,), uint64."""
    values, key = np.array(list(texts), dtype=object), b64encode(secret).decode()
    found: Array = pd.util.hash_array(values, hash_key=key, categorize=False)
    return found


def _texts(column: Column, values: pd.Index) -> Iterator[str]:
    """Values as a report would print them; none of booleans and days."""
    if column.kind is Kind.CATEGORICAL:
        return map(str, values)
    if column.kind is Kind.INTEGER:
        return map(str, values.astype(object))
    if column.kind is Kind.DECIMAL:
        return (f"{value:.16g}" for value in values.astype(object))
    if column.kind is Kind.DATETIME:
        return (text for text in values.astype(str) if not text.endswith(" 00:00:00"))
    return iter(())
