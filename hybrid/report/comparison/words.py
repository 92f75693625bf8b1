"""Results of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.differences import PairedDifference, ParadoxVerdict, paradox_verdict
from hybrid.analysis.lags import Lag
from hybrid.analysis.recommend import Answers, CandidateConfiguration, FoundLevel, Recommendation
from hybrid.analysis.results import Concern, ResultColumn, Results
from hybrid.base.sentence import sentence, sentences
from hybrid.report.comparison.data import name_of, text_of
from hybrid.report.run.inputs import MetricText
from hybrid.report.run.metrics import BETTER, number

GATE = {
    "pass": "compared.gate.pass",
    "review": "compared.gate.review",
    "block": "compared.gate.block",
    "": "compared.gate.none",
}
"""Sentences on how many configurations are left, by the best verdict."""
MOST_NAMED = 6
"""Configurations that a sentence names."""
MOST_ROWS = 1000
"""Times as many rows that are still proposed."""


def seeds_note(results: Results) -> str:
    """Note on what the seeds' intervals are about, and on their precision."""
    seeds, overlap = len(results.seeds), results.overlap
    if seeds == 1:
        return sentence("compared.seeds.one")
    about = sentence("compared.table.overlap", share=100 * overlap) if overlap else sentence("compared.table")
    few = sentence("compared.seeds.few.overlap" if overlap else "compared.seeds.few") if seeds < 5 else ""
    return sentences(sentence("compared.seeds", n=seeds, freedom=seeds - 1), about, few)


def with_interval(estimate: Estimate, *, signed: bool = False, wide: bool = False, from_zero: bool = False) -> str:
    """A number with its interval, or the reason why it has none.

    ``wide``: the interval that holds together with all of its family. ``from_zero``: less than 0 is said as such, of a
    risk above people outside the data, or a skill below none.
    """
    value = number(estimate.value)
    if signed and estimate.value > 0:
        value = f"+{value}"
    low, high = (estimate.wide_low, estimate.wide_high) if wide else (estimate.low, estimate.high)
    if low is None or high is None:
        return sentence("compared.value.one_seed" if estimate.seeds == 1 else "compared.value.same", n=value)
    ends = (0.0 if abs(end) < 0.0005 <= abs(estimate.value) else end for end in (low, high))
    first, last = map(number, ends)
    if from_zero and low < 0 <= high:
        return sentence("compared.value.below", n=value, high=last)
    return sentence("compared.value", n=value, low=first, high=last)


@dataclass(frozen=True)
class Advice:
    """First box of the page."""

    headline: str
    """What to take, or that these runs do not say."""
    shown: list[str]
    """What the seeds tell apart and what not, and what would settle the choice."""
    rows: list[ConcernRow] = field(default_factory=list)
    """The first configuration by every concern."""
    why: list[str] = field(default_factory=list)
    """How it was chosen, and the alternatives."""

    @property
    def sentences(self) -> list[str]:
        """All sentences, in their order."""
        return [self.headline, *self.shown, *self.why]


@dataclass(frozen=True)
class ConcernRow:
    """One concern in the first box: texts, as they are shown."""

    concern: str
    title: str
    better: str
    value: str
    most: str
    margin: str
    settled: str


def advice(answers: Answers, texts: Mapping[str, MetricText]) -> Advice:
    """Recommendation: what to take, what the seeds show and do not show, and why."""
    found = answers.recommendation
    if found is None:
        return Advice(sentence("compared.take.none"), [])
    gate = _gate(found, len(answers.results.configurations))
    if found.chosen is None:
        safest = sentence("compared.safest", found=_numbers_of(found.best["privacy"], found, texts))
        return Advice(sentence("compared.take.blocked"), [gate, safest, sentence("compared.start")])
    return Advice(
        _headline(found, found.chosen),
        [*_told(found, texts), *_levels(found, texts), *_settling(found)],
        _rows(found, found.chosen, texts),
        [gate, *_choice(found, found.chosen, texts), *_again(found, texts), *_alternatives(found, found.chosen, texts)],
    )


def quoted(name: str) -> str:
    """Name of a configuration in a sentence."""
    return f"“{name}”"


def concern_titles(answers: Answers, texts: Mapping[str, MetricText]) -> dict[Concern, str]:
    """Title of the metric of each concern of the ranking."""
    criteria = () if answers.contest is None else answers.contest.criteria
    return {each.concern: text_of(each.column, texts).title for each in criteria}


