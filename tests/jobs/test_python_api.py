"""``hybrid.run`` and ``hybrid.release``: from files, mappings and DataFrames."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import mlcroissant
import pandas as pd
import pytest
import yaml
from frictionless import Package

import hybrid
from hybrid.base.errors import ConfigError, DataError, GateRefused, VerificationError
from hybrid.publication.verify import verify
from tests.helpers.pages import report_text
from tests.jobs.small_job import POLICY, write_small_job


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_job(tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def frame(job: Path) -> pd.DataFrame:
    return pd.read_csv(job.parent / "admissions.csv", dtype={"postcode": str}, parse_dates=["admission_date"])


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A private zone of its own for every test."""
    monkeypatch.chdir(tmp_path)


def _anchored(job: Path) -> dict[str, Any]:
    """The job's content as a mapping that holds no relative path and no source."""
    content: dict[str, Any] = yaml.safe_load(job.read_text())
    del content["data"]["path"]
    for column in content["data"]["columns"].values():
        if "hierarchy" in column:
            column["hierarchy"] = str(job.parent / column["hierarchy"])
    return content | {"policy": str(job.parent / "policy.yaml")}


def _places(folder: Path) -> dict[str, Path]:
    return {name: folder / name for name in ("work", "runs", "releases")}


def test_a_run_without_a_folder_writes_nothing(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = hybrid.run(str(job))
    assert pipeline.verdict.status == "pass"
    assert len(pipeline.synthetic) == len(pipeline.person.train)
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_a_folder_is_that_of_the_command_line(job: Path, tmp_path: Path) -> None:
    from hybrid.cli import main

    hybrid.run(job, out=tmp_path / "python")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(job), "--out", str(tmp_path / "shell")])
    assert ended.value.code == 0
    for name in ("synthetic.csv", "anonymized.parquet", "policy.json"):
        hashes = [hashlib.sha256((tmp_path / way / name).read_bytes()).hexdigest() for way in ("python", "shell")]
        assert hashes[0] == hashes[1]


