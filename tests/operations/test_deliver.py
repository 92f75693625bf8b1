"""Releases on their way: to S3, to a database; whole, once, and without credentials in what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.base.errors import ConfigError, OutputError, UnreachableError
from hybrid.operations.deliver import Deliveries, DeliverOptions, NotDelivered
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import parse_config
from hybrid.publication.verify import verify
from hybrid.table.data_options import DataOptions
from hybrid.table.sql_connection import url_of
from hybrid.table.warehouse import open_warehouse
from tests.helpers.s3_server import SECRET, bucket

DATA = {"synthetic": DataOptions.model_validate({"path": "people.csv", "columns": {"age": {"kind": "integer"}}})}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "releases" / "2026-01-01-abc"
    folder.mkdir(parents=True)
    (folder / "synthetic.csv").write_text("age,day\n34,2026-01-02\n,2026-01-03\n")
    (folder / "report.html").write_text("<html>")
    (folder / "certificate.json").write_text(json.dumps({"name": "clinic", "files": {"synthetic.csv": {}}}))
    return folder


def test_a_copy_in_s3_has_its_pointer_last(release: Path, tmp_path: Path) -> None:
    options = DeliverOptions(folder="s3://public/clinic")
    with bucket("public") as made:
        assert Deliveries(options, DATA, tmp_path).deliver(release, tmp_path / "work") == ["s3://public/clinic"]
        found = {item.key.removeprefix("clinic/"): item for item in made.objects.all() if not item.key.endswith("/")}
        names = {f"{release.name}/{path.name}" for path in release.iterdir()}
        assert set(found) == names | {"latest"}
        assert found["latest"].get()["Body"].read().decode().strip() == release.name
        for path in release.iterdir():
            assert found[f"{release.name}/{path.name}"].get()["Body"].read() == path.read_bytes()
        made.Object("clinic/latest").delete()
        assert Deliveries(options, DATA, tmp_path).deliver(release, tmp_path / "work") == []
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
        Deliveries(options, DATA, tmp_path).deliver(release, tmp_path / "work")
    assert SECRET not in str(caught.value)
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["age"].tolist()[0] == 34 and found["age"].isna().tolist() == [False, True]
    later = release.rename(release.with_name("2026-01-02-def"))
    (later / "synthetic.csv").write_text("age,day\n35,2026-01-02\n")
    with pytest.raises(OutputError, match="2026-01-02-def"):
        Deliveries(options, DATA, tmp_path).deliver(later, tmp_path / "work")
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
    Deliveries(options, DATA, tmp_path).deliver(release, tmp_path / "work")
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["note"].tolist() == texts


def test_the_only_sheet_of_a_released_workbook_is_delivered(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the sheet of the source is called."""
    url = f"sqlite:///{tmp_path / 'warehouse.sqlite'}"
    monkeypatch.setenv("WAREHOUSE_URL", url)
    options = DeliverOptions.model_validate({"sql": {"url_env": "WAREHOUSE_URL", "table": "people"}})
    pd.DataFrame({"age": [34, 35]}).to_excel(release / "synthetic.xlsx", index=False)
    (release / "synthetic.csv").unlink()
    (release / "certificate.json").write_text(json.dumps({"name": "clinic", "files": {"synthetic.xlsx": {}}}))
    data = {"synthetic": DATA["synthetic"].model_copy(update={"sheet": "people"})}
    Deliveries(options, data, tmp_path).deliver(release, tmp_path / "work")
    found = pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))
    assert found["age"].tolist() == [34, 35]


def test_a_local_copy_verifies_by_itself(release: Path, tmp_path: Path) -> None:
    Deliveries(DeliverOptions(folder="copies"), DATA, tmp_path).deliver(release, tmp_path / "work")
    assert (tmp_path / "copies" / "latest").read_text().strip() == release.name
    assert verify(tmp_path / "copies" / release.name) == verify(release)
    assert (tmp_path / "work" / "delivered").stat().st_mode & 0o777 == 0o700