def _gate(found: Recommendation, total: int) -> str:
    return sentence(GATE[found.verdict], ended=found.ended, total=total, admitted=found.admitted)


def _headline(found: Recommendation, chosen: CandidateConfiguration) -> str:
    name = quoted(chosen.configuration)
    if found.ended == 1:
        return sentence("compared.take.only", name=name)
    if found.admitted == 1:
        return sentence("compared.take.admitted", name=name)
    first, take = sentence("compared.first", name=name), sentence("compared.take", name=name, concerns=_in_order(found))
    if found.seeds == 1:
        return sentences(sentence("compared.alike.one_seed"), first)
    if found.differing or found.levels:
        return take if found.is_settled else sentence("compared.first.open", name=name)
    return sentences(sentence("compared.alike", n=found.seeds, m=found.ended), take if found.is_settled else first)


def _in_order(found: Recommendation) -> str:
    concerns: list[str] = [*found.columns]
    return reduce(lambda first, second: sentence("compared.then", first=first, second=second), concerns)


def _rows(found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]) -> list[ConcernRow]:
    lags = {lag.concern: lag for lag in found.lags}
    return [
        ConcernRow(
            concern,
            name_of(column, texts),
            BETTER[column.family, column.direction],
            _number(column, chosen.values[concern]),
            _most(lags.get(concern)),
            number(found.margins[concern]),
            "settled" if concern in lags and lags[concern].is_settled else "open",
        )
        for concern, column in found.columns.items()
    ]


def _most(lag: Lag | None) -> str:
    if lag is None:
        return "not known"
    return number(lag.most) if lag.others else "no other is left"


def _numbers_of(candidate: CandidateConfiguration, found: Recommendation, texts: Mapping[str, MetricText]) -> str:
    numbers = tuple(
        sentence("compared.metric", title=name_of(column, texts), value=_number(column, candidate.values[concern]))
        for concern, column in found.columns.items()
    )
    return sentence("compared.configuration", name=quoted(candidate.configuration), numbers=numbers)


def _number(column: ResultColumn, estimate: Estimate) -> str:
    return with_interval(estimate, wide=True, from_zero=column.range[0] is None)


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names[:MOST_NAMED])) + (", ..." if len(names) > MOST_NAMED else "")


