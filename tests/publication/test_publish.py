"""A release is whole, holds only what may leave, and is there once."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid.base.errors import ConfigError, DataError, GateRefused, OutputError, VerificationError
from hybrid.evaluation.measure import Evaluation
from hybrid.publication import folder as folder_module
from hybrid.publication.composition import Membership
from hybrid.publication.finished_run import read_run
from hybrid.publication.ledger import Ledger
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish
from hybrid.publication.verify import verify
from hybrid.publication.withdraw import Retention, retain

RunMaker = Callable[..., Path]
FILES = {
    "certificate.dsse.json",
    "certificate.json",
    "evaluation.json",
    "manifest.json",
    "report.html",
    "synthetic.csv",
    *("README.md", "croissant.json", "datapackage.json", "dcat.jsonld", "synthetic.csv-metadata.json"),
}


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    return tmp_path / "releases"


@pytest.fixture
def out(releases: Path, tmp_path: Path) -> Callable[..., Path]:
    def let_out(run: Path, **options: Any) -> Path:
        return publish(run, releases, tmp_path / "work", **options)

    return let_out


def certificate(release: Path) -> Any:
    return json.loads((release / "certificate.json").read_text())


def visible(releases: Path) -> set[str]:
    return {path.name for path in releases.iterdir() if not path.name.startswith(".")}


def hidden(releases: Path) -> set[str]:
    return {path.name for path in releases.iterdir() if path.name.startswith(".")}


def test_a_release_is_whole_and_read_only(make_run: RunMaker, out: Callable[..., Path], releases: Path) -> None:
    run = make_run()
    release = out(run)
    assert verify(release) == []
    assert {path.name for path in release.iterdir()} == FILES
    assert (release / "synthetic.csv").read_bytes() == (run / "synthetic.csv").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in release.iterdir()} == {0o444}
    assert stat.S_IMODE(release.stat().st_mode) == 0o755
    assert (releases / "latest").resolve() == release.resolve()
    assert (releases / "latest").readlink() == Path(release.name)
    assert hidden(releases) == {".publish.lock"}
    assert certificate(release)["release"] == release.name


def test_the_certificate_says_what_was_decided(make_run: RunMaker, out: Callable[..., Path], policy: Policy) -> None:
    content = certificate(out(make_run()))
    assert content["verdict"]["status"] == "pass"
    assert [check["rule"] for check in content["verdict"]["checks"]] == ["roles decided", "k", "copies"]
    assert content["roles"]["decided_by"] == "the tests"
    assert content["policy"] == {
        "name": "test",
        "version": "1",
        "owner": "the tests",
        "sha256": policy.sha256,
        "approvals": 1,
    }
    assert content["acceptances"] == []
    assert "No differential privacy is claimed." in content["guarantee"]
    assert content["config"]["anonymize"] == {"engine": "exact", "k": 5}
    assert content["config"]["columns"] == {"age": {"role": "quasi_identifier", "kind": "integer"}}
    assert {metric["name"] for metric in content["metrics"]} == {"identical_match", "dcr_share", "inference", "tstr"}
    assert set(content["files"]) == FILES - {"certificate.json", "certificate.dsse.json"}
    assert "numpy" in content["code"]["packages"]


def test_nothing_private_leaves(make_run: RunMaker, out: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run()
    release = out(run)
    manifest = json.loads((run / "manifest.json").read_text())
    everything = b"".join(path.read_bytes() for path in release.iterdir())
    private = [str(manifest["seed"]), manifest["data_fingerprint"], "secret-place", "/opt/worker", "../h/age.csv"]
    private += [str(tmp_path), "label-of-a-real-record", "policies/own.yaml", '"seed": 12']
    assert [text for text in private if text.encode() in everything] == []
    assert json.loads((release / "manifest.json").read_text())["seed"] == "withheld"


def test_the_source_is_recognized_only_with_the_key(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    one = publish(run, tmp_path / "a", tmp_path / "work")
    same_key = publish(run, tmp_path / "b", tmp_path / "work")
    elsewhere = make_run("elsewhere", work=tmp_path / "elsewhere")
    other_key = publish(elsewhere, tmp_path / "c", tmp_path / "elsewhere")
    tags = [certificate(release)["source"]["tag"] for release in (one, same_key, other_key)]
    assert tags[0] == tags[1] != tags[2]
    key = tmp_path / "work" / "release.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32


def test_a_damaged_key_is_refused(make_run: RunMaker, out: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "release.key").write_bytes(b"short")
    with pytest.raises(OutputError, match="not a release key"):
        out(make_run())


@pytest.mark.parametrize("leak", ["{seed}", "{fingerprint}", "{run}"])
def test_a_report_with_private_things_is_not_published(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path, leak: str
) -> None:
    seed, fingerprint = 9_876_543_210, "deadbeef" * 8
    report = leak.format(seed=seed, fingerprint=fingerprint, run=tmp_path / "runs" / "run")
    run = make_run(report=f"<html>{report}</html>", seed=seed, data_fingerprint=fingerprint)
    with pytest.raises(VerificationError, match=r"report\.html holds the ") as caught:
        out(run)
    assert report not in str(caught.value)
    assert visible(releases) == set()


def bad(evaluation: Callable[..., Evaluation], ratio: float) -> Evaluation:
    return evaluation(copies=0.001 * ratio)


def test_blocked_runs_stay(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, evaluation: Callable[..., Evaluation]
) -> None:
    run = make_run(measured=bad(evaluation, 3))
    for options in ({}, {"accept_review": True, "by": "me", "reason": "want it"}):
        with pytest.raises(GateRefused, match=r"block: copies: .* 2 in 1,000 above") as caught:
            out(run, **options)
        assert caught.value.exit_code == 3
        assert len(caught.value.problems) == 1
        assert caught.value.problems[0].hint == "train less"
    assert not releases.exists()


def test_reviews_need_a_name_and_a_reason(
    make_run: RunMaker, out: Callable[..., Path], evaluation: Callable[..., Evaluation]
) -> None:
    run = make_run(measured=bad(evaluation, 1.8))
    with pytest.raises(GateRefused, match="wants a person to decide"):
        out(run)
    for options in ({}, {"by": "Ada", "reason": " "}, {"reason": "because"}):
        with pytest.raises(ConfigError, match="a name and a reason"):
            out(run, accept_review=True, **options)
    release = out(run, accept_review=True, by="Ada", reason="rare rows looked at")
    [accepted] = certificate(release)["acceptances"]
    assert (accepted["by"], accepted["reason"]) == ("Ada", "rare rows looked at")
    assert accepted["proof"] == "not proven: the name as it was given"
    assert verify(release) == []


def test_an_acceptance_of_a_pass_is_not_recorded(make_run: RunMaker, out: Callable[..., Path]) -> None:
    assert certificate(out(make_run(), accept_review=True))["acceptances"] == []


def test_the_same_run_is_one_release(make_run: RunMaker, out: Callable[..., Path], releases: Path) -> None:
    first = out(make_run())
    assert out(make_run("again")) == first
    assert out(make_run("other seed", seed=99)) == first
    assert visible(releases) == {first.name, "latest"}


def test_other_data_or_options_are_another_release(
    make_run: RunMaker, out: Callable[..., Path], releases: Path
) -> None:
    first = out(make_run())
    second = out(make_run("data", data_fingerprint="ab" * 32))
    third = out(make_run("options", anonymize={"engine": "exact", "k": 10}))
    assert visible(releases) == {first.name, second.name, third.name, "latest"}
    assert (releases / "latest").resolve().name == third.name


def test_publishing_an_old_run_again_does_not_turn_latest_back(
    make_run: RunMaker, out: Callable[..., Path], releases: Path
) -> None:
    run = make_run()
    first = out(run)
    second = out(make_run("new", data_fingerprint="ab" * 32))
    assert out(run) == first
    assert (releases / "latest").resolve().name == second.name


def test_a_damaged_release_is_not_given_for_the_run(
    make_run: RunMaker, out: Callable[..., Path], releases: Path
) -> None:
    run = make_run()
    first = out(run)
    (first / "synthetic.csv").chmod(0o644)
    (first / "synthetic.csv").write_text("other rows")
    second = out(run)
    assert second != first
    assert verify(second) == []
    assert (releases / "latest").resolve().name == second.name


@pytest.mark.parametrize("name", ["synthetic.csv", "report.html", "evaluation.json", "anonymization.json"])
def test_a_run_that_was_changed_is_not_published(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, name: str
) -> None:
    run = make_run()
    (run / name).write_text((run / name).read_text() + " ")
    with pytest.raises(VerificationError, match=f"{name}: the file was changed"):
        out(run)
    assert not releases.exists() or visible(releases) == set()


@pytest.mark.parametrize("name", ["manifest.json", "evaluation.json"])
def test_a_run_that_lacks_files_is_not_published(make_run: RunMaker, out: Callable[..., Path], name: str) -> None:
    run = make_run()
    (run / name).unlink()
    with pytest.raises(DataError):
        out(run)


def test_an_unfinished_manifest_or_no_synthetic_table_is_told(make_run: RunMaker, out: Callable[..., Path]) -> None:
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["files"]["synthetic.csv"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"lacks the synthetic table"):
        out(run)
    (run / "manifest.json").write_text("[]")
    with pytest.raises(DataError, match="not the folder of a finished run"):
        out(run)


def test_without_anonymization_a_run_can_be_published(make_run: RunMaker, out: Callable[..., Path]) -> None:
    release = out(make_run(anonymized=None), accept_review=True, by="Ada", reason="public data")
    assert certificate(release)["anonymization"] is None
    assert certificate(release)["guarantee"].startswith("Nothing was anonymized")


def test_nobody_writes_where_nobody_can(make_run: RunMaker, out: Callable[..., Path], releases: Path) -> None:
    releases.write_text("a file where the folder should be")
    with pytest.raises(OutputError, match="writing failed"):
        out(make_run())


@pytest.mark.parametrize("step", ["fsync", "replace", "symlink", "chmod"])
def test_a_full_disk_leaves_the_earlier_release(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = out(make_run())

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OutputError, match="No space left on device"):
            out(make_run("next", data_fingerprint="ab" * 32))
    assert (releases / "latest").resolve().name == first.name
    assert all(verify(releases / name) == [] for name in visible(releases))
    second = out(make_run("retry", data_fingerprint="ab" * 32))
    assert (releases / "latest").resolve().name == second.name
    assert hidden(releases) == {".publish.lock"}


def test_a_kernel_that_refuses_to_write_leaves_nothing(
    make_run: RunMaker, out: Callable[..., Path], releases: Path
) -> None:
    """A limit on the file size makes the kernel refuse in the middle of copying, as a full disk does."""
    first = out(make_run())
    run = make_run("large", data_fingerprint="ab" * 32, rows="a\n" + "1\n" * 100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OutputError, match="File too large"):
            out(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert visible(releases) == {first.name, "latest"}
    assert hidden(releases) == {".publish.lock"}


CHILD = """
import json, os, signal, sys, time
from pathlib import Path
from hybrid.publication.ledger import Ledger
from hybrid.publication.publish import publish

