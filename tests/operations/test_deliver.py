"""Releases on their way: to S3, to a database; whole, once, and without credentials in what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.base.errors import ConfigError, OutputError
from hybrid.operations.deliver import DeliverOptions, deliver
from hybrid.pipeline.config import parse_config
from hybrid.publication.verify import verify
from hybrid.table.options import DataOptions
from tests.helpers.s3_server import SECRET, bucket

DATA = DataOptions.model_validate({"path": "people.csv", "columns": {"age": {"kind": "integer"}}})


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "releases" / "2026-01-01-abc"
    folder.mkdir(parents=True)
    (folder / "synthetic.csv").write_text("age,day\n34,2026-01-02\n,2026-01-03\n")
    (folder / "report.html").write_text("<html>")
    (folder / "certificate.json").write_text(json.dumps({"name": "clinic"}))
    return folder


def test_a_copy_in_s3_has_its_pointer_last(release: Path, tmp_path: Path) -> None:
    options = DeliverOptions(folder="s3://public/clinic")
    with bucket("public") as made:
        assert deliver(release, options, DATA, tmp_path, tmp_path / "work") == ["s3://public/clinic"]
        found = {item.key.removeprefix("clinic/"): item for item in made.objects.all() if not item.key.endswith("/")}
        names = {f"{release.name}/{path.name}" for path in release.iterdir()}
        assert set(found) == names | {"latest"}
        assert found["latest"].get()["Body"].read().decode().strip() == release.name
        for path in release.iterdir():
            assert found[f"{release.name}/{path.name}"].get()["Body"].read() == path.read_bytes()
        made.Object("clinic/latest").delete()
        assert deliver(release, options, DATA, tmp_path, tmp_path / "work") == []
        assert not [item for item in made.objects.all() if item.key == "clinic/latest"]


def test_one_target_that_fails_does_not_keep_the_other(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    url = f"sqlite:///{tmp_path / 'warehouse.sqlite'}"
    monkeypatch.setenv("WAREHOUSE_URL", url)
    target: Any = {"url_env": "WAREHOUSE_URL", "table": "people"}
    options = DeliverOptions.model_validate({"folder": "s3://public/clinic", "sql": target})
    with pytest.raises(OutputError, match="is published and not delivered: s3://public/clinic") as caught:
        deliver(release, options, DATA, tmp_path, tmp_path / "work")
    assert SECRET not in str(caught.value)
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["age"].tolist()[0] == 34 and found["age"].isna().tolist() == [False, True]
    later = release.rename(release.with_name("2026-01-02-def"))
    (later / "synthetic.csv").write_text("age,day\n35,2026-01-02\n")
    with pytest.raises(OutputError, match="2026-01-02-def"):
        deliver(later, options, DATA, tmp_path, tmp_path / "work")
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["age"].tolist() == [35]


def test_a_release_with_suspicious_cells_is_read_again(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Parquet source may hold texts that a CSV file from elsewhere would be refused for."""
    url = f"sqlite:///{tmp_path / 'warehouse.sqlite'}"
    monkeypatch.setenv("WAREHOUSE_URL", url)
    options = DeliverOptions.model_validate({"sql": {"url_env": "WAREHOUSE_URL", "table": "people"}})
    texts = ["first, second\nthird", "x" * 500, "a", "b"]
    frame = pd.DataFrame({"age": [34, 35, 36, 37], "note": texts})
    frame.to_csv(release / "synthetic.csv", index=False, lineterminator="\n")
    deliver(release, options, DATA, tmp_path, tmp_path / "work")
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["note"].tolist() == texts


def test_a_local_copy_verifies_by_itself(release: Path, tmp_path: Path) -> None:
    deliver(release, DeliverOptions(folder="copies"), DATA, tmp_path, tmp_path / "work")
    assert (tmp_path / "copies" / "latest").read_text().strip() == release.name
    assert verify(tmp_path / "copies" / release.name) == verify(release)
    assert (tmp_path / "work" / "delivered").stat().st_mode & 0o777 == 0o700


def test_credentials_in_a_target_are_refused() -> None:
    nightly = {"deliver": {"folder": f"s3://key:{SECRET}@public/clinic"}}
    with pytest.raises(ConfigError, match="in the environment") as caught:
        parse_config({"data": {"path": "people.csv"}, "nightly": nightly})
    assert SECRET not in str(caught.value)
