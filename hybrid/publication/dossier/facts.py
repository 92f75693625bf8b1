"""Facts of a dossier: first those that were measured, then how the table was made, for what, and who decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hybrid.anonymize.models import describe
from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import Sentence, sentence
from hybrid.publication.criteria import Criterion, criterion_of
from hybrid.publication.description.statement import accepted_words
from hybrid.publication.dossier.source import DossierSource, Fact
from hybrid.publication.guarantee import WHITE_BOX
from hybrid.publication.lamps import Lamp
from hybrid.publication.nature import made as made_words
from hybrid.publication.policy import NO_OWNER
from hybrid.publication.power import POWER, accepted_sentences, not_tried
from hybrid.publication.private_words import NOT_COMPARED, NOT_PUBLISHED
from hybrid.publication.private_words import account as account_words
from hybrid.publication.private_words import terms as terms_words
from hybrid.publication.table_facts import few
from hybrid.publication.verdict import Check
from hybrid.table import Role


def about(*criteria: Criterion) -> Callable[[DossierSource], Iterator[Fact]]:
    """Facts of every rule about some criteria."""

    def facts(source: DossierSource) -> Iterator[Fact]:
        if source.is_dp:
            yield Fact(NOT_PUBLISHED, source.where("summary.not_attacked"))
            yield next(terms(source))
            return
        found = [check for check in source.checks if criterion_of(check.metric) in criteria]
        yield from (_checked(source, check) for check in found if check.applies)
        yield from _not_applying(source, found)
        judged = {check.metric for check in found}
        metrics = [one for one in source.privacy_metrics if criterion_of(one["name"]) in criteria]
        others = [one for one in metrics if one["name"] not in judged and one["state"] == "ok"]
        yield from (_unjudged(source, one) for one in others)
        if not others and not any(check.applies for check in found):
            yield Fact("No number was measured for this question.", source.where("metrics"))

    return facts


def _checked(source: DossierSource, check: Check) -> Fact:
    metric = f"metric {check.metric}, " if check.metric else ""
    text = sentence("dossier.check", rule=check.rule, standing=check.standing, found=check.message)
    return Fact(text, source.where("verdict.checks", f"{metric}rule {check.rule}"))


def _unjudged(source: DossierSource, one: Mapping[str, Any]) -> Fact:
    text = _value(one, 4)
    if one["reference"] is not None:
        text = sentence("dossier.reference", found=text, n=float(one["reference"]))
    name = one["name"]
    for of in filter(None, (one.get("table"), one["column"])):
        name = sentence("dossier.of", name=name, of=of)
    text = sentence("dossier.unlimited", name=name, found=text)
    return Fact(text, source.where("metrics", f"metric {one['name']}"))


def _value(one: Mapping[str, Any], digits: int) -> Sentence:
    value, *ends = (round(float(number), digits) for number in (one["value"], *(one["ci"] or ())))
    return sentence("value.interval", n=value, low=ends[0], high=ends[1]) if ends else sentence("value", n=value)


def _not_applying(source: DossierSource, checks: Sequence[Check]) -> Iterator[Fact]:
    names = [check.rule for check in checks if not check.applies]
    if names:
        yield Fact(sentence("dossier.not_applying", rules=tuple(names)), source.where("verdict.checks"))


def in_short(*criteria: Criterion) -> Callable[[DossierSource], Iterator[Fact]]:
    """Answers to the questions of the first page."""

    def facts(source: DossierSource) -> Iterator[Fact]:
        lamps = [lamp for lamp in map(Lamp.from_json, source.summary["lamps"]) if lamp.criterion in criteria]
        for lamp in lamps:
            text = sentence("dossier.lamp", question=lamp.question, standing=lamp.status, found=lamp.sentence)
            yield Fact(text, source.where("summary.lamps", f"criterion {lamp.criterion}"))
        if not lamps:
            yield Fact(f"{NOT_PUBLISHED} {NOT_COMPARED}", source.where("summary.not_attacked"))

    return facts


def terms(source: DossierSource) -> Iterator[Fact]:
    """Terms of differential privacy."""
    for term in terms_words(source.config, claimed=bool(source.content.get("differential_privacy"))):
        yield Fact(term, source.where("differential_privacy"))


def other_rules(source: DossierSource) -> Iterator[Fact]:
    """Rules about the intermediate table, earlier releases, roles and rows."""
    other = [check for check in source.checks if check.metric is None and not check.rule.startswith(POWER)]
    yield from (_checked(source, check) for check in other if check.applies)
    yield from _not_applying(source, other)
    if not other:
        yield Fact("No such rule is stated.", source.where("verdict.checks"))


def attacks(source: DossierSource) -> Iterator[Fact]:
    """Measures of privacy that were made, and those without a result."""
    metrics = source.privacy_metrics
    done = list(dict.fromkeys(one["name"] for one in metrics if one["state"] == "ok"))
    failed = [name for name in dict.fromkeys(one["name"] for one in metrics) if name not in done]
    if source.is_dp:
        yield Fact(NOT_PUBLISHED, source.where("summary.not_attacked"))
    elif done:
        yield Fact(sentence("dossier.measures", n=len(done), names=tuple(done)), source.where("metrics"))
    else:
        yield Fact("No attack on the table was measured.", source.where("metrics"))
    if failed:
        yield Fact(sentence("dossier.no_result", names=tuple(failed)), source.where("metrics"))


def control(source: DossierSource) -> Iterator[Fact]:
    """People who were kept apart, and the checks that compare with them."""
    if source.is_dp:
        yield Fact(NOT_COMPARED, source.where("summary.not_attacked"))
        return
    yield from (Fact(text, source.where("summary.table")) for text in source.summary["table"] if "kept apart" in text)
    compared = [check for check in source.checks if check.excess is not None]
    if compared:
        text = sentence("dossier.compared", n=len(compared))
        yield Fact(text, source.where("verdict.checks", "measured, excess, limit"))
    else:
        yield Fact("No check compares with people who are not in the data.", source.where("verdict.checks"))


def planted(source: DossierSource) -> Iterator[Fact]:
    """Leaks that were planted into copies of the table."""
    if source.is_dp:
        yield Fact(NOT_PUBLISHED, source.where("summary.not_attacked"))
        return
    leaks = [check for check in source.checks if check.rule.startswith(POWER)]
    yield from (_checked(source, check) for check in leaks if check.applies or check.accepted)
    said = [*accepted_sentences(source.checks), not_tried(source.checks)]
    yield from (Fact(text, source.where("verdict.checks")) for text in said if text)
    if not any(check.applies for check in leaks):
        yield Fact("No leak was planted, so nothing says which leak the checks would notice.", source.where("power"))


def model(source: DossierSource) -> Iterator[Fact]:
    """Place of the trained model, and the attack of those who hold it."""
    found = [one for one in source.content["metrics"] if one["name"] == WHITE_BOX and one["stage"] == "synthetic"]
    if source.config["synthesize"].get("generator") == "none":
        yield Fact("No model was trained.", source.where("config.synthesize"))
        return
    yield Fact("A model was trained on records of people. No release contains it.", source.where("config.synthesize"))
    for one in found:
        unmeasured = "How well an attacker who holds the model finds training people was not measured."
        text = sentence("dossier.model", auc=_value(one, 2)) if one["state"] == "ok" else unmeasured
        yield Fact(text, source.where("metrics", f"metric {WHITE_BOX}"))
    if not found:
        yield Fact("Whether the model gives away people it learned from was not measured.", source.where("metrics"))


def open_rules(source: DossierSource) -> Iterator[Fact]:
    """Names of the rules that are not met, and of those that could not be judged."""
    found = {"dossier.not_met": ("block", "review"), "dossier.not_judged": ("not judged",)}
    for template, statuses in found.items():
        open_ = [check for check in source.checks if check.decision != "pass" and check.status in statuses]
        names = list(dict.fromkeys(check.rule for check in open_))
        if names:
            yield Fact(sentence(template, names=tuple(names)), source.where("verdict.checks"))


def unmet(source: DossierSource) -> Iterator[Fact]:
    """Rules that are not met or could not be judged."""
    open_ = [check for check in source.checks if check.decision != "pass"]
    yield from (_checked(source, check) for check in open_)
    if not open_ and not source.is_dp:
        yield Fact(source.summary["answer"], source.where("summary.answer"))
    if source.is_dp:
        yield Fact(NOT_PUBLISHED, source.where("verdict"))


def summary(entry: str) -> Callable[[DossierSource], Iterator[Fact]]:
    """Sentences of the summary."""

    def facts(source: DossierSource) -> Iterator[Fact]:
        yield from (Fact(text, source.where(f"summary.{entry}")) for text in source.summary[entry])

    return facts


def size(source: DossierSource) -> Iterator[Fact]:
    """Sentences of the summary about the table; of several, each with its rows."""
    yield from summary("table")(source)
    tables = source.content.get("tables") or ()
    if tables:
        each = tuple(sentence("dossier.table", name=one["name"], n=one["rows"]) for one in tables)
        yield Fact(sentence("dossier.tables", tables=each), source.where("tables"))


def rows(source: DossierSource) -> Iterator[Fact]:
    """Nature of the rows."""
    released = source.content.get("released")
    yield Fact("Not stated.") if released is None else Fact(released["words"], source.where("released"))


def made(source: DossierSource) -> Iterator[Fact]:
    """Steps that made the rows."""
    if source.anonymization is None and not source.is_dp:
        yield Fact("Nothing was anonymized.", source.where("anonymization"))
    for step in made_words(source.config, source.anonymization):
        yield Fact(step, source.where("config"))


def said(entry: str, title: str) -> Callable[[DossierSource], Iterator[Fact]]:
    """The publisher's own words."""

    def facts(source: DossierSource) -> Iterator[Fact]:
        found = source.said.get(entry) or ()
        for words in (found,) if isinstance(found, str) else found:
            where = "datapackage.json: statement" if source.is_release else "manifest.json: config.publish"
            yield Fact(sentence("dossier.said", title=title, words=words), f"{where}.{entry}")
        if not found:
            yield Fact(sentence("dossier.not_said", title=title))

    return facts


