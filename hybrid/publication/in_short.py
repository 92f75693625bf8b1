"""Findings in short, for the page that people decide by: what was found, and what is allowed.

The details of a report state each finding in full: with its interval, its scale, and the end that was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hybrid.base.sentence import Fact, Sentence, sentence, sentences
from hybrid.publication.verdict import Check

_AROUND = {
    "score.low_end": "score",
    "score.high_end": "score",
    "score.scale": "score",
    "excess.repeated": "found",
    "excess.away": "found",
}
"""Templates that say more of a number, and the place in which it stands."""


def in_short(check: Check) -> str:
    """The finding of a check without interval, scale and judged end; as it is where it has none of these."""
    return _short(check.found, check.metric)


def _short(found: Fact, metric: str | None) -> str:
    if not isinstance(found, Sentence):
        return str(found)
    facts = found.facts
    if found.template == "then" and isinstance(parts := facts["parts"], tuple):
        return sentences(_short(parts[0], metric), *parts[1:])
    if found.template == "about":
        return sentence("about", place=facts["place"], found=_short(facts["found"], metric))
    if found.template == "proven":
        return sentence("short.proven", **{name: facts[name] for name in ("n", "of", "times")})
    if not found.template.startswith("allowed."):
        return found
    number = facts["found"]
    while isinstance(number, Sentence) and number.template in _AROUND:
        number = number.facts[_AROUND[number.template]]
    if not isinstance(number, Sentence):
        return found
    write = _OF_METRICS.get(metric or "") or _OF_NUMBERS.get(number.template)
    return (write and write(number.facts, facts["limit"])) or found


def _said(facts: Mapping[str, Fact], limit: Fact) -> str:  # noqa: ARG001 - as all of them
    return sentence("short.said", said=facts["said"])


def _more(facts: Mapping[str, Fact], limit: Fact) -> str:
    return sentence("short.more", n=facts["n"], limit=limit)


def _fewer(facts: Mapping[str, Fact], limit: Fact) -> str:
    return sentence("short.fewer", n=facts["n"], limit=limit)


def _right_answers(facts: Mapping[str, Fact], limit: Fact) -> str:
    return sentence("short.right_answers", **{name: facts[name] for name in ("n", "most", "guessing")}, limit=limit)


def _prediction(facts: Mapping[str, Fact], limit: Fact) -> str:  # noqa: ARG001 - as all of them
    score = facts.get("score")
    if not isinstance(score, Sentence) or "n" not in score.facts:
        return ""
    return sentence("short.prediction", n=score.facts["n"], real=facts["n"])


def _told_apart(facts: Mapping[str, Fact], limit: Fact) -> str:
    share, most = facts.get("n"), limit
    if not isinstance(share, int | float) or not isinstance(most, int | float):
        return ""
    return sentence("short.told_apart", n=round(100 * share), limit=round(100 * most))


_Write = Callable[[Mapping[str, Fact], Fact], str]
_OF_NUMBERS: Mapping[str, _Write] = {
    "score.of": _said,
    "excess.above": _more,
    "excess.below": _fewer,
    "right_answers": _right_answers,
}
"""By the template of the number."""
_OF_METRICS: Mapping[str, _Write] = {"tstr": _prediction, "discriminator": _told_apart}
"""By metric, where its number has a meaning that its name does not say."""
