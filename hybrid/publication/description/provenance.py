"""``provenance.jsonld``: lineage of a release as W3C PROV-O.

Source: PROV-O: The PROV Ontology (W3C Recommendation, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid.publication.description.description import Description
from hybrid.publication.finished_run import EVALUATION, FinishedRun

CONTEXT = {
    "prov": "http://www.w3.org/ns/prov#",
    "dct": "http://purl.org/dc/terms/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
WORDS = {
    "protect": "replaces values that few people have",
    "anonymize": "makes quasi-identifiers coarser, or puts other values in their place",
    "sample": "draws records",
    "transition": "gives every coarse or changed value an exact one",
    "synthesize": "learns from the records and writes rows",
}


def provenance(about: Description, run: FinishedRun, source_tag: str, approvers: Sequence[str]) -> dict[str, Any]:
    """Lineage of a release as JSON-LD: entities, activities and agents.

    ``source_tag`` (keyed tag of the source) and ``approvers`` are those of the certificate.
    """
    steps = _steps(run.manifest["config"])
    source = _node("#source", "Entity", "source", {} if run.is_dp else {"dct:identifier": source_tag})
    measured = "#measurements" if run.is_dp else EVALUATION
    software = _node("#software", "SoftwareAgent", about.software, {})
    people = _people(run, approvers)
    graph = [source, software, *people.values()]
    before = "#source"
    for step in steps[:-1]:
        after = f"#after-{step}"
        graph.append(_activity(step, WORDS[step], before))
        graph.append(_node(after, "Entity", after.removeprefix("#"), _made(step, before)))
        before = after
    graph.append(_activity(steps[-1], WORDS[steps[-1]], before))
    tables = [table.file for table in about.tables if not table.public]
    graph += [_node(table.file.name, "Entity", table.file.name, {}) for table in about.tables if table.public]
    for file in tables:
        identified = _made(steps[-1], before) | {"dct:identifier": f"sha256:{file.sha256}"}
        graph.append(_node(file.name, "Entity", file.name, identified))
    graph.append(_activity("evaluate", "measures privacy, utility and fidelity", *(file.name for file in tables)))
    label = "measurements, kept by the operator" if run.is_dp else EVALUATION
    graph.append(_node(measured, "Entity", label, _made("evaluate", *(file.name for file in tables))))
    decided = {"prov:wasAssociatedWith": [{"@id": key} for key in ("#software", *people)]}
    judged = _activity("judge", f"applies the policy {run.policy.name} {run.policy.version}", measured) | decided
    release = {
        **_when(about.created),
        "prov:hadMember": [{"@id": name} for name in (*(table.file.name for table in about.tables), EVALUATION)],
        **_made("judge", "#source"),
    }
    graph += [judged, _node("./", "Collection", about.release, release)]
    return {"@context": CONTEXT | ({} if about.base is None else {"@base": about.base}), "@graph": graph}


def _when(created: str) -> dict[str, Any]:
    """Time of the release; the day alone has another term."""
    if "T" in created:
        return {"prov:generatedAtTime": {"@type": "xsd:dateTime", "@value": created}}
    return {"dct:issued": {"@type": "xsd:date", "@value": created}}


def _steps(config: Mapping[str, Any]) -> list[str]:
    transition = config.get("transition") or {}
    late = transition.get("order") == "post"
    last = ["synthesize", "transition"] if late else ["transition", "synthesize"]
    first = (config.get("sample") or {}).get("order") == "pre"
    order = ["protect", *(["sample", "anonymize"] if first else ["anonymize", "sample"]), *last]
    on = {
        "protect": isinstance(config.get("protect"), Mapping),
        "anonymize": bool(config.get("anonymize")),
        "sample": (config.get("sample") or {}).get("method") not in (None, "none"),
        "transition": bool(transition),
        "synthesize": (config.get("synthesize") or {}).get("generator") != "none",
    }
    return [step for step in order if on[step]] or ["sample"]


def _people(run: FinishedRun, approvers: Sequence[str]) -> dict[str, dict[str, Any]]:
    decided_by = (run.manifest.get("roles") or {}).get("decided_by")
    named = [("#roles", decided_by, "decided the roles of the columns")]
    named += [("#owner", run.policy.owner, "owns the policy")]
    named += [(f"#approver-{at}", name, "accepted a review") for at, name in enumerate(approvers, 1)]
    return {key: _node(key, "Agent", name, {"dct:description": what}) for key, name, what in named if name}


def _node(key: str, kind: str, label: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"@id": key, "@type": f"prov:{kind}", "rdfs:label": label, **more}


def _activity(step: str, words: str, *used: str) -> dict[str, Any]:
    links = {"prov:used": _ids(used), "prov:wasAssociatedWith": {"@id": "#software"}}
    return _node(f"#{step}", "Activity", f"{step}: {words}", links)


def _made(step: str, *before: str) -> dict[str, Any]:
    return {"prov:wasGeneratedBy": {"@id": f"#{step}"}, "prov:wasDerivedFrom": _ids(before)}


def _ids(keys: Sequence[str]) -> Any:
    found = [{"@id": key} for key in keys]
    return found[0] if len(found) == 1 else found
