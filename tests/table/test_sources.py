"""The registry of table sources and the section ``data`` that follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.base.config_files import validated
from hybrid.base.errors import ConfigError
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.sources import SOURCES

SQL = {"url_env": "DATABASE_URL", "table": "clinic.people"}


def test_every_source_is_a_key_of_the_section_data() -> None:
    own = set(DataOptions.model_fields) - set(ReadOptions.model_fields)
    assert own == {*SOURCES, "person", "max_rows", "household", "order"}
    assert set(SOURCES) == {"path", "sql"}
    for key, source in SOURCES.items():
        assert source.key == key
        assert DataOptions.model_fields[key].default == source.unset
        assert DataOptions.model_fields[key].description == source.description
        assert not source.unset, "an unset key must not look like a chosen source"


def test_the_set_key_decides_on_the_source() -> None:
    assert DataOptions(path="people.csv").source is SOURCES["path"]
    options = DataOptions.model_validate({"sql": SQL})
    assert options.source is SOURCES["sql"]
    assert options.place.table == "clinic.people"
    assert options.source.file(options.place, Path()) is None
    found = SOURCES["path"].file("people.csv", Path("/data"))
    assert found is not None
    assert found.path == "/data/people.csv"


@pytest.mark.parametrize("content", [{}, {"path": ""}, {"path": "people.csv", "sql": SQL}])
def test_none_and_two_sources_are_refused(content: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="set one of path, sql, and only one"):
        validated(DataOptions, content, "config")


def test_credentials_in_a_path_are_refused() -> None:
    with pytest.raises(ConfigError, match="password") as caught:
        validated(DataOptions, {"path": "s3://key:word@bucket/people.csv"}, "config")
    assert "holds a user name" in str(caught.value)


def test_relative_paths_start_at_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n1\n2\n")
    assert len(load_table(DataOptions(path="people.csv"), tmp_path)) == 2
