"""The page about privacy metrics says what the stored leagues say."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.trust import SCHEMA

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "privacy-metrics.md"
LEAGUES = [ROOT / "tests" / "data" / "lab" / f"{name}.json.xz" for name in ("adult", "bank", "diabetes", "demo")]


def test_the_tables_of_the_page_are_those_of_the_stored_leagues(tmp_path: Path) -> None:
    copy = tmp_path / "page.md"
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index("<!-- made by"), text.index("<!-- end -->")
    copy.write_text(text[:begin] + "<!-- made by benchmarks/lab_findings.py -->\n" + text[end:], encoding="utf-8")
    script = [sys.executable, str(ROOT / "benchmarks" / "lab_findings.py"), *map(str, LEAGUES), "--write", str(copy)]
    subprocess.run(script, check=True, cwd=ROOT)
    assert copy.read_text(encoding="utf-8") == text


def test_stored_leagues_are_aggregates_of_known_metrics() -> None:
    for path in LEAGUES:
        league = json.loads(lzma.decompress(path.read_bytes()))
        assert league["schema"] == SCHEMA and league["tables"] == [path.name.partition(".")[0]]
        assert {metric["metric"] for metric in league["metrics"]} <= set(REGISTRY)
        assert all(metric["false_alarms"]["trials"] >= 20 for metric in league["metrics"])
        # Nothing but the levels of a dial has an entry per level; no trial, and no record, has one.
        levels = [len(each["levels"]) for metric in league["metrics"] for each in metric["series"]]
        counts = [len(each["excess"]) for metric in league["metrics"] for each in metric["series"]]
        assert levels == counts and max(levels) <= 11
