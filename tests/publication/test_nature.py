"""What released rows are, in every file of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from hybrid.publication.description.csvw import SOURCE_TYPE, csvw
from hybrid.publication.description.description import DescribedTable, Description, PublishOptions, ReleasedFile
from hybrid.publication.description.statement import SINGLE_PEOPLE
from hybrid.publication.first_page import FirstPage
from hybrid.publication.nature import KEYWORD, is_synthetic, made, nature
from hybrid.publication.publish import publish
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.write import DIGITAL_SOURCE_TYPES, MARK, write_table
from tests.publication.conftest import RunMaker, an_anonymization

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
    sidecar = json.loads((release / "synthetic.csv-metadata.json").read_text(encoding="utf-8"))
    assert sidecar["url"] == "synthetic.csv" and sidecar["dc:description"] == sentence
    statement = content["datapackage.json"]["statement"]
    terms = list(DIGITAL_SOURCE_TYPES) if drawn else []
    assert statement["digital_source_type"] == terms == content["croissant.json"].get("digitalSourceType", [])
    for found in (sidecar.get(SOURCE_TYPE), content["dcat.jsonld"].get("Iptc4xmpExt:DigitalSourceType")):
        assert found == ([{"@id": term} for term in terms] if drawn else None)
    if not drawn:
        everything = b"".join(
            path.read_bytes() for path in release.iterdir() if path.suffix in (".json", ".jsonld", ".md")
        )
        assert not any(term.encode() in everything for term in DIGITAL_SOURCE_TYPES)


@pytest.mark.parametrize("synthetic", [True, False])
def test_a_parquet_file_says_that_its_rows_are_synthetic(tmp_path: Path, synthetic: bool) -> None:
    schema = Schema((Column("age", Role.INSENSITIVE, Kind.INTEGER),))
    a_table = Table(pd.DataFrame({"age": pd.array([41, 7], dtype="Int64")}), schema)
    said = "The generator cart drew the rows."
    write_table(a_table, tmp_path / "t.parquet", synthetic=synthetic, said=said)
    metadata = pq.read_schema(tmp_path / "t.parquet").metadata or {}
    assert (MARK.items() <= metadata.items()) == synthetic and metadata[b"description"].decode() == said
    assert (b"trainedAlgorithmicData" in b"".join(metadata.values())) == synthetic
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"age": [41, 7]}


MASKED = {
    "steps": ({"options": {"technique": "noise", "scale": 1.0}, "columns": ["age"], "promise": "none", "facts": {}},)
}


@pytest.mark.parametrize(
    ("config", "result", "said"),
    [
        ({"synthesize": {"generator": "cart"}}, None, ["The generator cart drew the rows."]),
        ({"synthesize": {"generator": "none"}}, None, ["No generator was used."]),
        (
            {"synthesize": {"generator": "mst"}, "privacy": {"mode": "dp", "epsilon": 3, "delta": 1e-6}},
            None,
            ["The generator mst learned with a budget of differential privacy: epsilon = 3 and delta = 0.000001."],
        ),
        (
            {"synthesize": {"generator": "cart"}, "transition": {"method": "tree"}},
            {},
            ["k-anonymous with k = 5", "not promised of the released rows", "transition tree restored", "cart drew"],
        ),
        (
            {"synthesize": {"generator": "cart"}, "transition": {"method": "original", "order": "pre"}},
            {},
            ["k-anonymous with k = 5", "not promised of the released rows", "The real values then", "cart drew"],
        ),
        (
            {"synthesize": {"generator": "cart"}, "transition": {"method": "tree"}},
            MASKED,
            ["were changed, without k-anonymity.", "cart drew"],
        ),
    ],
)
def test_how_rows_were_made(config: dict[str, Any], result: dict[str, Any] | None, said: list[str]) -> None:
    found = list(made(config, None if result is None else an_anonymization(**result)))
    assert len(found) == len(said) and all(part in text for part, text in zip(said, found, strict=True)), found


def test_the_publisher_says_source_and_uses_and_what_not(make_run: RunMaker, tmp_path: Path) -> None:
    own = {"source": "Adults of 1994.", "uses": ["Teaching."], "not_for": ["Credit decisions."], "license": "CC0-1.0"}
    release = publish(make_run(publish=own), tmp_path / "releases", tmp_path / "work")
    readme = (release / "README.md").read_text(encoding="utf-8")
    first = readme.partition("## Columns")[0]
    assert "- **Real records behind it**: Adults of 1994." in first and "- **For**: Teaching." in first
    assert f"- **Limits of use**: {SINGLE_PEOPLE} Not for: Credit decisions." in first and "k = 5" in first
    for name in ("croissant.json", "datapackage.json", "dcat.jsonld", "synthetic.csv-metadata.json"):
        text = (release / name).read_text(encoding="utf-8")
        assert all(words in text for words in ("Adults of 1994.", "Teaching.", "Credit decisions.", "k = 5")), name


def test_a_public_table_beside_synthetic_ones_is_not_called_synthetic() -> None:
    tables = tuple(
        DescribedTable(name, ReleasedFile(f"{name}.csv", "0" * 64, 1, "a table"), 1, (), public=public)
        for name, public in (("people", False), ("codes", True))
    )
    page = FirstPage("It is.", (), (), (), (), ())
    about = Description(
        "d", "r", "2026-11-21", PublishOptions(), tables, (), page, "s", nature="Every row is synthetic."
    )
    people, codes = (json.dumps(csvw(about, table)) for table in tables)
    assert "synthetic" in people and "trainedAlgorithmic" in people
    assert "synthetic" not in codes and "trainedAlgorithmic" not in codes
