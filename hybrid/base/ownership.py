"""Output folders.

Which were written by this program, unchanged, and may therefore be replaced.

Every folder of results holds a manifest with our mark and the SHA-256 of each other file. A folder is replaced only
if that manifest describes it completely; a published release never is.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hybrid.base.atomic import make_private, write_json
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST, PACKAGE, hash_files, marked
from hybrid.base.regular_file import read_json
from hybrid.base.sentence import sentence

CERTIFICATE = "certificate.json"
"""Name of the file that makes a folder a published release."""
RELEASES_LOCK = ".publish.lock"
"""Name of the file that makes a folder one of releases."""


def check_replaceable(folder: Path) -> None:
    """Refuse an output folder that cannot be written, or holds files that this program did not write.

    It may be missing, empty, or hold unchanged results of this program and nothing else; not among releases. Missing
    folders above it are created, for this user alone.
    """
    _check_place(folder)
    try:
        reason = why_kept(folder) if folder.exists() else ""
    except OSError as error:
        reason = sentence("folder.unreadable", error=str(error.strerror))
    if reason:
        raise ConfigError(
            sentence("folder.left", folder=f"{folder}", reason=reason), hint="choose a new or empty --out"
        )
    _check_writable(folder, folder, folder.parent, private=True)


def check_growing(folder: Path) -> None:
    """Refuse a folder that cannot be written, for added results; it may contain any files."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: this is a file, not a folder", hint="choose another --out")
    _check_writable(folder, folder if folder.exists() else folder.parent)


def why_kept(folder: Path) -> str:
    """Reason against replacing a folder; empty if it may be replaced. OSError: a file cannot be read."""
    if (folder / CERTIFICATE).exists():
        return "it holds a published release"
    present = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    if not present:
        return ""
    files = _files_of(folder)
    if files is None:
        return "it holds files that this program did not write"
    above = {parent.as_posix() for name in files for parent in Path(name).parents}
    strange = sorted(
        name
        for name, path in present.items()
        if path.is_symlink() or (name not in above if path.is_dir() else name not in (MANIFEST, *files))
    )
    if strange:
        return sentence("folder.strange", n=len(strange), manifest=MANIFEST, file=strange[0])
    changed = sorted(name for name, sha256 in files.items() if name in present and file_sha256(present[name]) != sha256)
    return sentence("folder.changed", n=len(changed), file=changed[0]) if changed else ""


def claim(folder: Path, name: str, kind: str) -> None:
    """Mark a new, missing or empty folder as ours before it is filled; one with the mark of its kind stays as it is."""
    _refuse_releases(folder)
    check_growing(folder)
    make_private(folder)
    if (_manifest_of(folder) or {}).get("kind") == kind:
        return
    if any(folder.iterdir()):
        raise ConfigError(
            f"{folder}: it holds other files than a {kind}; the folder is left as it is",
            hint="choose a new or empty --out",
        )
    write_json(folder / MANIFEST, marked({"name": name, "files": {}}, kind))


def seal(folder: Path, name: str, kind: str) -> None:
    """Write the manifest, as the last file, of a folder whose other files are complete."""
    write_json(folder / MANIFEST, marked({"name": name, "files": hash_files(folder, leave_out=(MANIFEST,))}, kind))


def _files_of(folder: Path) -> dict[str, str] | None:
    """SHA-256 of the files that a marked manifest lists; None where there is no such manifest."""
    manifest = _manifest_of(folder)
    try:
        return None if manifest is None else {name: about["sha256"] for name, about in manifest["files"].items()}
    except (LookupError, TypeError, AttributeError):
        return None


def _manifest_of(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("written_by") == PACKAGE else None


def _check_place(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        what = "a link" if folder.is_symlink() else "a file"
        raise ConfigError(f"{folder}: this is {what}, not a folder", hint="choose another --out")
    _refuse_releases(folder)
    if Path.cwd().is_relative_to(folder.resolve()):
        raise ConfigError(f"{folder}: this is the folder you work in", hint="choose a new folder in it for --out")


def _refuse_releases(folder: Path) -> None:
    """Refuse a place among releases, where readers would find originals."""
    place = folder.resolve()
    if any((above / RELEASES_LOCK).exists() for above in (place, *place.parents)):
        raise ConfigError(f"{folder}: this lies in a folder of releases", hint="choose an --out elsewhere")


def _check_writable(folder: Path, *places: Path, private: bool = False) -> None:
    try:
        make_private(folder.parent) if private else folder.parent.mkdir(parents=True, exist_ok=True)
        for place in places:
            if place.exists():
                with tempfile.TemporaryFile(dir=place):
                    pass
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written ({error.strerror})", hint="choose another --out") from None


def own_path(folder: Path, named: Path | str) -> Path:
    """Path that a configuration names, for writing.

    A configuration may come from elsewhere: it makes no command write outside of its own folder, links followed.
    """
    path = folder / named
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{path}: the file lies outside of the configuration's folder, and was left as it is",
            hint="edit it by hand; or copy it beside the configuration, and name the copy there",
        )
    return path
