"""A configuration from elsewhere makes no command write outside of its own folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from hybrid.base.errors import HybridError
from hybrid.cli import main
from hybrid.desk.editor import Editor, state_of

RULE = "# ours\ntype: intervals\nwidths: [10]\n"
LIST = "a;A;*\nb;B;*\n"


def by_set(config: Path, column: str) -> None:
    kind = "intervals" if column == "age" else "mask"
    command("hierarchy", "set", str(config), column, f"type={kind}", *(["widths=[5]"] if column == "age" else []))


def by_extend(config: Path, column: str) -> None:
    command("hierarchy", "extend", str(config), column, "--value", "c")


def on_the_desk(config: Path, column: str) -> None:
    editor = Editor(config)
    text, suffix = ("type: intervals\nwidths: [5]\n", ".yaml") if column == "age" else (LIST.replace("A", "X"), ".csv")
    try:
        editor.set_hierarchy(state_of(editor.read()), column, text, suffix)
    except HybridError as error:
        raise SystemExit(str(error)) from None


def command(*words: str) -> None:
    main(list(words))


def outside(folder: Path, elsewhere: Path, name: str) -> dict[str, str]:
    """Names of a file elsewhere, as a configuration could write them."""
    (folder / f"link{Path(name).suffix}").symlink_to(elsewhere / name)
    (folder / "linked").symlink_to(elsewhere)
    return {
        "relative": f"../{elsewhere.name}/{name}",
        "absolute": str(elsewhere / name),
        "link": f"link{Path(name).suffix}",
        "linked folder": f"linked/{name}",
        "back and forth": f"linked/../{elsewhere.name}/{name}",
    }


@pytest.mark.parametrize("named", ["relative", "absolute", "link", "linked folder", "back and forth"])
@pytest.mark.parametrize(
    ("write", "column"), [(by_set, "age"), (by_extend, "ward"), (on_the_desk, "age"), (on_the_desk, "ward")]
)
def test_a_hierarchy_outside_of_the_configurations_folder_is_left_as_it_is(
    write: Callable[[Path, str], None], column: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, elsewhere = tmp_path / "project", tmp_path / "other"
    folder.mkdir()
    elsewhere.mkdir()
    name = "victim.yaml" if column == "age" else "victim.csv"
    (elsewhere / name).write_text(RULE if column == "age" else LIST)
    config = write_config(folder, {column: outside(folder, elsewhere, name)[named]})
    before = config.read_text(), {path: path.read_bytes() for path in elsewhere.iterdir()}
    with pytest.raises(SystemExit) as ended:
        write(config, column)
    found = capsys.readouterr()
    assert "outside of the configuration's folder" in " ".join(f"{ended.value} {found.out} {found.err}".split())
    assert (config.read_text(), {path: path.read_bytes() for path in elsewhere.iterdir()}) == before


@pytest.mark.parametrize(("write", "column"), [(by_set, "age"), (by_extend, "ward"), (on_the_desk, "age")])
def test_one_inside_is_written(write: Callable[[Path, str], None], column: str, tmp_path: Path) -> None:
    """Also where the folder itself is reached through a link."""
    (tmp_path / "project").mkdir()
    (tmp_path / "short").symlink_to(tmp_path / "project")
    own = "victim.yaml" if column == "age" else "victim.csv"
    (tmp_path / "project" / own).write_text(RULE if column == "age" else LIST)
    write_config(tmp_path / "project", {column: own})
    try:
        write(tmp_path / "short" / "config.yaml", column)
    except SystemExit as ended:
        assert not ended.code
    assert (tmp_path / "project" / own).read_text() not in (RULE, LIST)


def write_config(folder: Path, hierarchies: dict[str, str]) -> Path:
    rows = "".join(f"{20 + n % 30},{'ab'[n % 2]}\n" for n in range(60))
    (folder / "people.csv").write_text("age,ward\n" + rows)
    columns = {name: {"role": "quasi_identifier", "hierarchy": path} for name, path in hierarchies.items()}
    content = {"data": {"path": "people.csv", "columns": columns}, "anonymize": {"k": 2}}
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    return folder / "config.yaml"