run, releases, private, point, count = sys.argv[1:]
calls = 0

def dying(original, after):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls < int(count):
            return original(*arguments, **options)
        if after:
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    return call

if point:
    when, name = point.split(" ")
    owner = Ledger if hasattr(Ledger, name) else os
    setattr(owner, name, dying(getattr(owner, name), when == "after"))
print(publish(Path(run), Path(releases), Path(private)))
"""


def child(run: Path, releases: Path, point: str = "", count: int = 1) -> subprocess.Popen[str]:
    arguments = [str(run), str(releases), str(releases.parent / "work"), point, str(count)]
    return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True)


KILLS = [
    ("before fsync", 1),
    ("before fsync", 3),
    ("after fsync", 6),
    ("before chmod", 1),
    ("before rename", 1),
    ("after rename", 1),
    ("before symlink", 1),
    ("after symlink", 1),
    ("before replace", 1),
    ("after replace", 1),
    ("before fsync", 8),
]


@pytest.mark.parametrize(("point", "count"), KILLS)
def test_a_kill_leaves_every_release_whole(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, point: str, count: int
) -> None:
    first = out(make_run())
    run = make_run("next", data_fingerprint="ab" * 32)
    process = child(run, releases, point, count)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, "the kill did not happen"

    names = visible(releases) - {"latest"}
    assert first.name in names
    assert all(verify(releases / name) == [] for name in names)
    latest = (releases / "latest").resolve()
    assert latest.name in names
    if len(names) == 1:
        assert latest == first.resolve()

    second = out(run)
    assert second != first
    assert verify(second) == []
    assert (releases / "latest").resolve() == second.resolve()
    assert hidden(releases) == {".publish.lock"}
    assert visible(releases) == {first.name, second.name, "latest"}


def test_two_publishers_at_once_make_one_release(make_run: RunMaker, releases: Path) -> None:
    run = make_run()
    pair = [child(run, releases) for _ in range(2)]
    printed = {process.communicate(timeout=60)[0].strip() for process in pair}
    assert len(printed) == 1
    assert verify(Path(printed.pop())) == []
    assert len(visible(releases)) == 2


def test_publishers_of_different_runs_wait_for_each_other(make_run: RunMaker, releases: Path) -> None:
    runs = [make_run(str(at), data_fingerprint=f"{at:064x}") for at in range(3)]
    processes = [child(run, releases) for run in runs]
    printed = {Path(process.communicate(timeout=60)[0].strip()) for process in processes}
    assert len(printed) == 3
    assert all(verify(release) == [] for release in printed)
    newest = max(printed, key=lambda release: certificate(release)["created"])
    assert (releases / "latest").resolve() == newest.resolve()


def several(make_run: RunMaker, out: Callable[..., Path], n: int) -> list[Path]:
    return [out(make_run(str(at), data_fingerprint=f"{at:064x}")) for at in range(n)]


def test_retention_keeps_the_newest(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    made = several(make_run, out, 4)
    (releases / "notes").mkdir()
    found = retain(releases, tmp_path / "work", 2)
    assert (found.removed, found.kept, found.left) == (names(made[:2]), names(made[2:]), ("notes",))
    assert visible(releases) == {made[2].name, made[3].name, "latest", "notes"}
    assert hidden(releases) == {".publish.lock"}
    assert retain(releases, tmp_path / "work", 5).removed == ()


def test_retention_counts_and_removes_true_releases_only(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    made = several(make_run, out, 4)
    for damaged in made[2:]:
        (damaged / "report.html").unlink()
    found = retain(releases, tmp_path / "work", 1)
    assert (found.removed, found.kept, found.left) == (names(made[:1]), names(made[1:2]), names(made[2:]))
    assert verify(made[1]) == [] and made[2].is_dir() and made[3].is_dir()


def test_retention_never_removes_what_latest_names(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    made = several(make_run, out, 3)
    folder_module.point_latest(made[0])
    assert retain(releases, tmp_path / "work", 1).removed == names(made[1:2])
    assert (releases / "latest").resolve() == made[0].resolve()


def test_retention_asks_once_and_removes_nothing_without_a_yes(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    made = several(make_run, out, 3)
    asked: list[tuple[str, ...]] = []

    def never(found: Retention) -> bool:
        asked.append(found.removed)
        return False

    assert retain(releases, tmp_path / "work", 1, never).removed == ()
    assert asked == [names(made[:2])] and all(release.is_dir() for release in made)


def test_retention_with_another_private_zone_removes_nothing(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    made = several(make_run, out, 2)
    with pytest.raises(ConfigError, match="holds none of the releases"):
        retain(releases, tmp_path / "another", 1)
    assert all(release.is_dir() for release in made)


@pytest.mark.parametrize("keep", [0, -1])
def test_retention_keeps_at_least_one(releases: Path, tmp_path: Path, keep: int) -> None:
    with pytest.raises(ConfigError, match="at least one"):
        retain(releases, tmp_path / "work", keep)


def names(releases: list[Path]) -> tuple[str, ...]:
    return tuple(release.name for release in releases)


def nights(private: Path, run: Path, records: range, width: int) -> None:
    """The run's records, in classes of neighbours."""
    numbers = np.arange(records.start, records.stop, dtype=np.uint64)
    keep_membership(private, read_run(run).id, Membership(numbers, numbers // np.uint64(width), numbers))


def with_history(policy: Policy, **limits: float) -> Policy:
    rule = {"name": "history", "quantity": "exposed_share", "reason": "Nights add up.", "hint": "wait", **limits}
    return Policy.model_validate(policy.model_dump() | {"history": [rule]})


def test_nights_whose_difference_shows_few_people_are_held_back(
    make_run: RunMaker, out: Callable[..., Path], tmp_path: Path, policy: Policy
) -> None:
    strict = with_history(policy, review=0.01, block=0.3)
    first = make_run("first", judged_by=strict)
    nights(tmp_path / "work", first, range(100), 10)
    assert certificate(out(first))["verdict"]["checks"][2]["rule"] == "history"
    grown = make_run("grown", judged_by=strict, data_fingerprint="a" * 64)
    nights(tmp_path / "work", grown, range(103), 10)
    with pytest.raises(GateRefused, match="fewer than 10 records are in groups of fewer than 5"):
        out(grown)
    assert Ledger(tmp_path / "work").events()[-1].outcome == "waiting"
    accepted = out(grown, accept_review=True, by="Ada", reason="three new people agreed")
    recut = make_run("recut", judged_by=strict, data_fingerprint="b" * 64)
    nights(tmp_path / "work", recut, range(103), 7)
    with pytest.raises(GateRefused, match=r"block: history: By this and 2 earlier releases together"):
        out(recut)
    entries = Ledger(tmp_path / "work").entries("adult")
    assert [entry.release for entry in entries][-1] == accepted.name
    assert [entry.exposure.exposed for entry in entries if entry.exposure] == [0, 3]
    assert list((tmp_path / "work" / "memberships").iterdir()) == []


def test_what_is_not_known_of_earlier_releases_is_not_passed(
    make_run: RunMaker, out: Callable[..., Path], tmp_path: Path, policy: Policy
) -> None:
    strict = with_history(policy, review=0.01)
    first = make_run("first", judged_by=policy)
    out(first)
    second = make_run("second", judged_by=strict, data_fingerprint="a" * 64)
    nights(tmp_path / "work", second, range(100), 10)
    with pytest.raises(GateRefused, match="in the ledger without its classes"):
        out(second)
    (tmp_path / "work" / "ledger.sqlite").unlink()
    third = make_run("third", judged_by=strict, data_fingerprint="b" * 64)
    nights(tmp_path / "work", third, range(100), 10)
    with pytest.raises(GateRefused, match="1 earlier release is not in the ledger"):
        out(third)


def test_a_killed_publisher_leaves_a_ledger_that_agrees_with_the_folder(
    make_run: RunMaker, out: Callable[..., Path], releases: Path, tmp_path: Path
) -> None:
    run = make_run()
    for point, count in (("after enter", 1), ("after rename", 1), ("after settle", 1), ("before note", 1)):
        process = child(run, releases, point, count)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    release = out(run)
    assert [entry.release for entry in Ledger(tmp_path / "work").entries()] == [release.name]
    assert visible(releases) == {release.name, "latest"}
