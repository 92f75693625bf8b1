"""A billion rows, from files to labels, beside DuckDB's own group-by and join: processor seconds and peak memory.

    python benchmarks/billion_rows.py FOLDER WORK [--rows 1000000000] [--memory 4] > billion_rows.md

FOLDER holds the Adult extract and hierarchies that come with ARX (github.com/arx-deidentifier/arx, folder data). WORK
gets ten Parquet files (2.5 GB for a billion rows), what is sorted on disk (some 2 GB) and the labels; all of it is
removed again. Rows are drawn as in ``many_rows.py``, but of six columns: four quasi-identifiers, the salary class and
hours. The limit groups the rows by the quasi-identifiers, joins all of them with four texts of their group and writes
them, in any order and unchecked.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from many_rows import CHUNK, QUASI_IDENTIFIERS, REPLACED, measured, write_config

NAMES = QUASI_IDENTIFIERS[:4]
FILES = 10


def write_rows(adult: pd.DataFrame, target: Path, rows: int, seed: int) -> None:
    """A Parquet file of drawn rows; small numbers are drawn, and texts are looked up by them."""
    rng, codes, texts = np.random.default_rng([37, seed]), {}, {}
    for name in (*NAMES, "salary-class"):
        numbers, texts[name] = pd.factorize(adult[name], sort=True)
        codes[name] = numbers.astype(np.int8)
    ages = texts["age"].astype(np.int16)
    writer = None
    for first in range(0, rows, CHUNK):
        n = min(CHUNK, rows - first)
        person = rng.integers(len(adult), size=n, dtype=np.uint16)
        drawn = {name: own.take(person) for name, own in codes.items()}
        for name in NAMES:
            others = rng.binomial(n, REPLACED)
            drawn[name][rng.integers(n, size=others)] = codes[name].take(rng.integers(len(adult), size=others))
        columns = {name: pa.DictionaryArray.from_arrays(own, texts[name]) for name, own in drawn.items()}
        columns |= {"age": pa.array(ages.take(drawn["age"])), "hours": pa.array(rng.integers(1, 99, n, np.int16))}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(target, table.schema, compression="zstd", store_schema=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def limit(source: str, target: str) -> None:
    """Group, join and write with DuckDB alone."""
    names = ", ".join(f'"{name}"' for name in NAMES)
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = false")
        started = time.process_time()
        connection.execute(
            f"CREATE TABLE groups AS SELECT *, 'a' || number % 7 AS a, 'b' || number % 70 AS b, 'c' || number % 5 AS c,"
            f" 'd' || number % 6 AS d FROM (SELECT {names}, row_number() OVER () AS number"
            f" FROM read_parquet('{source}/*.parquet') GROUP BY ALL)"
        )
        grouped = time.process_time() - started
        connection.execute(
            f"COPY (SELECT a, b, c, d, \"salary-class\", hours FROM read_parquet('{source}/*.parquet')"
            f" JOIN groups USING ({names})) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    written = time.process_time() - started - grouped
    print(f"DuckDB alone: grouped in {grouped:.0f} CPU s, joined and written in {written:.0f}; peak {peak:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=10**9)
    parser.add_argument("--memory", type=float, default=4)
    arguments = parser.parse_args()
    work = arguments.work / "billion_rows"
    people = work / "people"
    people.mkdir(parents=True)
    try:
        adult = pd.read_csv(arguments.folder / "adult.csv", sep=";", dtype=str)
        for number in range(FILES):
            write_rows(adult, people / f"part{number}.parquet", arguments.rows // FILES, number)
        path = write_config(arguments.folder, work / "people.parquet", "global", len(NAMES), arguments.memory)
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        del config["data"]["columns"]["id"]
        config["data"]["path"] = people.name
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        wall, cpu, peak = measured(path, work / "out")
        size = (work / "out" / "anonymized.parquet").stat().st_size / 1e6
        print(f"{arguments.rows:,} rows: {cpu:.0f} CPU s, {wall:.0f} s, peak {peak:.2f} GB, labels of {size:,.0f} MB")
        sys.stdout.flush()
        limit(str(people), str(work / "limit.parquet"))
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
