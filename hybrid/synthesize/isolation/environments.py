"""Managed environments: separate Python environments for the packages of generators.

One environment is built from one pinned file ``requirements/NAME.txt`` of this package into the user's cache folder
(``HYBRID_ENVIRONMENTS``, else ``environments`` in the cache folder of the platform), by uv where it is installed and
by venv and pip elsewhere. A virtual environment cannot be moved once it is built, so it is built in place and
``ready.json`` is written last: without that file it does not exist, and the next installation starts afresh. The
file's first lines say which Python it is for, what must import in the end, and options of pip::

    # python: 3.11
    # imports: synthcity
    # options: --no-deps
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path

from hybrid.base.atomic import make_private, write_json
from hybrid.base.errors import GeneratorError, MissingExtraError
from hybrid.base.locks import locked
from hybrid.base.progress import Progress, silent

REQUIREMENTS = Path(__file__).parent / "requirements"
NAMES = tuple(sorted(path.stem for path in REQUIREMENTS.glob("*.txt")))
"""Every environment that can be built."""
_READY, _LOG, _LOCKS = "ready.json", "install.log", ".locks"
_TRIES, _PAUSE = 40, 0.25
"""Attempts to remove a folder, and seconds between them."""
_PACKAGE = re.compile(rb"^(Collecting|Processing) |^ \+ \S")
"""Lines of an installer about one package: of pip when it begins, of uv when it is done."""
_VERSIONS = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
State = Literal["absent", "incomplete", "outdated", "ready"]


@dataclass(frozen=True)
class Environment:
    """State of one environment."""

    name: str
    """One of :data:`NAMES`."""
    state: State
    """incomplete: an installation was interrupted, or its Python is gone; outdated: built from other requirements. Only
    a ready one is used."""
    n_bytes: int = 0
    """Size on disk; 0 unless ready or outdated."""
    seconds: float = 0.0
    """What building it took."""
    versions: dict[str, str] = field(default_factory=dict)
    """Python, and every distribution in it."""


def root() -> Path:
    """The folder of all environments; it need not exist."""
    chosen = os.environ.get("HYBRID_ENVIRONMENTS")
    return Path(chosen).expanduser() if chosen else user_cache_path("hybrid-release") / "environments"


def inspect(name: str) -> Environment:
    """The state of one environment; nothing is started."""
    folder = root() / name
    if not folder.is_dir():
        return Environment(name, "absent")
    try:
        ready = json.loads((folder / _READY).read_text(encoding="utf-8"))
        found = Environment(name, "ready", ready["n_bytes"], ready["seconds"], ready["versions"])
        requirements = ready["requirements"]
    except (OSError, ValueError, KeyError):
        return Environment(name, "incomplete")
    if not _python_in(folder).exists():
        return Environment(name, "incomplete")
    if requirements != _digest(name):
        return Environment(name, "outdated", found.n_bytes, found.seconds, found.versions)
    return found


def interpreter(name: str) -> Path | None:
    """The Python of a ready environment; None otherwise."""
    return _python_in(root() / name) if inspect(name).state == "ready" else None


def install(name: str, progress: Progress = silent) -> Environment:
    """Build an environment, unless it is ready already.

    MissingExtraError if no Python of the version that the requirements are pinned for was found. What fails is removed.
    """
    folder = root() / name
    make_private(root() / _LOCKS)
    with locked(root() / _LOCKS / f"{name}.lock"):
        found = inspect(name)
        if found.state == "ready":
            return found
        python = _python_for(name)
        _clear(folder)
        try:
            return _build(name, python, folder, progress)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def remove(name: str) -> bool:
    """Remove an environment; False if there was none."""
    folder = root() / name
    if not folder.is_dir():
        return False
    with locked(root() / _LOCKS / f"{name}.lock"):
        with contextlib.suppress(FileNotFoundError):
            (folder / _READY).unlink()
        shutil.rmtree(folder)
    return True


def _clear(folder: Path) -> None:
    """Remove what a killed installation left; its package manager may still be writing there for a moment."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def _build(name: str, python: str, folder: Path, progress: Progress) -> Environment:
    started = time.monotonic()
    step, total = f"install {name}", len(_requirements(name))
    progress(step, 0, total)
    uv = shutil.which("uv")
    try:
        _fill(name, python, folder, uv, lambda done: progress(step, min(done, total), total))
    except GeneratorError:
        if uv is None:
            raise
        # pip may be configured for an index that uv does not know.
        shutil.rmtree(folder)
        _fill(name, python, folder, None, lambda done: progress(step, min(done, total), total))
    inside = str(_python_in(folder))
    check = "; ".join(f"import {module}" for module in _header(name, "imports").split())
    _call([inside, "-c", check], folder, GeneratorError(f"the packages of {name} were installed but do not import"))
    unlisted = GeneratorError(f"{name}: its packages cannot be listed")
    versions = json.loads(_call([inside, "-c", _VERSIONS], folder, unlisted))
    python_version = _call(
        [inside, "-c", "import platform; print(platform.python_version())"], folder, unlisted
    ).strip()
    n_bytes = sum(path.lstat().st_size for path in folder.rglob("*"))
    seconds = round(time.monotonic() - started, 1)
    built = Environment(name, "ready", n_bytes, seconds, {"Python": python_version, **dict(sorted(versions.items()))})
    write_json(folder / _READY, {**asdict(built), "requirements": _digest(name)})
    return built


