"""Values at the ends of what a file can hold, through `init`, `check` and `anonymize`: done, or said in words."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.cli import main

ROWS = 300
INT64 = np.iinfo(np.int64)
CELLS: dict[str, tuple[str, ...]] = {
    "dates": ("0001-01-01", "9999-12-31"),
    "dates beyond": ("10000-01-01", "-0044-03-15"),
    "dates that are none": ("2024-02-30", "2024-13-01"),
    "times": ("0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    "powers": ("2e999999999", "-2e999999999"),
    "powers of decimals": ("1e308", "-1e308"),
    "largest decimals": ("1e30", "-1e30"),
    "tiny": ("1e-320", "5e-324"),
    "infinite": ("inf", "-Infinity"),
    "no numbers": ("nan", "0x1F"),
    "integers": (str(INT64.max), str(INT64.min)),
    "integers beyond": ("9" * 400, "-" + "9" * 400),
    "negative zero": ("-0.0", "-0"),
    "texts": ("x" * 5000, "\u202e=1+1"),
}
USUAL: dict[str, list[str]] = {
    "whole": [str(n % 60) for n in range(ROWS)],
    "decimal": [f"{n * 37 % 1000 / 8:.3f}" for n in range(ROWS)],
    "date": [f"2024-{n % 12 + 1:02d}-{n % 28 + 1:02d}" for n in range(ROWS)],
    "time": [f"2024-{n % 12 + 1:02d}-{n % 28 + 1:02d} 10:{n % 60:02d}:00" for n in range(ROWS)],
    "text": [f"D{n % 7}" for n in range(ROWS)],
}


def commands(folder: Path, file: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What init, check and a run without evaluation say."""
    config = str(folder / "config.yaml")
    fast = ["--set", "evaluate.metrics=[identical_match]", "--set", "evaluate.power=false"]
    fast += ["--set", "evaluate.original=false", "--set", "evaluate.baseline=false"]
    said = ""
    for words in (["init", str(folder / file), "--out", config], ["check", config], ["run", config, *fast]):
        out = ["--out", str(folder / "out")] if words[0] == "run" else []
        with pytest.raises(SystemExit) as ended:
            main([*words, *out])
        found = capsys.readouterr()
        said += found.out + found.err
        assert ended.value.code in (0, 2), said
        if ended.value.code:
            break
    return said


@pytest.mark.parametrize("far", CELLS)
def test_a_csv_file_with_far_values(
    far: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a column of every kind, the ends of one kind."""
    monkeypatch.chdir(tmp_path)
    columns = {name: list(values) for name, values in USUAL.items()}
    for values in columns.values():
        for at in range(7, ROWS, 11):
            values[at] = CELLS[far][at % 2]
    rows = [[f"P{n}", *row] for n, row in enumerate(zip(*columns.values(), strict=True))]
    lines = [",".join(row) for row in [["id", *columns], *rows]]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = commands(tmp_path, "people.csv", capsys)
    assert "bug" not in said and "Traceback" not in said


def arrays() -> dict[str, pa.Array]:
    half = [0, 1] * (ROWS // 2)
    ends: dict[str, tuple[Any, Any, pa.DataType]] = {
        "microseconds": (-(2**62), 2**62, pa.timestamp("us")),
        "seconds": (-(2**52), 2**52, pa.timestamp("s")),
        "nanoseconds": (INT64.min + 1, INT64.max, pa.timestamp("ns")),
        "milliseconds of a zone": (-(2**62), 2**62, pa.timestamp("ms", "UTC")),
        "days": (-(2**31), 2**31 - 1, pa.date32()),
        "calendar": (date(1, 1, 1), date(9999, 12, 31), pa.date32()),
        "days in milliseconds": (-86_400_000 * 10**9, 86_400_000 * 10**9, pa.date64()),
        "infinite": (np.inf, -np.inf, pa.float64()),
        "short infinite": (np.inf, 0.5, pa.float32()),
        "half": (65504.0, -65504.0, pa.float16()),
        "beyond": (1.7e308, -1.7e308, pa.float64()),
        "largest": (1e30, -1e30, pa.float64()),
        "unsigned": (0, 2**64 - 1, pa.uint64()),
        "integers": (INT64.min, INT64.max, pa.int64()),
        "empty": (None, None, pa.null()),
    }
    found = {}
    for name, (low, high, kind) in ends.items():
        values = [(low, high)[at] for at in half]
        if kind == pa.float16():
            found[name] = pa.array(np.array(values, dtype=np.float16))
        else:
            found[name] = pa.array(values, kind)
    found["decimals"] = pa.array(["9" * 30 + ".99", "-" + "9" * 30 + ".99"] * (ROWS // 2)).cast(pa.decimal128(38, 2))
    return found


@pytest.mark.parametrize("name", arrays())
def test_a_parquet_file_with_far_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = {"id": [f"P{n}" for n in range(ROWS)], "age": pa.array([n % 60 for n in range(ROWS)], pa.int16())}
    pq.write_table(pa.table(usual | {"far": arrays()[name]}), tmp_path / "people.parquet")
    said = commands(tmp_path, "people.parquet", capsys)
    assert "bug" not in said and "Traceback" not in said