def test_credentials_in_a_target_are_refused() -> None:
    nightly = {"deliver": {"folder": f"s3://key:{SECRET}@public/clinic"}}
    with pytest.raises(ConfigError, match="in the environment") as caught:
        parse_config({"data": {"path": "people.csv"}, "nightly": nightly})
    assert SECRET not in str(caught.value)


def test_delivery_into_the_folder_of_releases_is_refused(release: Path, tmp_path: Path) -> None:
    latest = release.with_name("latest")
    latest.symlink_to(release.name)
    for folder in ("releases", "releases/copies", f"releases/{release.name}"):
        with pytest.raises(NotDelivered, match="in the folder of releases"):
            Deliveries(DeliverOptions(folder=folder), DATA, tmp_path).deliver(release, tmp_path / "work")
    assert latest.is_symlink() and sorted(path.name for path in release.parent.iterdir()) == [release.name, "latest"]


def test_a_file_called_latest_that_others_wrote_is_kept(release: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "latest").write_text("my notes")
    with pytest.raises(OutputError, match="this program did not write it"):
        Deliveries(DeliverOptions(folder="copies"), DATA, tmp_path).deliver(release, tmp_path / "work")
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["latest"]


def test_delivery_into_the_source_is_refused_before_anything_is_brought(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'clinic.sqlite'}"
    monkeypatch.setenv("CLINIC_URL", url)
    pd.DataFrame({"age": [81]}).to_sql("people", sa.create_engine(url, poolclass=sa.NullPool), index=False)
    target = {"url_env": "CLINIC_URL", "table": "people"}
    data = {"synthetic": DataOptions.model_validate({"sql": target})}
    config = parse_config({"data": {"sql": target}, "nightly": {"deliver": {"sql": target, "folder": "copies"}}})
    assert "the source reads people" in " ".join(finding.message for finding in diagnose(config))
    with pytest.raises(ConfigError, match="delivery would replace"):
        Deliveries(config.nightly.deliver, data, tmp_path).check()
    with pytest.raises(NotDelivered, match=r"is published and not delivered: .*delivery would replace"):
        Deliveries(config.nightly.deliver, data, tmp_path).deliver(release, tmp_path / "work")
    assert not (tmp_path / "copies").exists()
    assert len(pd.read_sql("select * from people", sa.create_engine(url, poolclass=sa.NullPool))) == 1


def test_a_target_that_cannot_be_delivered_to_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its driver, its server and what is there under its name, however the source is read."""
    options = DeliverOptions.model_validate({"sql": {"url_env": "TARGET_URL", "table": "people"}})
    url = f"sqlite:///{tmp_path / 'target.sqlite'}"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    monkeypatch.setenv("TARGET_URL", url)
    Deliveries(options, DATA, tmp_path).check()
    assert not (tmp_path / "target.sqlite").exists()
    with engine.begin() as connection:
        connection.exec_driver_sql("create view people as select 1 as age")
    with pytest.raises(OutputError, match="this is a view"):
        Deliveries(options, DATA, tmp_path).check()
    monkeypatch.setenv("TARGET_URL", "postgresql://nobody@127.0.0.1:9/none")
    with pytest.raises(UnreachableError, match="cannot be reached"):
        Deliveries(options, DATA, tmp_path).check()
    monkeypatch.setenv("TARGET_URL", "duckdb:///target.duckdb")
    with pytest.raises(ConfigError, match="no driver"):
        Deliveries(options, DATA, tmp_path).check()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_one_address_of_postgresql_means_one_driver_everywhere(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_URL", f"{scheme}://nobody@127.0.0.1:9/none")
    assert url_of("TARGET_URL").drivername == "postgresql+psycopg"
    with pytest.raises(UnreachableError), open_warehouse("TARGET_URL"):
        pass
