"""First page of a report and of a certificate, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import Fact, sentence, sentences
from hybrid.base.words import text_of
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, NotComputable
from hybrid.publication.criteria import criterion_of
from hybrid.publication.gate import ALL_ROWS, LIKE_FOLDS, first_page_sentences, folds_of
from hybrid.publication.lamps import Lamp, lamps
from hybrid.publication.policy import NO_OWNER
from hybrid.publication.power import POWER, accepted_sentences, not_tried
from hybrid.publication.private_words import NOT_COMPARED, NOT_PUBLISHED, decision, guarantee, is_dp, terms
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import StatedTable, TableFacts, rounded
from hybrid.publication.unfit import models_to_leave, unfit
from hybrid.publication.verdict import Check, Verdict, proven
from hybrid.sample import SampleOptions


@dataclass(frozen=True)
class RunFacts:
    """Facts beside the verdict that the first page states."""

    name: str
    created: str
    """Name of the run; its day (ISO 8601)."""
    owner: str
    """Who answers for the policy."""
    config: Mapping[str, Any]
    """The configuration as resolved (JSON types)."""
    table: TableFacts
    """Counts and columns."""
    anonymization: AnonymizationResult | None = None
    """How the intermediate table was made; None if nothing was anonymized."""
    private: bool = False
    """Whether differential privacy is claimed."""
    protected: Mapping[str, Any] | None = None
    """``min_count`` of the protection of values, and the method of each column (JSON types); None where it is off."""
    tables: tuple[StatedTable, ...] = ()
    """Released tables, where there are several linked ones."""


@dataclass(frozen=True)
class FirstPage:
    """Sentences of the first page."""

    answer: str
    """Meaning of the verdict."""
    table: tuple[str, ...]
    decided: tuple[str, ...]
    protection: tuple[str, ...]
    """What the table is; who answers for what; what was done to protect people. Empty for files that were audited."""
    lamps: tuple[Lamp, ...]
    """One per criterion."""
    not_attacked: tuple[str, ...]
    """What was not tried."""
    promise: tuple[str, ...] = ()
    """Terms of differential privacy, where the configuration asks for it."""
    unsettled: tuple[str, ...] = ()
    """What people have not decided yet, and must before anyone signs; nothing of a table that must not leave."""
    not_for: tuple[str, ...] = ()
    """What the table must not be used for; nothing of a table that must not leave."""

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)


def first_page(verdict: Verdict, evaluation: Evaluation, facts: RunFacts | None = None) -> FirstPage:
    """Write the first page.

    Parameters
    ----------
    facts : RunFacts or None
        None for files that were audited, of whose making nothing is known.
    """
    return FirstPage(
        answer=answer(verdict),
        table=() if facts is None else tuple(_table(facts)),
        decided=() if facts is None else tuple(_decided(facts, verdict.policy, verdict.checks)),
        protection=()
        if facts is None
        else tuple(protection(facts.table, facts.config, facts.anonymization, facts.private, facts.protected)),
        lamps=lamps(verdict),
        not_attacked=(*not_attacked(evaluation), *filter(None, [not_tried(verdict.checks)])),
        promise=() if facts is None else promise(facts.config, facts.private),
        unsettled=() if facts is None or verdict.status == "block" else tuple(_unsettled(facts, verdict.policy)),
        not_for=()
        if verdict.status == "block"
        else (*unfit(verdict.open_checks, () if facts is None else _uses(facts)), *models_to_leave(evaluation)),
    )


def _uses(facts: RunFacts) -> Sequence[str]:
    """Uses that the publisher states."""
    return (facts.config.get("publish") or {}).get("uses") or ()


def private_page(policy: str, facts: RunFacts) -> FirstPage:
    """Write the first page about a differentially private table.

    It states no verdict and no count of records.

    Parameters
    ----------
    facts : RunFacts
        Of them the configuration, the size of the released table, and who decided.
    """
    return FirstPage(
        answer=decision("" if facts.owner.startswith(NO_OWNER) else facts.owner, policy),
        table=(_size(facts),),
        decided=tuple(_decided(facts, policy)),
        protection=(
            *protection(facts.table, facts.config, None, facts.private),
            *guarantee(facts.config),
        ),
        lamps=(),
        not_attacked=(NOT_PUBLISHED, NOT_COMPARED),
        promise=promise(facts.config, facts.private),
        unsettled=tuple(_unsettled(facts, policy)),
    )


def promise(config: Mapping[str, Any], claimed: bool) -> tuple[str, ...]:
    """Terms of differential privacy; nothing for a configuration without ``privacy.mode: dp``."""
    return tuple(terms(config, claimed)) if is_dp(config) else ()


def answer(verdict: Verdict) -> str:
    """Meaning of a verdict, for the person who decides."""
    match verdict.status:
        case "pass":
            accepts = any(check.accepted for check in verdict.checks)
            smaller = sentence("answer.pass.accepted") if accepts else ""
            return sentences(sentence("answer.pass"), *about(verdict), smaller)
        case "block":
            return sentences(sentence("answer.block"), *about(verdict))
        case "review":
            return sentences(*about(verdict), sentence("answer.review", open=open_rules(verdict)))


Concern = Literal["people", "unknown", "use", "making"]
"""Subject of a review: a leak beyond chance, a rule about people without one, what the table keeps, how it was made."""


def concern(verdict: Verdict) -> Concern | None:
    """The gravest concern of a verdict; None where every rule is met."""
    people, use, making = _open_of(verdict)
    if people:
        return "people" if proven(people) else "unknown"
    if use:
        return "use"
    return "making" if making else None


def about(verdict: Verdict) -> Iterator[str]:
    """Sentences on the people in the data, and then on the use: readers decide differently on these."""
    people, use, making = _open_of(verdict)
    above = sum(check.is_above_by_chance for check in verdict.checks if _is_about_people(check))
    unjudged = sum(check.status == "not judged" for check in people)
    if sure := sum(map(len, proven(people).values())):
        yield sentence("people.proven", n=sure)
    elif len(people) > unjudged:
        yield sentence("people.not_met", n=len(people) - unjudged)
    elif unjudged:
        yield sentence("people.unjudged", n=unjudged)
    elif above:
        yield sentence("people.above", n=above)
    elif any(check.excess is not None and criterion_of(check.metric) is not None for check in verdict.checks):
        yield sentence("people.none")
    failed = sum(check.status != "not judged" for check in use)
    if use:
        yield sentence("use.open", n=failed) if failed else sentence("use.unjudged", n=len(use))
    if making and verdict.status == "review":
        yield sentence("making.open", n=len(making))


def _open_of(verdict: Verdict) -> tuple[list[Check], list[Check], list[Check]]:
    """Open rules: about people, about what the table keeps, and about how it was made."""
    people = [check for check in verdict.open_checks if _is_about_people(check)]
    others = [check for check in verdict.open_checks if not _is_about_people(check)]
    return (
        people,
        [one for one in others if one.metric in REGISTRY],
        [one for one in others if one.metric not in REGISTRY],
    )


def _is_about_people(check: Check) -> bool:
    """A rule about an attack, about leaks that it may miss or rows that it did not see, or about repeated people."""
    return criterion_of(check.metric) is not None or check.rule.startswith((LIKE_FOLDS, POWER, ALL_ROWS))


def open_rules(verdict: Verdict) -> str:
    """Number of rules that are not met or were not judged."""
    unknown = sum(check.status == "not judged" for check in verdict.open_checks)
    failed = len(verdict.open_checks) - unknown
    if failed and unknown:
        return sentence("open.both", n=failed, unknown=unknown)
    if failed:
        return sentence("open.failed", n=failed)
    return sentence("open.unknown", n=unknown) if unknown else sentence("open.none")


def not_attacked(evaluation: Evaluation) -> Iterator[str]:
    """Attacks on the released table that were not made."""
    measured = {
        metric.name: metric.outcome
        for metric in evaluation.metrics
        if metric.stage == "synthetic" and metric.family == "privacy" and isinstance(metric.outcome, Measure)
    }
    if not measured:
        yield sentence("not_attacked.at_all")
        return
    yield sentence("not_attacked.program")
    if not any({"retraining", "trainings"} & set(REGISTRY[name].needs) for name in measured if name in REGISTRY):
        found = evaluation.find("membership_trained", "synthetic")
        reason = found.outcome.reason if found is not None and isinstance(found.outcome, NotComputable) else ""
        yield sentence("not_attacked.repeats.why", reason=reason) if reason else sentence("not_attacked.repeats")
    sampled = [outcome.details["sampled"].get("train") for outcome in measured.values() if "sampled" in outcome.details]
    if fewest := min(filter(None, sampled), key=lambda records: records["records"], default=None):
        yield sentence("not_attacked.sampled", n=float(fewest["records"]), of=float(fewest["of"]))
    yield sentence("not_attacked.joined")


def _table(facts: RunFacts) -> Iterator[str]:
    if facts.tables:
        yield from _tables(facts)
        return
    table = facts.table
    yield _size(facts)
    whole = None if facts.anonymization is None or facts.anonymization.drawn is None else facts.anonymization.records
    if whole is None:
        yield sentence("made_from", n=float(table.records))
    else:
        yield sentence("made_from.drawn", n=float(table.records), of=float(rounded(whole)))
    learned = [] if table.learned is None else [sentence("learned_from", n=float(table.learned))]
    if (folds := folds_of(facts.config)) is not None:
        yield from (*learned, *first_page_sentences(folds, sampled=_is_sampled(facts.config)))
        return
    if table.control:
        yield sentence("kept_apart", n=float(table.control))
    else:
        yield sentence("kept_apart.none")
    yield from learned


def _is_sampled(config: Mapping[str, Any]) -> bool:
    return SampleOptions.model_validate(config.get("sample") or {}).effective.method != "none"


def _size(facts: RunFacts) -> str:
    table = facts.table
    size: dict[str, Fact] = {"rows": _about(table.rows), "columns": table.columns}
    return sentence("size", **size, day=facts.created, name=facts.name)


def _tables(facts: RunFacts) -> Iterator[str]:
    yield sentence("tables", n=len(facts.tables), day=facts.created, name=facts.name)
    for table in facts.tables:
        size = sentence("tables.size", table=table.name, rows=_about(table.rows), columns=len(table.columns))
        yield sentences(size, sentence("tables.public") if table.public else "")
    yield sentence("tables.made_from", n=float(facts.table.records))
    if (folds := folds_of(facts.config)) is not None:
        yield from first_page_sentences(folds, sampled=_is_sampled(facts.config))
    elif facts.table.control:
        yield sentence("tables.kept_apart", n=float(facts.table.control))
    else:
        yield sentence("tables.kept_apart.none")


def _decided(facts: RunFacts, policy: str, checks: Sequence[Check] = ()) -> Iterator[str]:
    if facts.owner.startswith(NO_OWNER):
        yield sentence("limits.no_owner", policy=policy)
    else:
        yield sentence("limits", policy=policy, owner=facts.owner)
    yield from accepted_sentences(checks)
    if roles := facts.config.get("roles"):
        yield sentence("decided", who=str(roles["decided_by"]), day=str(roles["date"]))


def _unsettled(facts: RunFacts, policy: str) -> Iterator[str]:
    if facts.owner.startswith(NO_OWNER):
        yield sentence("unsettled.owner", policy=policy)
    if "roles" in facts.config and facts.config["roles"] is None:
        yield sentence("unsettled.roles")


def _about(number: int) -> str:
    text = text_of(number)
    return text if text == f"{number:,}" else sentence("count.about", n=float(number))