def _fill(name: str, python: str, folder: Path, uv: str | None, report: Callable[[int], None]) -> None:
    """Create the virtual environment and install its packages, with uv if given; report how many are there."""
    folder.mkdir(mode=0o700)
    create = [python, "-m", "venv"] if uv is None else [uv, "venv", "--allow-existing", "--python", python]
    _call([*create, str(folder)], folder, GeneratorError(f"no virtual environment could be made for {name}"))
    inside = str(_python_in(folder))
    pip = [inside, "-m", "pip"] if uv is None else [uv, "pip"]
    options = ["--no-input", "--disable-pip-version-check"] if uv is None else ["--python", inside]
    wanted = [*_header(name, "options").split(), "-r", str(REQUIREMENTS / f"{name}.txt")]
    with (folder / _LOG).open("wb") as log:
        command = [*pip, "install", *options, *wanted]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=_clean_environment())
        try:
            assert process.stdout is not None
            done = 0
            for line in process.stdout:
                log.write(line)
                done += _PACKAGE.search(line) is not None
                report(done)
        except BaseException:
            process.kill()
            raise
        finally:
            status = process.wait()
    if status != 0:
        installer = "pip" if uv is None else "uv"
        raise _with_log(GeneratorError(f"{installer} could not install the packages of {name}"), folder)


def _call(command: list[str], folder: Path, failure: GeneratorError) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=_clean_environment(), check=False)
    if done.returncode != 0:
        (folder / _LOG).write_text(done.stdout + done.stderr, encoding="utf-8")
        raise _with_log(failure, folder)
    return done.stdout


def _with_log(failure: GeneratorError, folder: Path) -> GeneratorError:
    words = (folder / _LOG).read_text(encoding="utf-8", errors="replace")[-2000:]
    hint = "check the network and the package index, then run it again"
    return GeneratorError(str(failure), hint=hint, values=words)


def _clean_environment() -> dict[str, str]:
    """Environment variables without those that add packages of another Python."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def _python_for(name: str) -> str:
    wanted = _header(name, "python")
    if wanted == "{}.{}".format(*sys.version_info):
        return sys.executable
    found = shutil.which(f"python{wanted}")
    ask = "import sys; print('{}.{}'.format(*sys.version_info))"
    if found is not None:
        answer = subprocess.run([found, "-c", ask], capture_output=True, text=True, check=False)
        if answer.stdout.strip() == wanted:
            return found
    raise MissingExtraError(
        f"the environment {name} is pinned for Python {wanted}, which was not found",
        hint=f"install Python {wanted} so that python{wanted} starts it",
    )


def _python_in(folder: Path) -> Path:
    return folder / "bin" / "python"


def _header(name: str, key: str) -> str:
    start = f"# {key}: "
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix(start) for line in lines if line.startswith(start)), "")


def _requirements(name: str) -> list[str]:
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _digest(name: str) -> str:
    """Hash of everything that decides what is built; comments do not."""
    content = [_header(name, "python"), _header(name, "options"), *_requirements(name)]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()
