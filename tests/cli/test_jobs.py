"""The main jobs through the real command line: what comes out, and what must never come out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from hybrid.pipeline.config import load_config
from hybrid.table import Table
from hybrid.table.write import write_table
from tests.cli.cli_jobs import Run, edit
from tests.helpers.pages import report_text


def _run(hybrid: Run, job: Path, *options: str) -> Path:
    out = job.parent / "out"
    assert hybrid("run", job, "--out", out, *options) == 0
    return out


def _contract(out: Path, job: Path, name: str = "synthetic.csv") -> None:
    """Every file of a run is there and holds what the contract says."""
    assert {path.name for path in out.iterdir()} == {
        *("manifest.json", "anonymization.json", "anonymized.parquet", "evaluation.json", "report.html"),
        *("facts.json", "protection.json", "rare-values.parquet", "report-details.html", "report.de.html"),
        "report-details.de.html",
        *("policy.json", name),
    }
    manifest = json.loads((out / "manifest.json").read_text())
    for file, about in manifest["files"].items():
        assert hashlib.sha256((out / file).read_bytes()).hexdigest() == about["sha256"]
    assert set(manifest["files"]) == {path.name for path in out.iterdir()} - {"manifest.json"}
    anonymization = json.loads((out / "anonymization.json").read_text())
    for key in ("engine", "k", "models", "levels", "loss", "suppressed", "records", "classes", "min_class_size"):
        assert key in anonymization
    assert anonymization["min_class_size"] >= anonymization["k"] == load_config(job).anonymize.k  # type: ignore[union-attr]
    for metric in json.loads((out / "evaluation.json").read_text())["metrics"]:
        assert {"name", "family", "stage", "value", "ci", "direction", "details", "seconds"} <= set(metric)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("method", ["single", "uniform", "conditional"])
@pytest.mark.parametrize("generator", ["none", "cart"])
def test_every_walk_gives_back_the_source_s_shape(
    hybrid: Run, job: Path, order: str, method: str, generator: str
) -> None:
    edit(job, transition={"method": method, "order": order}, synthesize={"generator": generator})
    edit(job, evaluate__baseline=False)
    out = _run(hybrid, job)
    _contract(out, job)
    source, synthetic = pd.read_csv(job.parent / "admissions.csv"), pd.read_csv(out / "synthetic.csv")
    assert list(synthetic.columns) == list(source.columns)
    given = json.loads((out / "evaluation.json").read_text())["give_away"]
    assert (given["per_attribute"] is None) == (order == "post") and given["reappearing_rows"] >= 0
    # pandas reads whole numbers with gaps as decimals, and a transition need not draw a gap: full columns only.
    full = source.columns[source.notna().all()]
    assert synthetic[full].dtypes.to_dict() == source[full].dtypes.to_dict()
    assert not set(synthetic["patient_id"]) & set(source["patient_id"])
    assert set(synthetic["ward"].dropna()) <= set(source["ward"].dropna())
    # Values of few people come out as a group of the hierarchy.
    domain = pd.read_csv(job.parent / "hierarchies" / "nationality.csv", header=None, sep=";")
    assert set(synthetic["nationality"].dropna()) <= set(domain.to_numpy().ravel())


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(hybrid: Run, job: Path) -> None:
    read = lambda out: [(out / name).read_bytes() for name in ("synthetic.csv", "anonymized.parquet")]  # noqa: E731
    first = read(_run(hybrid, job))
    assert read(_run(hybrid, job)) == first
    assert read(_run(hybrid, job, "--seed", "2")) != first


def test_parquet_in_parquet_out_with_the_same_types(hybrid: Run, job: Path) -> None:
    config = load_config(job)
    table = config.load_table()
    path = job.parent / "admissions.parquet"
    write_table(table, path)
    edit(job, data__path="admissions.parquet")
    out = _run(hybrid, job)
    _contract(out, job, "synthetic.parquet")
    assert pq.read_schema(out / "synthetic.parquet").equals(pq.read_schema(path))


def test_no_identifier_and_no_row_number_in_any_file(hybrid: Run, job: Path) -> None:
    identifiers = pd.read_csv(job.parent / "admissions.csv", dtype=str)["patient_id"]
    out = _run(hybrid, job)
    for path in out.iterdir():
        content = path.read_bytes()
        assert not [name for name in identifiers if name.encode() in content], path.name
    labels = pd.read_parquet(out / "anonymized.parquet")
    assert "patient_id" not in labels.columns
    assert isinstance(labels.index, pd.RangeIndex) and "index" not in labels.columns


def test_labels_are_in_an_order_of_their_own(hybrid: Run, job: Path) -> None:
    """The labels' order does not follow the source's: an untouched column would give the row away."""
    edit(job, protect=False)  # costs that are unchanged show where a row was
    out = _run(hybrid, job)
    costs = pd.read_csv(job.parent / "admissions.csv")["cost"]
    position = {cost: at for at, cost in enumerate(costs)}
    labels = pd.read_parquet(out / "anonymized.parquet")["cost"]
    found = pd.Series([position[round(cost, 2)] for cost in labels.dropna()])
    assert abs(found.corr(pd.Series(range(len(found))))) < 0.2


def test_without_anonymization_and_without_a_generator(hybrid: Run, job: Path) -> None:
    content = yaml.safe_load(job.read_text())
    content |= {"anonymize": None, "transition": None, "sample": {"method": "beta", "beta": 0.5}}
    content |= {"protect": False}  # postcodes that are not generalized would need a decision
    job.write_text(yaml.safe_dump(content))
    edit(job, policy=None)
    assert hybrid("run", job, "--out", job.parent / "out") == 0
    assert not (job.parent / "out" / "anonymized.parquet").exists()


def test_anonymize_alone(hybrid: Run, capsys: Any, job: Path) -> None:
    out = job.parent / "labels"
    assert hybrid("anonymize", job, "--out", out) == 0
    assert {path.name for path in out.iterdir()} == {
        *("manifest.json", "anonymization.json", "anonymized.parquet", "protection.json")
    }
    labels = pd.read_parquet(out / "anonymized.parquet")
    config = load_config(job)
    names = [name for name, column in config.data.columns.items() if column.role == "quasi_identifier"]
    assert labels.groupby(names, dropna=False, observed=True).size().min() >= 5


def test_release_gate_and_verify(hybrid: Run, capsys: Any, job: Path) -> None:
    zones = ("--out", job.parent / "releases", "--runs", job.parent / "runs", "--work", job.parent / "work")
    assert hybrid("release", job, *zones) == 0
    latest = job.parent / "releases" / "latest"
    capsys.readouterr()
    assert hybrid("verify", latest) == 0
    assert "authorship was not checked" in capsys.readouterr().out
    assert hybrid("keys", "show", "--work", job.parent / "work") == 0
    publisher = job.parent / "publisher.pem"
    publisher.write_text(capsys.readouterr().out)
    assert hybrid("verify", latest, "--key", publisher) == 0
    assert f"release {latest.resolve().name}" in capsys.readouterr().out
    certificate = json.loads((latest / "certificate.json").read_text())
    assert "No differential privacy is claimed" in certificate["explanation"]
    assert (job.parent / "work").stat().st_mode & 0o777 == 0o700
    assert hybrid("release", job, *zones) == 0
    assert len([p for p in (job.parent / "releases").iterdir() if p.name != "latest" and p.name[0] != "."]) == 1
    policy = yaml.safe_load((job.parent / "policy.yaml").read_text())
    policy["rules"][0] |= {"metric": "total_variation", "block": 0.0}
    (job.parent / "policy.yaml").write_text(yaml.safe_dump(policy))
    before = latest.resolve()
    assert hybrid("release", job, *zones) == 3
    assert latest.resolve() == before
    report = latest.resolve() / "report.html"
    report.chmod(0o644)
    report.write_text("changed")
    assert hybrid("verify", latest) == 1


def test_release_of_the_run_that_was_read(hybrid: Run, capsys: Any, job: Path) -> None:
    run = _run(hybrid, job)
    assert "first draw of this data under this policy" in capsys.readouterr().out
    assert hybrid("release", run, "--seed", "3") == 2
    assert hybrid("release", run) == 0
    assert (Path("releases") / "latest" / "synthetic.csv").read_bytes() == (run / "synthetic.csv").read_bytes()
    assert not Path("runs").exists()
    with (run / "synthetic.csv").open("a") as file:
        file.write(" ")
    assert hybrid("release", run) == 1


def test_audit_of_any_three_files(hybrid: Run, capsys: Any, job: Path) -> None:
    config = load_config(job)
    whole = config.load_table()
    parts = {"train": whole.frame[:250], "control": whole.frame[250:450], "synthetic": whole.frame[:250]}
    for name, frame in parts.items():
        write_table(Table(frame, whole.schema), job.parent / f"{name}.csv")
    files = [word for name in parts for word in (f"--{name}", job.parent / f"{name}.csv")]
    trusted = {"table": "people", "metric": "identical_match", "verdict": "trusted", "reasons": []}
    league = {"schema": "hybrid-league/1", "name": "trials", "tables": ["people"], "metrics": [trusted]}
    (job.parent / "league.json").write_text(json.dumps(league))
    how = ["--config", job, "--out", job.parent / "audit", "--seed", "1", "--trust", job.parent / "league.json"]
    assert hybrid("audit", *files, *how) == 0
    found = json.loads((job.parent / "audit" / "evaluation.json").read_text())
    metrics, said = found["metrics"], {each["name"]: each["verdict"] for each in found["trust"]["metrics"]}
    assert said["identical_match"] == "trusted"
    report = report_text(job.parent / "audit")
    assert "Laboratory: trusted" in report and "in the laboratory trials on people" in report
    copied = next(m for m in metrics if (m["name"], m["stage"]) == ("identical_match", "synthetic"))
    assert copied["value"] == 1.0
    assert hybrid("audit", *files, "--trust", job) == 2 and "is no JSON" in capsys.readouterr().err


def test_compare_runs_every_combination_and_tells_failures(hybrid: Run, job: Path) -> None:
    plan = {
        "version": 1,
        "base": "config.yaml",
        "factors": {"transition": [{"method": "single"}, {"method": "uniform"}], "anonymize.k": [5, 100_000]},
        "seeds": [1],
    }
    path = job.parent / "plan.yaml"
    path.write_text(yaml.safe_dump(plan, sort_keys=False))
    out = job.parent / "comparison"
    assert hybrid("compare", path, "--out", out) == 1, "two of the runs failed"
    table = pd.read_csv(out / "comparison.csv")
    assert list(table["status"]) == ["ok", "failed", "ok", "failed"]
    assert table["reason"].notna().sum() == 2
    assert table["synthetic.total_variation"].notna().sum() == 2
    assert (out / "comparison.html").exists() and not (out / ".store").exists()
    assert (out / "single-k-5-seed1" / "synthetic.csv").exists()


def test_generators_metrics_and_help(hybrid: Run, capsys: Any) -> None:
    assert hybrid("generators") == 0
    assert "ctgan" in capsys.readouterr().out
    assert hybrid("metrics", "--json") == 0
    assert {"identical_match", "dcr_share"} <= {m["name"] for m in json.loads(capsys.readouterr().out)}
    for command in ("run", "anonymize", "audit", "compare", "release", "verify", "check", "init", "demo"):
        assert hybrid(command, "--help") == 0
