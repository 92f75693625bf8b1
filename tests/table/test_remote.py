"""Files elsewhere: an S3 server on loopback, and fsspec's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.base.errors import ConfigError, DataError, MissingExtraError
from hybrid.pipeline.config import parse_config
from hybrid.table import Table
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.files import File, file_at
from hybrid.table.read_file import read_table
from hybrid.table.write import layout_of, write_table
from tests.helpers.s3_server import SECRET, bucket

CSV = b'age;town\r\n34;Rome\r\n;"Nice; FR"\r\n'


@pytest.fixture
def clinic() -> Iterator[Any]:
    with bucket("clinic") as made:
        yield made


def read(path: str, **options: object) -> Table:
    return load_table(DataOptions.model_validate({"path": path, **options}), Path())


def test_csv_and_parquet_from_s3(clinic: Any, tmp_path: Path) -> None:
    clinic.put_object(Key="in/people.csv", Body=CSV)
    table = read("s3://clinic/in/people.csv", separator=";")
    assert table.frame["town"].tolist() == ["Rome", "Nice; FR"]
    copy = tmp_path / "copy.csv"
    write_table(table, copy, ";", layout=layout_of(file_at("s3://clinic/in/people.csv", Path()), ";"))
    assert copy.read_bytes() == CSV
    arrow = pa.table({"age": pa.array([34, None], pa.int16()), "smoker": [True, None]})
    pq.write_table(arrow, tmp_path / "people.parquet")
    clinic.upload_file(str(tmp_path / "people.parquet"), "in/people.parquet")
    frame = read("s3://clinic/in/people.parquet").frame
    pd.testing.assert_frame_equal(frame, read(str(tmp_path / "people.parquet")).frame)


def test_what_s3_refuses_is_said_without_credentials(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read("s3://clinic/nothing.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"s3://clinic/people\.csv: cannot be reached") as caught:
        read("s3://clinic/people.csv")
    assert SECRET not in str(caught.value)


def test_any_place_that_fsspec_knows() -> None:
    with fsspec.open("memory://clinic/people.csv", "wb") as file:
        file.write(CSV)
    assert len(read("memory://clinic/people.csv", separator=";")) == 2
    with pytest.raises(ConfigError, match="no protocol"):
        read("nonsense://clinic/people.csv")
    with pytest.raises(MissingExtraError, match=r"gs:// needs the package"):
        read("gs://clinic/people.csv")


@pytest.mark.parametrize("path", [f"s3://key:{SECRET}@bucket/people.csv", f"sftp://user:{SECRET}@host/people.csv"])
def test_credentials_in_a_path_are_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="in the environment") as caught:
        parse_config({"data": {"path": path}})
    assert SECRET not in str(caught.value)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(CSV)
    opened = File.open

    def open_and_append(file: File) -> pa.NativeFile:
        with path.open("ab") as other:
            other.write(b"35;Rome\r\n")
        return opened(file)

    monkeypatch.setattr(File, "open", open_and_append)
    with pytest.raises(DataError, match="changed while it was read"):
        read_table(path, DataOptions(path=path.name, separator=";"))