def test_a_frame_takes_the_place_of_the_file(job: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    young = frame[frame["age"] < 60]
    from_file = hybrid.run(job, young, out=tmp_path / "out")
    assert len(from_file.table) == len(young)
    assert (tmp_path / "out" / "synthetic.parquet").is_file()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["data"]["path"] == "<DataFrame>"
    from_mapping = hybrid.run(_anchored(job), data=young)
    from_config = hybrid.run(hybrid.load_config(job), data=young)
    for other in (from_mapping, from_config):
        pd.testing.assert_frame_equal(other.synthetic.frame, from_file.synthetic.frame)


def test_a_frame_is_not_changed(job: Path, frame: pd.DataFrame) -> None:
    before = frame.copy()
    hybrid.run(job, frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_frame_is_checked_as_a_file(job: Path, frame: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="'sex', which the data does not have"):
        hybrid.run(job, frame.drop(columns="sex"))


def test_overrides_win_over_the_config(job: Path) -> None:
    assert hybrid.run(job, overrides={"anonymize.k": 9}).config.anonymize.k == 9  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="beside a RunConfig"):
        hybrid.run(hybrid.load_config(job), overrides={"anonymize.k": 9})


def test_a_store_keeps_the_stages(job: Path, tmp_path: Path) -> None:
    first = hybrid.run(job, store=tmp_path / "store")
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*/result.pickle")}
    assert kept
    again = hybrid.run(job, store=tmp_path / "store")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*/result.pickle")} == kept
    pd.testing.assert_frame_equal(again.synthetic.frame, first.synthetic.frame)


def test_a_config_that_is_wrong_in_any_form(job: Path) -> None:
    for config in ("none.yaml", Path("none.yaml")):
        with pytest.raises(ConfigError, match=r"none\.yaml"):
            hybrid.run(config)
    with pytest.raises(ConfigError, match="did you mean 'anonymize'"):
        hybrid.run({"data": {"path": "x.csv"}, "anonymise": {}})


def test_a_release_from_a_frame(job: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    published = hybrid.release(job, frame, **_places(tmp_path))
    assert verify(published.folder) == []
    assert published.verdict.status == "pass"
    assert published.folder.parent == tmp_path / "releases"
    assert (published.run / "report.html").is_file()
    assert len(list((tmp_path / "work").glob("**/*"))) > 2
    certificate = json.loads((published.folder / "certificate.json").read_text())
    assert certificate["name"] == "small"
    # The same table, method and policy are the same release.
    assert hybrid.release(job, frame, **_places(tmp_path)).folder == published.folder


def test_a_review_needs_an_acceptance(tmp_path: Path) -> None:
    job = write_small_job(tmp_path / "job")
    rule = POLICY["anonymity"][0] | {"review": 10**6, "block": 2}
    (job.parent / "policy.yaml").write_text(yaml.safe_dump(POLICY | {"anonymity": [rule]}))
    with pytest.raises(GateRefused, match="a person to decide"):
        hybrid.release(job, **_places(tmp_path))
    assert not list((tmp_path / "releases").glob("2*"))
    accepted = hybrid.Acceptance(by="Ada", reason="the classes are large enough")
    published = hybrid.release(job, accept=accepted, **_places(tmp_path))
    certificate = json.loads((published.folder / "certificate.json").read_text())
    assert "Ada" in json.dumps(certificate)


def test_a_run_that_was_read_is_published_as_it_is(job: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "read"
    pipeline = hybrid.run(job, out=run, work=tmp_path / "work")
    assert pipeline.draw is not None and pipeline.draw.number == 1
    published = hybrid.release(run, **_places(tmp_path))
    assert published.run == run and published.pipeline is None and published.draw.number == 1
    for name in ("synthetic.csv", "report.html", "report-details.html"):
        assert (published.folder / name).read_bytes() == (run / name).read_bytes()
    certificate = json.loads((published.folder / "certificate.json").read_text())
    words = "first draw of this data under this policy"
    assert certificate["draw"] == {"number": 1, "total": 1, "elsewhere": 0, "words": words}
    assert words.capitalize() in report_text(run)
    assert list((tmp_path / "runs").iterdir()) == [run]  # nothing was drawn
    report = Package.from_descriptor(str(published.folder / "datapackage.json")).validate()
    assert report.valid and report.tasks[0].stats["rows"] == len(pipeline.synthetic)
    read = list(mlcroissant.Dataset(jsonld=str(published.folder / "croissant.json")).records("records"))
    assert [row["records/age"] for row in read] == pipeline.synthetic.frame["age"].tolist()
    with pytest.raises(ConfigError, match="a seed and other settings cannot change it"):
        hybrid.release(run, seed=2, overrides={"anonymize.k": 9}, **_places(tmp_path))


def test_run_and_release_count_together(job: Path, tmp_path: Path) -> None:
    places = _places(tmp_path)
    for seed, number in ((1, 1), (2, 2), (1, 1)):
        out = tmp_path / "elsewhere" / str(seed)
        pipeline = hybrid.run(job, out=out, seed=seed, work=places["work"])
        assert pipeline.draw is not None and pipeline.draw.number == number
        assert json.loads((out / "manifest.json").read_text())["draw"] == number
        assert json.loads((out / "evaluation.json").read_text())["draw"] == number
    shutil.rmtree(tmp_path / "elsewhere")
    assert hybrid.release(job, seed=3, **places).draw.number == 3
    other = hybrid.run(job, out=tmp_path / "out", seed=4, overrides={"policy": "default"}, work=places["work"])
    assert other.draw is not None and other.draw.number == 1


def test_runs_of_another_private_zone_count_where_one_is_published(job: Path, tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        hybrid.run(job, out=tmp_path / "runs" / str(seed), seed=seed, work=tmp_path / f"zone{seed}")
    zone = _places(tmp_path) | {"work": tmp_path / "zone1"}
    published = hybrid.release(tmp_path / "runs" / "1", **zone)
    certificate = json.loads((published.folder / "certificate.json").read_text())
    assert certificate["draw"]["number"] == 3
    with pytest.raises(VerificationError, match="was written with another private zone"):
        hybrid.release(tmp_path / "runs" / "2", **zone)
    assert len(list((tmp_path / "releases").glob("2*"))) == 1


@pytest.mark.parametrize("name", ["synthetic.csv", "anonymized.parquet", "evaluation.json", "notes.txt"])
def test_a_changed_run_is_not_published(job: Path, tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    hybrid.run(job, out=run)
    with (run / name).open("a") as file:
        file.write(" ")
    with pytest.raises(VerificationError, match=name):
        hybrid.release(run, **_places(tmp_path))
    assert not list((tmp_path / "releases").glob("2*"))
