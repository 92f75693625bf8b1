"""Managed environments: built whole or not at all, without any network here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hybrid.base.errors import GeneratorError, MissingExtraError
from hybrid.base.progress import silent
from hybrid.cli import main
from hybrid.synthesize import REGISTRY
from hybrid.synthesize.isolation import environments
from hybrid.synthesize.isolation.environments import inspect, install, interpreter, remove, root
from hybrid.synthesize.registry import environment_of

HERE = "{}.{}".format(*sys.version_info)
METADATA = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """An environment ``tiny`` of one package that lies in a folder."""
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "A = 1\n")
        for name, content in (("METADATA", METADATA), ("WHEEL", WHEEL), ("RECORD", "")):
            archive.writestr(f"tiny-1.0.dist-info/{name}", content)
    folder = tmp_path / "requirements"
    folder.mkdir()
    requirements = folder / "tiny.txt"
    requirements.write_text(f"# python: {HERE}\n# imports: tiny\n# options: --no-deps --no-index\n{wheel}\n")
    monkeypatch.setattr(environments, "REQUIREMENTS", folder)
    monkeypatch.setenv("HYBRID_ENVIRONMENTS", str(tmp_path / "environments"))
    return requirements


@pytest.mark.slow
def test_an_environment_is_built_once_and_rebuilt_when_its_requirements_change(tiny):
    seen = []
    assert inspect("tiny").state == "absent" and interpreter("tiny") is None
    built = install("tiny", lambda step, done, total=None, **values: seen.append((step, total)))
    assert (built.state, built.versions["tiny"]) == ("ready", "1.0")
    assert built.versions["Python"].startswith(HERE) and built.n_bytes > 1000
    assert set(seen) == {("install tiny", 1)}
    ready = root() / "tiny" / "ready.json"
    assert str(root()) not in ready.read_text()
    stamp = ready.stat().st_mtime_ns
    assert install("tiny", silent) == built == inspect("tiny")
    assert ready.stat().st_mtime_ns == stamp
    done = subprocess.run([interpreter("tiny"), "-c", "import tiny; print(tiny.A)"], capture_output=True, text=True)
    assert done.stdout == "1\n"
    tiny.write_text(tiny.read_text() + "# a remark\n")
    assert inspect("tiny").state == "ready"
    tiny.write_text(tiny.read_text() + "other==2\n")
    assert inspect("tiny").state == "outdated" and interpreter("tiny") is None
    with pytest.raises(GeneratorError, match="pip could not install the packages of tiny") as caught:
        install("tiny")
    assert "other" in caught.value.problems[0].values
    assert inspect("tiny").state == "absent"


UV = """#!/bin/sh
echo "$@" >> {log}
[ {fails} = True ] && exit 2
[ "$1" = venv ] && shift 2 && [ "$1" = --python ] && exec "$2" -m venv "$3"
shift 3
python=$1; shift
exec "$python" -m pip install --no-input "$@"
"""


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_uv_builds_it_where_it_is_installed_and_pip_where_uv_fails(tiny, tmp_path, monkeypatch, fails):
    """A program of this name stands in for uv: it takes the same arguments."""
    program, log = tmp_path / "bin" / "uv", tmp_path / "log"
    program.parent.mkdir()
    program.write_text(UV.format(log=log, fails=fails))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert install("tiny").versions["tiny"] == "1.0"
    asked = log.read_text().splitlines()
    assert asked[0] == f"venv --allow-existing --python {sys.executable} {root() / 'tiny'}"
    assert (asked[1:] == []) == fails
    if not fails:
        inside = root() / "tiny" / "bin" / "python"
        assert asked[1] == f"pip install --python {inside} --no-deps --no-index -r {tiny}"


@pytest.mark.slow
def test_an_installation_that_was_killed_is_found_and_done_again(tiny):
    script = f"""
import os, signal
from pathlib import Path
from hybrid.synthesize.isolation import environments
environments.REQUIREMENTS = Path({str(tiny.parent)!r})
environments.install("tiny", lambda step, done, total=None, **v: done and os.kill(os.getpid(), signal.SIGKILL))
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    assert inspect("tiny").state == "incomplete" and interpreter("tiny") is None
    assert install("tiny").state == "ready"
    (root() / "tiny" / "bin" / "python").unlink()
    assert inspect("tiny").state == "incomplete"
    assert remove("tiny") and not (root() / "tiny").exists()
    assert not remove("tiny")


@pytest.mark.slow
def test_what_does_not_import_in_the_end_is_not_ready(tiny):
    tiny.write_text(tiny.read_text().replace("imports: tiny", "imports: tiny nothing_like_it"))
    with pytest.raises(GeneratorError, match="do not import"):
        install("tiny")
    assert inspect("tiny").state == "absent"


def test_a_python_that_is_not_here_is_asked_for(tiny):
    tiny.write_text(tiny.read_text().replace(f"python: {HERE}", "python: 3.1"))
    with pytest.raises(MissingExtraError, match=r"pinned for Python 3\.1, which was not found"):
        install("tiny")
    assert inspect("tiny").state == "absent"


def test_where_environments_are(monkeypatch, tmp_path):
    monkeypatch.delenv("HYBRID_ENVIRONMENTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert root() == tmp_path / "hybrid-release" / "environments"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert root() == Path.home() / ".cache" / "hybrid-release" / "environments"


def test_every_generator_with_packages_has_an_environment_whose_requirements_are_pinned():
    needing = [generator for generator in REGISTRY.values() if generator.requires]
    assert {generator.environment for generator in needing} <= set(environments.NAMES)
    for name in environments.NAMES:
        lines = (environments.REQUIREMENTS / f"{name}.txt").read_text().splitlines()
        assert [line.partition(":")[0] for line in lines[:2]] == ["# python", "# imports"]
        wanted = [line for line in lines if line and not line.startswith("#")]
        assert all("==" in line and "/" not in line for line in wanted), name
        assert {line.partition("==")[0] for line in wanted} >= {"pyarrow", "pydantic", "numpy", "pandas"}
    assert environment_of("ctgan") == environment_of("sdv") == "sdv"
    with pytest.raises(MissingExtraError, match="cart needs no environment"):
        environment_of("cart")


def test_the_command_line_shows_and_removes(tiny, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["generators", "--json"])
    assert caught.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"cart", "mst"} <= {entry["name"] for entry in shown["generators"]}
    assert {entry["state"] for entry in shown["environments"]} == {"absent"}
    for arguments, code in ((["remove", "synthcity"], 0), (["remove", "nobody"], 2), (["install", "cart"], 2)):
        with pytest.raises(SystemExit) as caught:
            main(["generators", *arguments])
        assert caught.value.code == code
