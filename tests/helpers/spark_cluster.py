"""The demo on a Spark of two workers on this machine: labels, a sample to a release, and the release as a view.

    python -m tests.helpers.spark_cluster FOLDER [--rows 1000000] [--sample 5000]

Needs the extra ``spark`` and Java 17 or 21. The cluster (``local-cluster``: a master and two workers,
whose executors are processes of their own) is reached through Spark Connect, as any other. Simulated admissions become
a table of it. `hybrid anonymize` writes the table of their labels; `hybrid run`, `hybrid release` and `hybrid deliver`
draw a sample, learn from it, and bring the release back as a version with a view on it. Printed is a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from hybrid.demo import write_demo
from tests.helpers.spark_connect import spark_connect
from tests.jobs.small_job import write_small_job

MASTER = "local-cluster[2,1,1024]"
"""Workers, cores and MiB of each."""
URL = "CLUSTER_URL"
PUT = """
import sys; from pyspark.sql import SparkSession
session = SparkSession.builder.remote(sys.argv[1]).create()
session.sql("create schema clinic")
session.read.parquet(sys.argv[2]).write.saveAsTable("clinic.admissions")
"""
COUNT = """
import sys; from pyspark.sql import SparkSession
session = SparkSession.builder.remote(sys.argv[1]).create()
tables = ("clinic.admissions", "clinic.admissions_labels", "clinic.synthetic")
print(*(session.table(table).count() for table in tables))
print(*sorted(row.tableName for row in session.sql("show tables in clinic").collect()))
"""


def write_configs(folder: Path, rows: int, sample: int) -> tuple[Path, Path]:
    """Configurations of the labels and of the run; the rows are in ``rows/admissions.parquet``."""
    write_demo(folder / "rows", rows, format="parquet")
    run = write_small_job(folder, sample={"method": "none"})
    content = yaml.safe_load(run.read_text(encoding="utf-8"))
    del content["data"]["path"], content["data"]["separator"]
    place = {"url_env": URL, "table": "clinic.admissions", "push_down": True}
    content["data"] |= {"sql": place | {"sample_rows": sample}, "person": "none"}
    content["anonymize"]["time_limit"] = 10
    content["nightly"] = {"deliver": {"sql": {"url_env": URL, "table": "clinic.synthetic", "versions": 3}}}
    run.write_text(yaml.safe_dump(content), encoding="utf-8")
    labels = {name: content[name] for name in ("version", "name", "seed", "data", "anonymize")}
    labels |= {"split": {"control": 0}, "protect": "off"}
    labels["data"] = content["data"] | {"sql": place}
    (folder / "labels.yaml").write_text(yaml.safe_dump(labels), encoding="utf-8")
    return folder / "labels.yaml", run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=5_000)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    labels, run = write_configs(folder, arguments.rows, arguments.sample)
    seconds: dict[str, float] = {}
    with spark_connect(folder, MASTER) as address:

        def call(step: str, *command: str) -> str:
            started = time.perf_counter()
            environment = {**os.environ, URL: address}
            done = subprocess.run(
                [sys.executable, *command], env=environment, cwd=folder, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{step}: {done.stdout}{done.stderr}")
            seconds[step] = round(time.perf_counter() - started, 1)
            return done.stdout

        call("load", "-c", PUT, address, str(folder / "rows" / "admissions.parquet"))
        for step in (
            ("anonymize", str(labels), "--out", "labelled"),
            ("run", str(run), "--out", "out"),
            ("release", "out"),
            ("deliver", str(run)),
        ):
            call(step[0], "-m", "hybrid", *step)
        counts, tables = call("count", "-c", COUNT, address).splitlines()
    told: dict[str, Any] = json.loads((folder / "labelled" / "anonymization.json").read_text(encoding="utf-8"))
    drawn = json.loads((folder / "out" / "anonymization.json").read_text(encoding="utf-8"))
    same = all(told[key] == drawn[key] for key in ("levels", "suppressed", "classes", "records"))
    rows, labelled, released = map(int, counts.split())
    facts = {"records": told["records"], "suppressed": told["suppressed"], "loss": told["loss"]["value"]}
    facts |= {"combinations": told["warehouse"]["combinations"], "drawn": drawn["drawn"], "same": same}
    facts |= {"rows": rows, "labelled": labelled, "released": released, "tables": tables.split(), "seconds": seconds}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
