"""What released rows are, in every file of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from hybrid.publication.nature import KEYWORD, is_synthetic, nature
from hybrid.publication.publish import publish
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.write import MARK, write_table
from tests.publication.conftest import RunMaker

SAID = {"description": "Visits of 2026.", "keywords": ["ward"]}
ANONYMIZED = {"anonymize": {"k": 2}}


@pytest.mark.parametrize("generator", ["cart", "aim", "none"])
@pytest.mark.parametrize("more", [{}, ANONYMIZED, {"tables": {"visits": {}}}])
def test_rows_are_called_synthetic_where_a_generator_drew_them(generator: str, more: dict[str, Any]) -> None:
    config = {"synthesize": {"generator": generator}, **more}
    said = nature(config)
    assert is_synthetic(config) == (generator != "none") == ("is synthetic" in said and "drew it" in said)
    assert ("No row is synthetic: each stands for one" in said) == (generator == "none")
    assert ("anonymized record" in said) == (generator == "none" and "anonymize" in more)


@pytest.mark.parametrize("generator", ["cart", "none"])
def test_every_file_for_readers_says_what_the_rows_are(make_run: RunMaker, tmp_path: Path, generator: str) -> None:
    run = make_run(
        synthesize={"generator": generator}, publish={"description": "Visits of 2026.", "keywords": ["ward"]}
    )
    release = publish(run, tmp_path / "releases", tmp_path / "work")
    drawn = generator != "none"
    content = {
        name: json.loads((release / name).read_text(encoding="utf-8"))
        for name in ("croissant.json", "datapackage.json", "dcat.jsonld", "certificate.json")
    }
    texts = [content["croissant.json"]["description"], content["datapackage.json"]["description"]]
    texts += [content["dcat.jsonld"]["dct:description"], (release / "README.md").read_text(encoding="utf-8")]
    sentence = content["certificate.json"]["released"]["words"]
    assert sentence.startswith("Every row is synthetic" if drawn else "No row is synthetic")
    assert all("Visits of 2026." in str(text) and sentence in str(text) for text in texts)
    marks = content["croissant.json"]["rai:hasSyntheticData"], content["datapackage.json"]["synthetic"]
    assert {*marks, content["certificate.json"]["released"]["synthetic"]} == {drawn}
    keywords = [content["croissant.json"]["keywords"], content["datapackage.json"]["keywords"]]
    for words in (*keywords, content["dcat.jsonld"]["dcat:keyword"]):
        assert words == ([KEYWORD, "ward"] if drawn else ["ward"])
    assert "made from records of people" not in " ".join(map(str, texts))


@pytest.mark.parametrize("synthetic", [True, False])
def test_a_parquet_file_says_that_its_rows_are_synthetic(tmp_path: Path, synthetic: bool) -> None:
    schema = Schema((Column("age", Role.INSENSITIVE, Kind.INTEGER),))
    a_table = Table(pd.DataFrame({"age": pd.array([41, 7], dtype="Int64")}), schema)
    write_table(a_table, tmp_path / "t.parquet", synthetic=synthetic)
    metadata = pq.read_schema(tmp_path / "t.parquet").metadata or {}
    assert (MARK.items() <= metadata.items()) == synthetic
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"age": [41, 7]}
