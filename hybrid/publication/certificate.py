"""Certificate of a release: guarantees, metrics, decisions, hashes of all files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hybrid.evaluation.measure import Evaluation
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.first_page import FirstPage, RunFacts, first_page, open_rules, private_page, promise
from hybrid.publication.gate import DrawNumber
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.nature import is_synthetic, nature
from hybrid.publication.power import not_tried
from hybrid.publication.private_words import SEED_NOTE as PRIVATE_SEED_NOTE
from hybrid.publication.private_words import SOURCE_NOTE, WITHHELD, unit_words
from hybrid.publication.protection_words import listed
from hybrid.publication.redact import public_anonymization, public_config
from hybrid.publication.table_facts import TableFacts, stated_tables
from hybrid.publication.verdict import Verdict

FORMAT = 1
METRIC_ENTRIES = ("name", "family", "stage", "column", "direction", "value", "ci", "reference", "n", "state")
SEED_NOTE = "withheld: with the seed the draws could be repeated, and a guess of the source confirmed"
DATA_NOTE = "HMAC-SHA256 of the source under a key that only the publisher has"


@dataclass(frozen=True)
class Acceptance:
    """Acceptance of a review: by whom, and why."""

    by: str
    reason: str
    at: str = ""
    """UTC, ISO 8601."""
    proof: str = ""
    """Key that signed it, or that the name was not proven."""


def build_certificate(
    run: FinishedRun,
    *,
    release: str,
    created: str,
    verdict: Verdict,
    draw: DrawNumber,
    acceptances: Sequence[Acceptance],
    data_tag: str,
    release_tag: str,
    files: Mapping[str, Mapping[str, Any]],
    signing: Mapping[str, str],
) -> dict[str, Any]:
    """Build the content of ``certificate.json``.

    Parameters
    ----------
    run : FinishedRun
        What is published.
    release, created : str
        Name of the release's folder; when it was made (UTC, ISO 8601), of a private table the day alone.
    verdict, acceptances
        What the gate said, and who accepted a review.
    draw : DrawNumber
        Number of the draw at which the verdict was reached.
    data_tag, release_tag : str
        As :mod:`hybrid.publication.key` gives them.
    files : mapping
        ``{"sha256", "bytes"}`` of every other file of the release.
    signing : mapping
        As :func:`hybrid.publication.signing.envelope.signing_entry` gives it.

    Returns
    -------
    dict
        Of JSON types; ``checksum`` is that of all other entries. It detects accidents only; the signed statement,
        which holds the same content, detects tampering.
    """
    policy, config = run.policy, run.manifest["config"]
    content = {
        "format": FORMAT,
        "release": release,
        "name": run.manifest.get("name"),
        "created": created,
        "released": {"synthetic": is_synthetic(config), "words": nature(config)},
        "summary": summary_of(run, verdict, created, acceptances).to_json(),
        "verdict": verdict.to_json(),
        "draw": asdict(draw) | {"words": draw.words},
        "policy": {
            "name": policy.name,
            "version": policy.version,
            "owner": policy.owner,
            "sha256": policy.sha256,
            "approvals": policy.approvals,
        },
        "acceptances": [asdict(acceptance) for acceptance in acceptances],
        "roles": run.manifest.get("roles"),
        "guarantee": guarantee_sentence(
            run.anonymization,
            run.manifest["config"],
            run.evaluation,
            private=run.manifest.get("differential_privacy", False),
        ),
        "explanation": run.manifest.get("explanation"),
        "anonymization": None if run.anonymization is None else public_anonymization(run.anonymization),
        "power": None if run.power is None else run.power.to_json() | {"not_tried": not_tried(verdict.checks)},
        "metrics": metrics_of(run.evaluation),
        "config": public_config(run.manifest["config"]),
        "seed": SEED_NOTE,
        "source": {"tag": data_tag, "about": DATA_NOTE, "fingerprint": WITHHELD},
        "release_tag": release_tag,
        "code": {key: run.manifest.get(key) for key in ("packages", "python", "git")},
        **_tables(run.manifest),
        "files": {name: dict(about) for name, about in sorted(files.items())},
        "signing": dict(signing),
    }
    plain: dict[str, Any] = json.loads(json.dumps(_private(content, run) if run.is_dp else content))
    return plain | {"checksum": checksum(plain)}


def _private(content: Mapping[str, Any], run: FinishedRun) -> dict[str, Any]:
    """Remove from a certificate all that records decide without noise.

    What remains follows from the table, the account of its budget and the configuration. Which verdict let it out,
    after how many draws and by whose approval, stays with the operator: approvals give reasons, and a verdict is a
    measurement. Equal tags of the source would tell that no record had changed.
    """
    kept = {key: value for key, value in content.items() if key != "draw"}
    budget = run.manifest["privacy_budget"]
    return kept | {
        "verdict": {"status": WITHHELD, "policy": content["verdict"]["policy"], "checks": []},
        "decided": {"by": run.policy.owner, "words": content["summary"]["answer"]},
        "acceptances": [],
        "power": None,
        "metrics": [],
        "differential_privacy": {"unit": unit_words(run.manifest["config"]), **budget},
        "seed": PRIVATE_SEED_NOTE,
        "source": {"tag": WITHHELD, "about": SOURCE_NOTE, "fingerprint": WITHHELD},
        "release_tag": WITHHELD,
        "roles": _decision(content["roles"]),
    }


def _decision(roles: Mapping[str, Any] | None) -> dict[str, Any] | None:
    # What the columns look like was read in the records: only name and date are public.
    return None if roles is None else {key: roles.get(key) for key in ("decided_by", "date")}


def _tables(manifest: Mapping[str, Any]) -> dict[str, Any]:
    found = [{"name": one.name, "file": one.file, "rows": one.rows} for one in stated_tables(manifest)]
    return {"tables": found} if found else {}


def summary_of(run: FinishedRun, verdict: Verdict, created: str, acceptances: Sequence[Acceptance] = ()) -> FirstPage:
    """Build the plain-language summary; ``created`` is in ISO 8601, ``acceptances`` those of a review."""
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
    names = listed([f"{one.by} ({one.proof})" if one.proof else one.by for one in acceptances])
    return replace(page, answer=f"{open_rules(verdict)} Accepted by name all the same: {names}.")


def promise_of_run(run: FinishedRun) -> tuple[str, ...]:
    """Terms of differential privacy of a finished run; empty without ``privacy.mode: dp``."""
    return promise(run.manifest["config"], run.manifest.get("differential_privacy", False))


def metrics_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Values of an evaluation, without the details."""
    whole = [metric.to_json() for metric in evaluation.metrics]
    return [{key: entry[key] for key in (*METRIC_ENTRIES, "table") if key in entry} for entry in whole]


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of a certificate without its entry ``checksum``, as canonical JSON (sorted keys, no spaces)."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
