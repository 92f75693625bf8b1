"""Facts of a dossier that were stated: how the table was made, for what, and who decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hybrid.anonymize.models import describe
from hybrid.anonymize.result import AnonymizationResult
from hybrid.constraints.constraint import named
from hybrid.publication.description.statement import accepted_words
from hybrid.publication.dossier.checked import terms
from hybrid.publication.dossier.stated import Fact, Stated
from hybrid.publication.nature import made as made_words
from hybrid.publication.private_words import account as account_words
from hybrid.publication.table_facts import few
from hybrid.table import Role


def sentences(entry: str) -> Callable[[Stated], Iterator[Fact]]:
    """Sentences of the summary."""

    def facts(stated: Stated) -> Iterator[Fact]:
        yield from (Fact(text, stated.where(f"summary.{entry}")) for text in stated.summary[entry])

    return facts


def rows(stated: Stated) -> Iterator[Fact]:
    """Nature of the rows."""
    released = stated.content.get("released")
    yield Fact("Not stated.") if released is None else Fact(released["words"], stated.where("released"))


def made(stated: Stated) -> Iterator[Fact]:
    """Steps that made the rows."""
    if stated.anonymization is None and not stated.is_dp:
        yield Fact("Nothing was anonymized.", stated.where("anonymization"))
    for sentence in made_words(stated.config, stated.anonymization):
        yield Fact(sentence, stated.where("config"))


def said(entry: str, title: str) -> Callable[[Stated], Iterator[Fact]]:
    """The publisher's own words."""

    def facts(stated: Stated) -> Iterator[Fact]:
        found = stated.said.get(entry) or ()
        for words in (found,) if isinstance(found, str) else found:
            where = "datapackage.json: statement" if stated.is_release else "manifest.json: config.publish"
            yield Fact(f"{title}: {words}", f"{where}.{entry}")
        if not found:
            yield Fact(f"{title}: the publisher has not stated it.")

    return facts


def uses(stated: Stated) -> Iterator[Fact]:
    """Uses of the table, stated and excluded."""
    yield from said("uses", "For")(stated)
    yield from said("limits_of_use", "Limits of use")(stated)


def _columns_of(stated: Stated) -> Iterator[tuple[str, Mapping[str, Any]]]:
    tables = stated.config.get("tables")
    for name, table in ({"": stated.config} if tables is None else tables).items():
        yield from ((f"{name}.{column}" if name else column, about) for column, about in table["columns"].items())


def identifiers(stated: Stated) -> Iterator[Fact]:
    """Columns that name a person."""
    names = [name for name, about in _columns_of(stated) if about.get("role") == Role.IDENTIFIER]
    if not names:
        yield Fact("No column is marked as the name or number of a person.", stated.where("config.columns"))
    elif (stated.config.get("output") or {}).get("identifiers") == "drop":
        yield Fact(f"Columns that name a person were left out: {named(names)}.", stated.where("config.output"))
    else:
        yield Fact(f"Columns that name a person hold made-up values: {named(names)}.", stated.where("config.columns"))


def columns(stated: Stated) -> Iterator[Fact]:
    """Columns by role."""
    roles: dict[str, list[str]] = {}
    for name, about in _columns_of(stated):
        roles.setdefault(str(about.get("role") or "undecided").replace("_", "-"), []).append(name)
    for role, names in roles.items():
        yield Fact(f"Role {role}: {named(names)}.", stated.where("config.columns"))


def kept_back(stated: Stated) -> Iterator[Fact]:
    """Contents of the private zone, which no release holds."""
    what = "A release holds" if stated.is_release else "A release of this run would hold"
    text = f"{what} no model, no seed and no key. These stay with the operator."
    yield Fact(text, stated.where("files") if stated.is_release else "")
    if stated.is_release:
        yield Fact(f"Seed: {stated.content['seed']}.", stated.where("seed"))
        yield Fact(f"Source: {stated.content['source']['about']}.", stated.where("source"))


def processing(stated: Stated) -> Iterator[Fact]:
    """That records of people were processed, and who decided the roles."""
    yield Fact("Making the table processed records of people.", stated.where("released"))
    yield from roles(stated)