def _told(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    others = found.ended - 1
    if others < 1 or found.seeds == 1:
        return []
    shown: list[str] = []
    silent: list[str] = []
    for concern, column in found.columns.items():
        by = sentence("compared.by", concern=concern, title=text_of(column, texts).title)
        sides = [("compared.worse", found.worse[concern]), ("compared.better", found.better[concern])]
        shown += [
            sentence(template, by=by, n=found.seeds, m=len(names), others=others, names=_named(names))
            for template, names in sides
            if names
        ]
        silent += [] if any(names for _, names in sides) else [by]
    if silent:
        concerns = reduce(lambda first, second: sentence("compared.or", first=first, second=second), silent)
        shown.append(sentence("compared.no_difference", n=found.seeds, others=others, by=concerns))
    return shown


def _levels(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    """Sentences about levels; where some are above the mean and some below it, the fewer, or those that are worse."""
    groups: dict[tuple[Concern, str], dict[bool, list[FoundLevel]]] = {}
    for each in found.levels:
        groups.setdefault((each.concern, each.factor), {False: [], True: []})[each.is_better].append(each)
    told = [min((side for side in (sides[False], sides[True]) if side), key=len) for sides in groups.values()]
    said: list[str] = [
        sentence(
            "compared.level.better" if each.is_better else "compared.level.worse",
            factor=each.factor,
            level=str(each.level),
            concern=each.concern,
            title=text_of(found.columns[each.concern], texts).title,
            effect=with_interval(each.effect, signed=True, wide=True),
        )
        for side in told
        for each in side
    ]
    return said[:MOST_NAMED]


def _settling(found: Recommendation) -> list[str]:
    needed = found.needed
    if needed is None:
        return [sentence("compared.settle.seeds_needed")] if found.seeds == 1 and found.ended > 1 else []
    times = f"{float(f'{needed.rows:.2g}'):,g}"
    few = needed.rows < MOST_ROWS
    if needed.seeds is not None and few:
        return [sentence("compared.settle.either", n=needed.seeds, times=times, concern=needed.concern)]
    if needed.seeds is not None:
        return [sentence("compared.settle.seeds", n=needed.seeds, concern=needed.concern)]
    if few:
        return [sentence("compared.settle.rows", times=times, concern=needed.concern)]
    return [sentence("compared.settle.neither", concern=needed.concern)]


def _choice(found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]) -> list[str]:
    taken = _numbers_of(chosen, found, texts)
    if found.admitted == 1:
        return [sentence("compared.only", found=taken)]
    *first, last = found.columns
    left = found.kept["shown"]
    steps: list[str] = [sentence("compared.beaten", names=_named(found.beaten))] if found.beaten else []
    for concern in first:
        steps.append(sentence("compared.as_good", concern=concern, n=found.kept[concern], m=left))
        left = found.kept[concern]
    best = sentence("compared.best", n=left, concern=last, found=taken)
    return [*steps, sentence("compared.as_good.means"), best]


def _again(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    if not found.again or found.ended < 2:
        return []
    numbers = tuple(
        sentence("compared.metric.equals", title=name_of(found.columns[each], texts), n=number(value))
        for each, value in found.again.items()
    )
    return [sentence("compared.again", n=found.ended, numbers=numbers)]


def _alternatives(found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]) -> list[str]:
    others: list[str] = [
        sentence("compared.alone", concern=concern, found=_numbers_of(best, found, texts))
        for concern, best in found.best.items()
        if best.configuration != chosen.configuration
    ]
    if found.refused is not None:
        others.append(sentence("compared.refused", found=_numbers_of(found.refused, found, texts)))
    return others


def paradox(differences: Sequence[PairedDifference], margin: float, texts: Mapping[str, MetricText]) -> str:
    """Test of the paradox: conditional transitions cost privacy without gaining utility."""
    if not differences:
        return sentence("paradox.unseen")
    if differences[0].estimate.seeds == 1:
        return sentence("paradox.one_seed")
    private = [each for each in differences if each.column.family == "privacy"]
    useful = [each for each in differences if each.column.family != "privacy"]
    verdict = paradox_verdict(differences, margin)
    parts = {
        "paradox.discloses_more": verdict.losses,
        "paradox.discloses_less": [each for each in private if each.judgement == "better"],
        "paradox.more_useful": verdict.gains,
        "paradox.less_useful": [each for each in useful if each.judgement == "worse"],
    }
    found = tuple(sentence(name, names=_names(them, texts)) for name, them in parts.items() if them)
    perhaps = sum(each.judgement.startswith("perhaps") for each in differences)
    return sentences(
        *_verdict(verdict, texts),
        sentence("paradox.conditional", parts=found) if found else "",
        sentence("paradox.perhaps", n=perhaps, m=len(differences)) if perhaps else "",
    )


def _verdict(verdict: ParadoxVerdict, texts: Mapping[str, MetricText]) -> Iterator[str]:
    margin = number(verdict.margin)
    if verdict.answer == "paradox":
        yield sentence("paradox.yes", margin=margin)
    elif verdict.answer == "trade":
        yield sentence("paradox.trade")
    elif verdict.answer == "no paradox" and verdict.gains:
        yield sentence("paradox.no.gain")
        yield from _unsure("paradox.unsure.privacy", verdict.unsure_losses, margin, texts)
    elif verdict.answer == "no paradox":
        yield sentence("paradox.no", margin=margin)
    elif verdict.losses:
        yield sentence("paradox.open.loss")
        yield from _unsure("paradox.unsure.gain", verdict.unsure_gains, margin, texts)
    else:
        yield sentence("paradox.open")
        yield from _unsure("paradox.unsure.loss", verdict.unsure_losses, margin, texts)


def _unsure(
    template: str, differences: Sequence[PairedDifference], margin: str, texts: Mapping[str, MetricText]
) -> Iterator[str]:
    if differences:
        yield sentence(template, margin=margin, names=tuple(_bound(each, texts) for each in differences))


def _bound(difference: PairedDifference, texts: Mapping[str, MetricText]) -> str:
    """Metric with the one-sided 95 % bound of its loss, or of its gain."""
    upwards = (difference.column.family == "privacy") != (difference.column.sign > 0)
    bound = difference.estimate.most if upwards else difference.estimate.least
    title = name_of(difference.column, texts)
    if bound is None:
        return sentence("paradox.bound.same", title=title)
    return sentence("paradox.bound", title=title, n=number(abs(bound)))


def _names(differences: Sequence[PairedDifference], texts: Mapping[str, MetricText]) -> tuple[str, ...]:
    return tuple(
        sentence("compared.metric", title=name_of(each.column, texts), value=with_interval(each.estimate, signed=True))
        for each in differences
    )