def uses(source: DossierSource) -> Iterator[Fact]:
    """Uses of the table, stated and excluded."""
    yield from said("uses", "For")(source)
    yield from said("limits_of_use", "Limits of use")(source)


def _columns_of(source: DossierSource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    tables = source.config.get("tables")
    for name, table in ({"": source.config} if tables is None else tables).items():
        yield from ((f"{name}.{column}" if name else column, about) for column, about in table["columns"].items())


def identifiers(source: DossierSource) -> Iterator[Fact]:
    """Columns that name a person."""
    names = [name for name, about in _columns_of(source) if about.get("role") == Role.IDENTIFIER]
    if not names:
        yield Fact("No column is marked as the name or number of a person.", source.where("config.columns"))
    elif (source.config.get("output") or {}).get("identifiers") == "drop":
        yield Fact(sentence("named.left_out", names=tuple(names)), source.where("config.output"))
    else:
        yield Fact(sentence("named.made_up", names=tuple(names)), source.where("config.columns"))


def columns(source: DossierSource) -> Iterator[Fact]:
    """Columns by role."""
    roles: dict[str, list[str]] = {}
    for name, about in _columns_of(source):
        roles.setdefault(str(about.get("role") or "undecided").replace("_", "-"), []).append(name)
    for role, names in roles.items():
        yield Fact(sentence("dossier.role", role=role, names=tuple(names)), source.where("config.columns"))


def kept_back(source: DossierSource) -> Iterator[Fact]:
    """Contents of the private zone, which no release holds."""
    text = sentence("dossier.kept_back" if source.is_release else "dossier.kept_back.run")
    yield Fact(text, source.where("files") if source.is_release else "")
    if source.is_release:
        yield Fact(sentence("dossier.seed", words=source.content["seed"]), source.where("seed"))
        yield Fact(sentence("dossier.source", words=source.content["source"]["about"]), source.where("source"))


def processing(source: DossierSource) -> Iterator[Fact]:
    """That records of people were processed, and who decided the roles."""
    yield Fact("Making the table processed records of people.", source.where("released"))
    yield from roles(source)


def anonymity(source: DossierSource) -> Iterator[Fact]:
    """Result of the anonymization, or the terms of differential privacy."""
    result, where = source.anonymization, source.where("anonymization")
    if source.is_dp:
        yield from terms(source)
    elif result is None:
        yield Fact("Nothing was anonymized.", where)
    else:
        yield from (Fact(text, where) for text in _anonymized(result))


def _anonymized(result: AnonymizationResult) -> Iterator[str]:
    if result.k_anonymous:
        unit = "records" if result.rows_are_persons else "people"
        yield sentence("dossier.k", k=result.k, n=result.smallest, unit=unit)
        yield from (sentence("dossier.model_held", model=describe(model)) for model in result.models)
    else:
        yield "The intermediate table is not k-anonymous."
    yield sentence("dossier.left_out", n=few(result.suppressed).capitalize(), of=few(result.records))
    for name, one in result.below.items():
        counts = {"n": few(one.suppressed), "of": few(one.records)}
        yield sentence("dossier.below", table=name, k=one.smallest, **counts)
    yield "None of this is promised of the released rows."


def described(source: DossierSource) -> Iterator[Fact]:
    """Entries that a catalogue needs."""
    yield from said("source", "Real records behind the table")(source)
    yield from said("license", "Licence")(source)
    yield from said("contact", "Contact")(source)


def guarantee(source: DossierSource) -> Iterator[Fact]:
    """Technical guarantee."""
    yield Fact(source.content["guarantee"], source.where("guarantee"))


def decisions(source: DossierSource) -> Iterator[Fact]:
    """Policy, decision, approvals, draw."""
    policy, where = source.content["policy"], source.where("policy")
    name, owner = f"{policy['name']} {policy['version']}", policy["owner"]
    if owner.startswith(NO_OWNER):
        yield Fact(sentence("limits.no_owner", policy=name), where)
    else:
        yield Fact(sentence("dossier.policy", policy=name, owner=owner), where)
    yield Fact(sentence("dossier.approvals", n=policy["approvals"]), where)
    if source.is_release or not source.is_dp:
        yield Fact(source.summary["answer"], source.where("summary.answer"))
    for one in source.content.get("acceptances", ()):
        given = {key: one.get(key) or "" for key in ("by", "reason", "proof")}
        words = accepted_words(given | {"on": str(one.get("at") or "")[:10]})
        yield Fact(sentence("accepted", words=words), source.where("acceptances"))
    if "draw" in source.content:
        yield Fact(sentence("dossier.draw", draw=source.content["draw"]["words"]), source.where("draw"))
    if not source.is_release:
        yield Fact(sentence("dossier.unpublished.private" if source.is_dp else "dossier.unpublished"))
    if source.withdrawn is not None:
        yield Fact(sentence("dossier.withdrawn", **source.withdrawn), "withdrawn.json")


def roles(source: DossierSource) -> Iterator[Fact]:
    """Person who decided what each column is."""
    roles = source.content.get("roles") or {}
    if roles.get("decided_by"):
        text = sentence("decided", who=roles["decided_by"], day=roles["date"])
        yield Fact(text, source.where("roles"))
    else:
        yield Fact(sentence("decided.nobody"), source.where("roles"))


def signature(source: DossierSource) -> Iterator[Fact]:
    """Key that signed the release."""
    signing = source.content.get("signing") or {}
    if signing:
        text = sentence("dossier.signed", key=signing["keyid"], scheme=signing["scheme"])
        yield Fact(text, source.where("signing"))
        yield Fact("Who that key belongs to was not checked here: hybrid verify DIR --key PUBLIC does so.")
    else:
        yield Fact("Nothing is signed.")


def unit(source: DossierSource) -> Iterator[Fact]:
    """Unit that differential privacy protects."""
    budget = source.content["differential_privacy"]
    where = source.where("differential_privacy")
    yield Fact(sentence("dossier.unit", unit=budget["unit"]), where)
    yield Fact(sentence("dossier.rows_per_person", n=budget["rows_per_person"]), where)


def account(source: DossierSource) -> Iterator[Fact]:
    """Account of the budget."""
    yield Fact(account_words(source.content["differential_privacy"]), source.where("differential_privacy.parts"))
