"""A run that was changed after it was written is not published, whatever hashes were renewed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import VerificationError
from hybrid.jobs.places import Places
from hybrid.jobs.release import read_candidate
from hybrid.publication.publish import publish

RunMaker = Callable[..., Path]


def forge(run: Path, name: str, content: bytes, **entries: Any) -> None:
    """Another file in a run, its hash renewed in the manifest."""
    (run / name).write_bytes(content)
    manifest = json.loads((run / "manifest.json").read_text()) | entries
    manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (run / "manifest.json").write_text(json.dumps(manifest))


def refused(run: Path, tmp_path: Path, match: str, work: str = "work") -> None:
    places = Places(tmp_path / work, tmp_path / "runs", tmp_path / "releases")
    with pytest.raises(VerificationError, match=match):
        publish(run, places.releases, places.work, accept_review=True, by="Eve", reason="fine")
    with pytest.raises(VerificationError, match=match):
        read_candidate(run, places)
    assert not list(tmp_path.glob("releases/2*"))


def test_a_policy_without_rules_is_not_published_as_that_policy(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    policy = json.loads((run / "policy.json").read_text()) | {"approvals": 1}
    policy["rules"][0] |= {"review": 0.9, "block": 1.0}
    forge(run, "policy.json", json.dumps(policy).encode())
    refused(run, tmp_path, "the seal does not match")


def test_raw_rows_in_place_of_the_table_are_not_published(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    forge(run, "synthetic.csv", b"name,age,income\nErika Mustermann,41,high\n")
    refused(run, tmp_path, "the seal does not match")


def test_better_numbers_are_not_published(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    evaluation = json.loads((run / "evaluation.json").read_text())
    evaluation["metrics"][0] |= {"value": 0.0, "ci": [0.0, 0.0]}
    forge(run, "evaluation.json", json.dumps(evaluation).encode())
    refused(run, tmp_path, "the seal does not match")


@pytest.mark.parametrize(
    "entry", [{"draw": 1}, {"data_fingerprint": "0" * 64}, {"roles": {"decided_by": "Eve"}}, {"seal": "0" * 64}]
)
def test_no_entry_of_the_manifest_can_be_changed(make_run: RunMaker, tmp_path: Path, entry: dict[str, Any]) -> None:
    run = make_run(draw=9)
    forge(run, "report.html", (run / "report.html").read_bytes(), **entry)
    refused(run, tmp_path, "the seal does not match")


def test_the_seal_of_another_run_does_not_fit(make_run: RunMaker, tmp_path: Path) -> None:
    other = json.loads((make_run("other", rows="age,income\n42,high\n") / "manifest.json").read_text())
    run = make_run()
    forge(run, "report.html", b"<html>", seal=other["seal"])
    refused(run, tmp_path, "the seal does not match")


def test_a_run_of_another_private_zone_or_of_none_is_not_published(make_run: RunMaker, tmp_path: Path) -> None:
    refused(make_run(), tmp_path, "another private zone", work="elsewhere")
    run = make_run("unsealed")
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seal"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    refused(run, tmp_path, "no seal")


def test_a_sealed_table_that_the_ledger_never_saw_is_not_published(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    (tmp_path / "work" / "ledger.sqlite").unlink()
    refused(run, tmp_path, "the ledger knows no draw of this table")


def test_a_sealed_run_is_published(make_run: RunMaker, tmp_path: Path) -> None:
    assert publish(make_run(), tmp_path / "releases", tmp_path / "work").is_dir()
