"""Facts of a dossier that were measured: checks of the policy, attacks, baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hybrid.constraints.constraint import listed
from hybrid.publication.criteria import Criterion, criterion_of
from hybrid.publication.dossier.stated import Fact, Stated
from hybrid.publication.guarantee import WHITE_BOX
from hybrid.publication.lamps import Lamp
from hybrid.publication.power import POWER, accepted_sentences, not_tried
from hybrid.publication.private_words import NOT_COMPARED, NOT_PUBLISHED
from hybrid.publication.private_words import terms as terms_words
from hybrid.publication.rules.rule import text_of
from hybrid.publication.verdict import Check


def about(*criteria: Criterion) -> Callable[[Stated], Iterator[Fact]]:
    """Facts of every rule about some criteria."""

    def facts(stated: Stated) -> Iterator[Fact]:
        if stated.is_dp:
            yield Fact(NOT_PUBLISHED, stated.where("summary.not_attacked"))
            yield next(terms(stated))
            return
        found = [check for check in stated.checks if criterion_of(check.metric) in criteria]
        yield from (_checked(stated, check) for check in found if check.applies)
        yield from _not_applying(stated, found)
        judged = {check.metric for check in found}
        metrics = [one for one in stated.privacy_metrics if criterion_of(one["name"]) in criteria]
        others = [one for one in metrics if one["name"] not in judged and one["state"] == "ok"]
        yield from (_unjudged(stated, one) for one in others)
        if not others and not any(check.applies for check in found):
            yield Fact("No number was measured for this question.", stated.where("metrics"))

    return facts


def _checked(stated: Stated, check: Check) -> Fact:
    metric = f"metric {check.metric}, " if check.metric else ""
    return Fact(
        f"{check.rule}: {check.standing}. {check.message}", stated.where("verdict.checks", f"{metric}rule {check.rule}")
    )


def _unjudged(stated: Stated, one: Mapping[str, Any]) -> Fact:
    ends = "" if one["ci"] is None else f" (interval {text_of(one['ci'][0])} to {text_of(one['ci'][1])})"
    beside = "" if one["reference"] is None else f"; the reference is {text_of(one['reference'])}"
    name = " of ".join(filter(None, (one["name"], one.get("table"), one["column"])))
    text = f"{name}: {text_of(one['value'])}{ends}{beside}. No rule of the policy limits it."
    return Fact(text, stated.where("metrics", f"metric {one['name']}"))


def _not_applying(stated: Stated, checks: Sequence[Check]) -> Iterator[Fact]:
    names = [check.rule for check in checks if not check.applies]
    if names:
        yield Fact(f"Rules that do not apply to this table: {listed(names)}.", stated.where("verdict.checks"))


def in_short(*criteria: Criterion) -> Callable[[Stated], Iterator[Fact]]:
    """Answers to the questions of the first page."""

    def facts(stated: Stated) -> Iterator[Fact]:
        lamps = [lamp for lamp in map(Lamp.from_json, stated.summary["lamps"]) if lamp.criterion in criteria]
        for lamp in lamps:
            text = f"{lamp.question} {lamp.status.capitalize()}. {lamp.sentence}"
            yield Fact(text, stated.where("summary.lamps", f"criterion {lamp.criterion}"))
        if not lamps:
            yield Fact(f"{NOT_PUBLISHED} {NOT_COMPARED}", stated.where("summary.not_attacked"))

    return facts


def terms(stated: Stated) -> Iterator[Fact]:
    """Terms of differential privacy."""
    for sentence in terms_words(stated.config, claimed=bool(stated.content.get("differential_privacy"))):
        yield Fact(sentence, stated.where("differential_privacy"))


def other_rules(stated: Stated) -> Iterator[Fact]:
    """Rules about the intermediate table, earlier releases, roles and rows."""
    other = [check for check in stated.checks if check.metric is None and not check.rule.startswith(POWER)]
    yield from (_checked(stated, check) for check in other if check.applies)
    yield from _not_applying(stated, other)
    if not other:
        yield Fact("No such rule is stated.", stated.where("verdict.checks"))


def attacks(stated: Stated) -> Iterator[Fact]:
    """Measures of privacy that were made, and those without a result."""
    metrics = stated.privacy_metrics
    done = list(dict.fromkeys(one["name"] for one in metrics if one["state"] == "ok"))
    failed = [name for name in dict.fromkeys(one["name"] for one in metrics) if name not in done]
    if stated.is_dp:
        yield Fact(NOT_PUBLISHED, stated.where("summary.not_attacked"))
    elif done:
        yield Fact(f"{len(done)} measures of privacy were made on the table: {listed(done)}.", stated.where("metrics"))
    else:
        yield Fact("No attack on the table was measured.", stated.where("metrics"))
    if failed:
        yield Fact(f"Without a result: {listed(failed)}.", stated.where("metrics"))


def control(stated: Stated) -> Iterator[Fact]:
    """People who were kept apart, and the checks that compare with them."""
    if stated.is_dp:
        yield Fact(NOT_COMPARED, stated.where("summary.not_attacked"))
        return
    yield from (Fact(text, stated.where("summary.table")) for text in stated.summary["table"] if "kept apart" in text)
    compared = [check for check in stated.checks if check.excess is not None]
    if compared:
        text = (
            f"Checks that compare with people who are not in the data: {len(compared)}. What the table says of a "
            "group, it says of them too, so it is no part of these numbers."
        )
        yield Fact(text, stated.where("verdict.checks", "measured, excess, limit"))
    else:
        yield Fact("No check compares with people who are not in the data.", stated.where("verdict.checks"))


def planted(stated: Stated) -> Iterator[Fact]:
    """Leaks that were planted into copies of the table."""
    if stated.is_dp:
        yield Fact(NOT_PUBLISHED, stated.where("summary.not_attacked"))
        return
    leaks = [check for check in stated.checks if check.rule.startswith(POWER)]
    yield from (_checked(stated, check) for check in leaks if check.applies or check.accepted)
    said = [*accepted_sentences(stated.checks), not_tried(stated.checks)]
    yield from (Fact(text, stated.where("verdict.checks")) for text in said if text)
    if not any(check.applies for check in leaks):
        yield Fact("No leak was planted, so nothing says which leak the checks would notice.", stated.where("power"))


def model(stated: Stated) -> Iterator[Fact]:
    """Place of the trained model, and the attack of those who hold it."""
    found = [one for one in stated.content["metrics"] if one["name"] == WHITE_BOX and one["stage"] == "synthetic"]
    if stated.config["synthesize"].get("generator") == "none":
        yield Fact("No model was trained.", stated.where("config.synthesize"))
        return
    yield Fact("A model was trained on records of people. No release contains it.", stated.where("config.synthesize"))
    for one in found:
        if one["state"] == "ok":
            ends = "" if one["ci"] is None else f" (interval {one['ci'][0]:.2f} to {one['ci'][1]:.2f})"
            found_by = f"an AUC of {one['value']:.2f}{ends}; guessing has 0.5"
            text = f"An attacker who holds the model finds training people with {found_by}."
        else:
            text = "How well an attacker who holds the model finds training people was not measured."
        yield Fact(text, stated.where("metrics", f"metric {WHITE_BOX}"))
    if not found:
        yield Fact("Whether the model gives away people it learned from was not measured.", stated.where("metrics"))


def open_rules(stated: Stated) -> Iterator[Fact]:
    """Names of the rules that are not met, and of those that could not be judged."""
    found = {"Not met": ("block", "review"), "Could not be judged": ("not judged",)}
    for title, statuses in found.items():
        open_ = [check for check in stated.checks if check.decision != "pass" and check.status in statuses]
        names = list(dict.fromkeys(check.rule for check in open_))
        if names:
            yield Fact(f"{title}: {listed(names)}.", stated.where("verdict.checks"))


def unmet(stated: Stated) -> Iterator[Fact]:
    """Rules that are not met or could not be judged."""
    open_ = [check for check in stated.checks if check.decision != "pass"]
    yield from (_checked(stated, check) for check in open_)
    if not open_ and not stated.is_dp:
        yield Fact(stated.summary["answer"], stated.where("summary.answer"))
    if stated.is_dp:
        yield Fact(NOT_PUBLISHED, stated.where("verdict"))
