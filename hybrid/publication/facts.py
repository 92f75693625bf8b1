"""Facts of one run, made once: what went in, what was done, what was measured, who decided, and what came out.

A run writes them as ``facts.json``; the certificate of a release is these facts with its name, acceptances, tags and
hashes. They hold aggregates alone: no record, no seed, no place of a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from hybrid.base.atomic import write_json
from hybrid.base.hashing import file_sha256
from hybrid.base.sentence import SENTENCES, sentence, stated
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.finished_run import DAMAGE, FinishedRun, damaged
from hybrid.publication.first_page import FirstPage, RunFacts, first_page, open_rules, private_page, promise
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.nature import is_synthetic, nature
from hybrid.publication.power import not_tried
from hybrid.publication.private_words import WITHHELD, unit_words
from hybrid.publication.redact import public_anonymization, public_config
from hybrid.publication.table_facts import TableFacts, stated_tables
from hybrid.publication.verdict import Verdict

if TYPE_CHECKING:
    from hybrid.publication.certificate import Acceptance

FACTS = "facts.json"
"""Entry with the template and the facts of every sentence of the others."""
FORMAT = 1
DIFFERENCES = {
    "lost_column": "Column",
    "lost_link": "Pair of columns",
    "lost_prediction": "Prediction",
    "group_exclusion": "Group",
}
"""Metrics that say their worst finding in the data's own words, and what it is about."""
SIZE = ("records", "control", "rows", "columns")
ENTRIES = (
    *("format", "name", "created", "released", "size", "summary", "verdict", "policy", "roles", "guarantee"),
    *("explanation", "anonymization", "differences", "power", "metrics", "config", "code", SENTENCES),
)
"""Entries of all facts."""
OPTIONAL = ("tables", "decided", "differential_privacy")
"""Entries of linked tables, and of private ones."""
METRIC_ENTRIES = ("name", "family", "stage", "column", "direction", "value", "ci", "reference", "n", "state")


class WorstFinding(NamedTuple):
    """Worst finding of one metric about what a released table keeps, in the data's own words."""

    metric: str
    said: str
    table: str | None = None
    """Of several linked ones."""


def facts_of(
    run: FinishedRun, verdict: Verdict, created: str, acceptances: Sequence[Acceptance] = ()
) -> dict[str, Any]:
    """State the facts of a run.

    Parameters
    ----------
    run : FinishedRun
        Of a private table, all that records decide without noise is withheld.
    created : str
        When it was made (UTC, ISO 8601), of a private table the day alone.

    Returns
    -------
    dict
        Of JSON types: :data:`ENTRIES`, and those of :data:`OPTIONAL` that there are.
    """
    policy, config = run.policy, run.manifest["config"]
    private = run.manifest.get("differential_privacy", False)
    size = run.manifest["table"]
    content = {
        "format": FORMAT,
        "name": run.manifest.get("name"),
        "created": created,
        "released": {"synthetic": is_synthetic(config), "words": nature(config)},
        "size": {key: size[key] for key in SIZE},
        "summary": summary_of(run, verdict, created, acceptances).to_json(),
        "verdict": verdict.to_json(),
        "policy": {key: getattr(policy, key) for key in ("name", "version", "owner", "sha256", "approvals")},
        "roles": run.manifest.get("roles"),
        "guarantee": guarantee_sentence(run.anonymization, config, run.evaluation, private=private),
        "explanation": run.manifest.get("explanation"),
        "anonymization": None if run.anonymization is None else public_anonymization(run.anonymization),
        "differences": [one._asdict() for one in differences_of(run.evaluation)],
        "power": None if run.power is None else run.power.to_json() | {"not_tried": not_tried(verdict.checks)},
        "metrics": metrics_of(run.evaluation),
        "config": public_config(config),
        "code": {key: run.manifest.get(key) for key in ("packages", "python", "git")},
        **_tables(run.manifest),
    }
    found: dict[str, Any] = json.loads(json.dumps(stated(_private(content, run) if run.is_dp else content)))
    return found


def write_facts(run: FinishedRun, verdict: Verdict) -> dict[str, dict[str, Any]]:
    """Write the facts into the run's folder; gives their entry in the manifest's list of files."""
    created, path = str(run.manifest["created"]), run.folder / FACTS
    write_json(path, facts_of(run, verdict, created[:10] if run.is_dp else created))
    return {FACTS: {"sha256": file_sha256(path), "bytes": path.stat().st_size}}


