"""Redaction of manifest and evaluation for publication.

What may leave is listed; anything else stays. Withheld are: the seed (with it and a guess of the source, the
release could be repeated and the guess confirmed), every path and address, and the plain fingerprint of the data
(a guess of the table, row for row, could be confirmed).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import Problem, VerificationError
from hybrid.base.manifest import StageName
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.folder import TEXTS
from hybrid.publication.private_words import METRICS_NOTE, WITHHELD, is_dp
from hybrid.publication.table_facts import public_household, public_risk, rounded

METHOD = ("version", "name", "constraints", "split", "protect", *get_args(StageName), "evaluate", "output")
"""Sections of a config about the method, not the source."""
COLUMN = ("role", "kind", "target")
TABLE = ("key", "parent", "order", "references", "public", "constraints")
"""Keys of one of several linked tables about the method."""
COUNTS = ("suppressed", "coarsened", "records", "persons", "suppressed_persons", "drawn", "drawn_persons")
"""Counts of the anonymization of which a release tells the nearest ten."""
MANIFEST_ENTRIES = ("name", "created", "packages", "python", "platform", "git", "stages", "explanation")
_PRIVATE_KEY = re.compile(r"(^|_)(seed|random_state|path|dir|folder|file|url|uri|dsn|password|token|credential)s?(_|$)")
_PLACE = re.compile(
    r"^(/|~|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)|://|"
    r"\.(csv|tsv|txt|data|parquet|pq|dta|z?sav|por|sas7bdat|xpt|xlsx|ya?ml|json|db)$",
    re.IGNORECASE,
)
_LONGEST_COMMON_SEED = 10**8
"""Smallest seed that is searched for; smaller ones occur by chance."""


def public_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Public method: options and column roles, without seeds and places."""
    public = {key: _withhold(config[key]) for key in METHOD if key in config}
    if "tables" in config:
        tables = {name: _public_table(table) for name, table in config["tables"].items()}
        return public | {"person": config["person"], "tables": tables}
    data = config.get("data") or {}
    if is_dp(config):
        unit = {key: data.get(key) for key in ("person", "max_rows")}
        public |= {"privacy": _withhold(config["privacy"]), "data": unit}
    return public | {"columns": _roles(data.get("columns") or {})}


def _public_table(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _withhold(table[key]) for key in TABLE if key in table} | {"columns": _roles(table["columns"])}


def _roles(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {key: about[key] for key in COLUMN if key in about} for name, about in columns.items()}


def public_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Public manifest, without seed, places and fingerprint of the data.

    Of a private table also without times and memory, which depend on the records; the account of its budget is added.
    """
    kept = {key: manifest[key] for key in MANIFEST_ENTRIES if key in manifest}
    if is_dp(manifest["config"]):
        names = [stage["name"] for stage in manifest["stages"]]
        kept |= {"created": manifest["created"][:10], "stages": [{"name": name} for name in names]}
        kept["privacy_budget"] = manifest["privacy_budget"]
    return kept | {"config": public_config(manifest["config"]), "seed": WITHHELD, "data_fingerprint": WITHHELD}


def public_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Public evaluation: values, intervals, references, and reasons for missing values.

    The other details stay: they may name the groups of people that are most exposed.
    """
    metrics = evaluation.to_json()["metrics"]
    return {"metrics": [metric | {"details": _reason(metric["details"])} for metric in metrics]}


def private_evaluation() -> dict[str, Any]:
    """Evaluation of a private table's release: no value, and why."""
    return {"metrics": [], WITHHELD: METRICS_NOTE}


def public_anonymization(result: AnonymizationResult) -> dict[str, Any]:
    """Public result of the anonymization, its counts rounded to tens."""
    content = result.to_json()
    if result.population_risk is not None:
        content["population_risk"] = public_risk(result.population_risk)
    if result.household is not None:
        content["household"] = public_household(result.household)
    if result.below:
        content["below"] = {name: public_anonymization(one) for name, one in result.below.items()}
    return content | {key: rounded(content[key]) for key in COUNTS if content.get(key) is not None}


def refuse_leaks(folder: Path, run: FinishedRun, private_dir: Path) -> None:
    """Search files to publish for seed, fingerprint and private paths.

    A last line of defence over all texts but the table itself; :func:`public_manifest` and its like are the first.

    Raises
    ------
    VerificationError
        Some are there. The message names the file and what it holds, not the content.
    """
    secrets = {
        "the data's fingerprint": str(run.manifest["data_fingerprint"]),
        "the path of the run": str(run.folder.resolve()),
        "the path of the private zone": str(private_dir.resolve()),
        **_absolute_paths(run.manifest["config"]),
    }
    if run.manifest["seed"] >= _LONGEST_COMMON_SEED:
        secrets["the seed"] = str(run.manifest["seed"])
    problems = [
        Problem(sentence("redact.holds", file=path.name, what=what), "write the file without it")
        for path in sorted(folder.iterdir())
        if path.suffix in TEXTS
        for what, secret in secrets.items()
        if secret and secret.encode() in path.read_bytes()
    ]
    if problems:
        raise VerificationError(problems)


def _absolute_paths(config: Mapping[str, Any]) -> dict[str, str]:
    sources: dict[str, Any] = {"the path of the data": config.get("data") or {}}
    sources |= {sentence("redact.table", table=name): table for name, table in (config.get("tables") or {}).items()}
    paths = {what: str(source.get("path") or "") for what, source in sources.items()}
    return {what: path for what, path in paths.items() if Path(path).is_absolute()}


def _withhold(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: WITHHELD if _PRIVATE_KEY.search(str(key)) else _withhold(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_withhold(item) for item in value]
    return WITHHELD if isinstance(value, str) and _PLACE.search(value) else value


def _reason(details: Mapping[str, Any]) -> dict[str, Any]:
    return {key: details[key] for key in ("reason", "lacks") if key in details}
