"""The commands of the documentation verify a release without this project."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hybrid.publication.signing.keyring import public_pem, signing_keys
from tests.publication.signing.standard_tools import by_openssl, by_python


@pytest.fixture
def publisher(release: Path, work: Path, tmp_path: Path) -> Path:
    path = tmp_path / "publisher.pem"
    path.write_text(public_pem(signing_keys(work)[0].public))
    return path


def as_published(release: Path) -> None:
    pass


def flipped_table(release: Path) -> None:
    path = release / "synthetic.csv"
    path.write_bytes(path.read_bytes()[:-2] + b"x\n")


def flipped_statement(release: Path) -> None:
    path = release / "certificate.dsse.json"
    content = json.loads(path.read_text())
    content["payload"] = content["payload"].replace("A", "B", 1)
    path.write_text(json.dumps(content, indent=2) + "\n")


def missing_file(release: Path) -> None:
    (release / "report.html").unlink()


@pytest.mark.parametrize("tool", [by_python, by_openssl])
def test_standard_tools_accept_a_release_and_refuse_changes(
    release: Path, publisher: Path, tool: Callable[[Path, Path], int]
) -> None:
    original = {path: path.read_bytes() for path in release.iterdir()}
    for change in (as_published, flipped_table, flipped_statement, missing_file):
        change(release)
        assert (tool(release, publisher) == 0) == (change is as_published), change.__name__
        for path, content in original.items():
            path.write_bytes(content)


@pytest.mark.parametrize("tool", [by_python, by_openssl])
def test_standard_tools_refuse_another_key(release: Path, tmp_path: Path, tool: Callable[[Path, Path], int]) -> None:
    from securesystemslib.signer import CryptoSigner

    other = tmp_path / "other.pem"
    other.write_text(public_pem(CryptoSigner.generate_ed25519().public_key))
    assert tool(release, other) != 0


def schema() -> Any:
    return json.loads(files("hybrid.publication.signing").joinpath("certificate.schema.json").read_text("utf-8"))


def test_the_certificate_fits_its_schema_and_the_schema_names_every_entry(release: Path) -> None:
    certificate = json.loads((release / "certificate.json").read_text())
    Draft202012Validator.check_schema(schema())
    assert [error.message for error in Draft202012Validator(schema()).iter_errors(certificate)] == []
    assert set(certificate) <= set(schema()["properties"])


def test_the_schema_refuses_other_content(release: Path) -> None:
    certificate = json.loads((release / "certificate.json").read_text())
    certificate["files"]["synthetic.csv"]["sha256"] = "0"
    del certificate["verdict"]
    assert len(list(Draft202012Validator(schema()).iter_errors(certificate))) == 2
