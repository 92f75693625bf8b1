"""Files of other programs: the message says what they are, and its command converts them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybrid.base.errors import DataError
from hybrid.pipeline.starter.reading import guess_reading
from hybrid.table.data_options import DataOptions
from hybrid.table.file_problems import FORMATS, MISNAMED, OtherFormat
from hybrid.table.read_file import read_table

OPTIONS = DataOptions(path="any")
READERS: list[Callable[[Path], Any]] = [lambda path: read_table(path, OPTIONS), guess_reading]
NAMES = [(one, suffix) for one in FORMATS for suffix in one.suffixes]
BEGINNINGS = [(one, beginning) for one in (*FORMATS, *MISNAMED) for beginning in one.beginnings]


@pytest.mark.parametrize("read", READERS, ids=["read", "guess"])
@pytest.mark.parametrize(("form", "suffix"), NAMES, ids=[suffix for _, suffix in NAMES])
def test_a_name_of_another_program(form: OtherFormat, suffix: str, read: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / f"people{suffix.upper()}"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=re.escape(f"this is {form.name}")) as caught:
        read(path)
    hint = caught.value.problems[0].hint
    assert not form.conversion or (path.name in hint and "python -c" in hint and form.packages in hint)


@pytest.mark.parametrize("read", READERS, ids=["read", "guess"])
@pytest.mark.parametrize(("form", "beginning"), BEGINNINGS, ids=[form.name for form, _ in BEGINNINGS])
def test_content_of_another_program_under_the_name_of_a_csv_file(
    form: OtherFormat, beginning: bytes, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_bytes(beginning + bytes(100))
    with pytest.raises(DataError, match=re.escape(f"this is {form.name}")):
        read(tmp_path / "people.csv")


@pytest.mark.parametrize("form", MISNAMED, ids=[form.name for form in MISNAMED])
def test_a_format_under_another_name_says_how_to_name_it(form: OtherFormat, tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_bytes(form.beginnings[0] + bytes(100))
    with pytest.raises(DataError, match="without the ending") as caught:
        read_table(tmp_path / "people.txt", OPTIONS)
    assert caught.value.problems[0].hint == f"rename it, so that its name ends in {form.suffixes[0]}"


def test_a_missing_file_is_missing_whatever_its_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        guess_reading(tmp_path / "people.xlsx")


FRAME = pd.DataFrame({"age": [41, 52, 63], "ward": ["a", "b", "c"], "cost": [1.5, 2.5, 3.5]})


WRITERS: dict[str, Callable[[Path], None]] = {
    ".feather": FRAME.to_feather,
    ".json": lambda path: FRAME.to_json(path, orient="records"),
}


def test_the_message_about_old_workbooks_names_command_and_package(tmp_path: Path) -> None:
    """It is not executed here: the package that reads them is none of this project's."""
    path = tmp_path / "people.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(60))
    with pytest.raises(DataError) as caught:
        read_table(path, OPTIONS)
    hint = caught.value.problems[0].hint
    assert "pandas.read_excel(" in hint and "xlrd" in hint


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_command_of_the_message_makes_a_table_that_is_read(suffix: str, tmp_path: Path) -> None:
    """As it is printed, in a folder with a name for which a shell needs quotes."""
    path = tmp_path / f"all people{suffix}"
    WRITERS[suffix](path)
    with pytest.raises(DataError) as caught:
        read_table(path, OPTIONS)
    found = re.search(r"name (.+): pip install .*; python -c (\".+\")", caught.value.problems[0].hint)
    assert found is not None
    subprocess.run(f"{sys.executable} -c {found[2]}", shell=True, cwd=tmp_path, check=True)
    table = read_table(tmp_path / found[1], OPTIONS)
    assert list(table.frame["age"].astype(int)) == [41, 52, 63] and list(table.frame["ward"]) == ["a", "b", "c"]


def test_two_equal_names_say_where_they_are_and_how_to_mend_them(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age,age\n1,41,x\n2,52,y\n")
    with pytest.raises(DataError, match=r"'age' \(columns 2 and 3\)") as caught:
        read_table(tmp_path / "people.csv", OPTIONS)
    command = re.search(r"pandas\.read_csv.*index=False\)", caught.value.problems[0].hint)
    assert command is not None
    code = command[0].replace("FILE", "'people.csv'").replace("NEW", "'new.csv'")
    subprocess.run([sys.executable, "-c", f"import pandas; {code}"], cwd=tmp_path, check=True)
    assert read_table(tmp_path / "new.csv", OPTIONS).schema.names == ["id", "age", "age.1"]