def _private(content: Mapping[str, Any], run: FinishedRun) -> dict[str, Any]:
    """Remove all that records decide without noise.

    What remains follows from the table, the account of its budget and the configuration. Which verdict let it out,
    after how many draws and by whose approval, stays with the operator: approvals give reasons, and a verdict is a
    measurement.
    """
    budget = run.manifest["privacy_budget"]
    return {
        **content,
        "size": {key: content["size"][key] for key in ("rows", "columns")},
        "verdict": {"status": WITHHELD, "policy": content["verdict"]["policy"], "checks": []},
        "decided": {"by": run.policy.owner, "words": content["summary"]["answer"]},
        "differences": [],
        "power": None,
        "metrics": [],
        "differential_privacy": {"unit": unit_words(run.manifest["config"]), **budget},
        "roles": _decision(content["roles"]),
    }


def _decision(roles: Mapping[str, Any] | None) -> dict[str, Any] | None:
    # What the columns look like was read in the records: only name and date are public.
    return None if roles is None else {key: roles.get(key) for key in ("decided_by", "date")}


def _tables(manifest: Mapping[str, Any]) -> dict[str, Any]:
    found = [{"name": one.name, "file": one.file, "rows": one.rows} for one in stated_tables(manifest)]
    return {"tables": found} if found else {}


def differences_of(evaluation: Evaluation) -> list[WorstFinding]:
    """The worst finding of each metric of :data:`DIFFERENCES` about each released table."""
    found = []
    for name in DIFFERENCES:
        for metric in evaluation.of_stage(name, "synthetic"):
            said = metric.outcome.details.get("said") if isinstance(metric.outcome, Measure) else None
            if said:
                found.append(WorstFinding(name, said, metric.table))
    return found


def summary_of(run: FinishedRun, verdict: Verdict, created: str, acceptances: Sequence[Acceptance] = ()) -> FirstPage:
    """Build the plain-language summary; ``created`` is in ISO 8601, ``acceptances`` those of a review."""
    try:
        return _summary(run, verdict, created, acceptances)
    except DAMAGE:
        raise damaged(run.folder) from None


def _summary(run: FinishedRun, verdict: Verdict, created: str, acceptances: Sequence[Acceptance]) -> FirstPage:
    manifest = run.manifest
    facts = RunFacts(
        name=run.data_set,
        created=created[:10],
        owner=run.policy.owner,
        config=manifest["config"],
        table=TableFacts.from_json(manifest["table"]),
        anonymization=run.anonymization,
        private=manifest.get("differential_privacy", False),
        protected=manifest.get("protection"),
        tables=stated_tables(manifest),
    )
    if run.is_dp:
        return private_page(verdict.policy, facts)
    page = first_page(verdict, run.evaluation, facts)
    if verdict.status != "review" or not acceptances:
        return page
    names = (sentence("accepted.proof", who=one.by, proof=one.proof) if one.proof else one.by for one in acceptances)
    return replace(page, answer=sentence("answer.accepted", open=open_rules(verdict), names=tuple(names)))


def promise_of_run(run: FinishedRun) -> tuple[str, ...]:
    """Terms of differential privacy of a finished run; empty without ``privacy.mode: dp``."""
    return promise(run.manifest["config"], run.manifest.get("differential_privacy", False))


def metrics_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Values of an evaluation, without the details."""
    whole = [metric.to_json() for metric in evaluation.metrics]
    return [{key: entry[key] for key in (*METRIC_ENTRIES, "table") if key in entry} for entry in whole]


def facts_schema() -> dict[str, Any]:
    """JSON schema of ``facts.json``: of the certificate's entries, those that a release does not add."""
    text = files("hybrid.publication.signing").joinpath("certificate.schema.json").read_text("utf-8")
    whole: dict[str, Any] = json.loads(text)
    about = {key: whole["properties"][key] for key in (*ENTRIES, *OPTIONAL)}
    return {
        "$schema": whole["$schema"],
        "title": "Facts of a run",
        "description": "What went in, what was done, what was measured, who decided, and what came out of one run.",
        "type": "object",
        "required": list(ENTRIES),
        "properties": about,
        "additionalProperties": False,
    }