def anonymity(stated: Stated) -> Iterator[Fact]:
    """Result of the anonymization, or the terms of differential privacy."""
    result, where = stated.anonymization, stated.where("anonymization")
    if stated.is_dp:
        yield from terms(stated)
    elif result is None:
        yield Fact("Nothing was anonymized.", where)
    else:
        yield from (Fact(text, where) for text in _anonymized(result))


def _anonymized(result: AnonymizationResult) -> Iterator[str]:
    if result.k_anonymous:
        unit = "records" if result.rows_are_persons else "people"
        smallest = f"its smallest group has {result.smallest} {unit}"
        yield f"The intermediate table is k-anonymous with k = {result.k}: {smallest}."
        yield from (f"It also has {describe(model)}." for model in result.models)
    else:
        yield "The intermediate table is not k-anonymous."
    yield f"{few(result.suppressed).capitalize()} of {few(result.records)} records were left out."
    yield "None of this is promised of the released rows."


def described(stated: Stated) -> Iterator[Fact]:
    """Entries that a catalogue needs."""
    yield from said("source", "Real records behind the table")(stated)
    yield from said("license", "Licence")(stated)
    yield from said("contact", "Contact")(stated)


def guarantee(stated: Stated) -> Iterator[Fact]:
    """Technical guarantee."""
    yield Fact(stated.content["guarantee"], stated.where("guarantee"))


def decisions(stated: Stated) -> Iterator[Fact]:
    """Policy, decision, approvals, draw."""
    policy, where = stated.content["policy"], stated.where("policy")
    yield Fact(f"Policy {policy['name']} {policy['version']}, owner: {policy['owner']}.", where)
    yield Fact(f"People who must accept a review under this policy: {policy['approvals']}.", where)
    if stated.is_release or not stated.is_dp:
        yield Fact(stated.summary["answer"], stated.where("summary.answer"))
    for one in stated.content.get("acceptances", ()):
        given = {key: str(one.get(key) or "") for key in ("by", "reason", "proof")}
        words = accepted_words(given | {"on": str(one.get("at") or "")[:10]})
        yield Fact(f"Accepted by {words}", stated.where("acceptances"))
    if "draw" in stated.content:
        yield Fact(f"Judged as the {stated.content['draw']['words']}.", stated.where("draw"))
    if not stated.is_release:
        private, other = "The operator's report has its verdict.", "Publishing judges it with all earlier releases."
        rest = private if stated.is_dp else other
        yield Fact(f"The run is not published. {rest}")
    if stated.withdrawn:
        yield Fact(f"The release was withdrawn on {stated.withdrawn}", "withdrawn.json")


def roles(stated: Stated) -> Iterator[Fact]:
    """Person who decided what each column is."""
    roles = stated.content.get("roles") or {}
    if roles.get("decided_by"):
        text = f"{roles['decided_by']} decided what each column is, on {roles['date']}."
        yield Fact(text, stated.where("roles"))
    else:
        yield Fact("Nobody has put a name to what each column is.", stated.where("roles"))


def signature(stated: Stated) -> Iterator[Fact]:
    """Key that signed the release."""
    signing = stated.content.get("signing") or {}
    if signing:
        text = f"The release is signed by key {signing['keyid']} ({signing['scheme']})."
        yield Fact(text, stated.where("signing"))
        yield Fact("Who that key belongs to was not checked here: hybrid verify DIR --key PUBLIC does so.")
    else:
        yield Fact("Nothing is signed.")


def unit(stated: Stated) -> Iterator[Fact]:
    """Unit that differential privacy protects."""
    budget = stated.content["differential_privacy"]
    where = stated.where("differential_privacy")
    yield Fact(f"Protected unit: {budget['unit']}.", where)
    yield Fact(f"Rows of one person that are used: at most {budget['rows_per_person']}.", where)


def account(stated: Stated) -> Iterator[Fact]:
    """Account of the budget."""
    yield Fact(account_words(stated.content["differential_privacy"]), stated.where("differential_privacy.parts"))
