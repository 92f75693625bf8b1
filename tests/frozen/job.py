"""One small job through the command line, and what of its output is frozen."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.cli.cli_jobs import exit_code
from tests.comparison import comparison_jobs
from tests.frozen.configurations import Frozen
from tests.helpers.seeded_bits import seed_bits
from tests.helpers.whole_demo import write_whole_demo
from tests.jobs import private_clinic, warehouse_clinic
from tests.jobs.small_job import POLICY
from tests.lab import lab_jobs
from tests.pipeline.tables import hospital

ROWS = 300
ROLES = {"decided_by": "A Person", "date": "2026-01-01"}
LEVELS = ("levels", "loss", "suppressed", "records", "left_out")
MEASURED = ("comparison.csv", "lab.csv", "league.csv")
"""Files of a comparison and of the laboratory, with times in some columns."""
DIGITS = 9
"""Significant digits of a number: the last ones differ between processors."""
ROUNDING = 1e-12
"""Size below which a number is rounding alone."""


def result_of(frozen: Frozen, folder: Path) -> dict[str, Any]:
    """Run a configuration in an empty folder; what it wrote, without times and places."""
    config, out = written(frozen, folder), folder / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CLINIC_URL", f"duckdb:///{folder}/clinic.duckdb")
        patch.setenv("HYBRID_LANGUAGE", "de")
        seed_bits(patch, 5)
        _start(frozen, config, out)
    return dict(_results(out))


def _start(frozen: Frozen, config: Path, out: Path) -> None:
    folder = config.parent
    files = [f"--{name}={folder / name}.csv" for name in ("train", "control", "synthetic")]
    places = [f"--work={folder / 'work'}", f"--runs={folder / 'runs'}", f"--releases={out}"]
    commands = {
        "anonymize": ["anonymize", config, "--out", out],
        "audit": ["audit", *files, "--config", config, "--out", out, "--seed", "5"],
        "night": ["nightly", config, *places],
        "compare": ["compare", folder / "plan.yaml", "--out", out],
        "lab": ["lab", folder / "lab.yaml", "--out", out],
    }
    run = ["run", config, "--out", out, "--seed", "1"]
    # 3: the gate says no, which is a result as well; 4: it waits for a person.
    assert exit_code(*commands.get(frozen.kind, run)) in (0, 3, 4)


def written(frozen: Frozen, folder: Path) -> Path:
    """Data, policy and configuration."""
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    match frozen.kind:
        case "linked" | "labels below":
            settings = hospital.content() if frozen.kind == "linked" else hospital.with_labels_below()
            del settings["evaluate"]["metrics"]
            settings["evaluate"]["also"] = "all"
            return hospital.write(folder, settings=settings | {"version": 1})
        case "dp":
            return private_clinic.write_clinic(folder, private_clinic.people(ROWS, 3))
        case "warehouse":
            return warehouse_clinic.write_clinic(folder, rows=2 * ROWS)
        case "compare":
            return comparison_jobs.write_job(folder, factors={"anonymize.k": [5, 10]}).with_name("config.yaml")
        case "lab":
            return lab_jobs.write_lab(folder, seeds=[1, 2]).with_name("config.yaml")
    config = write_whole_demo(
        folder, ROWS, seed=3, several=frozen.several, format="parquet" if frozen.kind == "anonymize" else "csv"
    )
    content = yaml.safe_load(config.read_text()) | {"seed": 1, "roles": ROLES}
    for key, value in frozen.changes.items():
        *path, last = key.split(".")
        section = content
        for part in path:
            section = section.setdefault(part, {})
        section[last] = value
    config.write_text(yaml.safe_dump(content, sort_keys=False))
    if frozen.kind == "audit":
        frame = pd.read_csv(folder / "admissions.csv", dtype=str, keep_default_na=False)
        for at, name in enumerate(("train", "control", "synthetic")):
            frame[at::3].to_csv(folder / f"{name}.csv", index=False)
    return config


def _results(out: Path) -> Iterator[tuple[str, Any]]:
    """Tables by their hash; metrics, checks and levels as they are."""
    for path in sorted(out.rglob("*")):
        name = re.sub(r"\d{4}-\d\d-\d\d-[0-9a-f]{8}", "release", path.relative_to(out).as_posix())
        if path.is_symlink() or path.is_dir() or any(part.startswith("latest") for part in path.relative_to(out).parts):
            continue
        if path.name == "rare-values.parquet":
            continue  # Keyed hashes: others in every run.
        if path.name in MEASURED:
            rows = pd.read_csv(path)
            timed = [column for column in rows if re.search("seconds|rss|cpu|created|_s$", str(column))]
            yield name, {str(column): _plain(found.tolist()) for column, found in rows.drop(columns=timed).items()}
        elif path.suffix in (".csv", ".parquet"):
            text = path.read_bytes() if path.suffix == ".csv" else pd.read_parquet(path).to_csv(index=False).encode()
            yield name, hashlib.sha256(text).hexdigest()
        elif path.name == "evaluation.json":
            content = json.loads(path.read_text())
            yield f"{name}: metrics", dict(map(_metric, content["metrics"]))
            yield f"{name}: checks", [_check(one) for one in (content.get("verdict") or {}).get("checks", ())]
        elif path.name == "anonymization.json":
            content = json.loads(path.read_text())
            yield (
                name,
                {key: _plain(content[key]) for key in ("levels", "loss", "suppressed", "records") if key in content},
            )


def _metric(one: dict[str, Any]) -> tuple[str, Any]:
    place = "/".join(str(one[key]) for key in ("stage", "table", "name", "column") if one.get(key) is not None)
    if one["value"] is None:
        return place, one["state"]
    return place, _plain([one["value"], *(one["ci"] or (None, None)), one["reference"]])


def _check(one: dict[str, Any]) -> str:
    about = "/".join(str(one[key]) for key in ("table", "rule", "metric") if one.get(key) is not None)
    return f"{about}: {one['status']}" + ("" if one["applies"] else ", does not apply")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # What is nothing but rounding differs between machines.
        rounded = 0.0 if abs(value) < ROUNDING else float(f"{value:.{DIGITS}g}")
        return rounded if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
