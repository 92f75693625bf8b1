"""Results of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.differences import PairedDifference, ParadoxVerdict, paradox_verdict
from hybrid.analysis.lags import Lag
from hybrid.analysis.recommend import Answers, CandidateConfiguration, FoundLevel, Recommendation
from hybrid.analysis.results import Concern, ResultColumn, Results
from hybrid.report.comparison.data import name_of, text_of
from hybrid.report.run.inputs import MetricText
from hybrid.report.run.metrics import BETTER, number

GATE = {
    "pass": "pass the gate with every seed",
    "review": "are left to a person by the gate, and none passes with every seed",
    "block": "are blocked by the gate with a seed or more, and none is admitted",
    "": "ended well (no gate was asked)",
}
MOST_NAMED = 6
"""Configurations that a sentence names."""
MOST_ROWS = 1000
"""Times as many rows that are still proposed."""


def seeds_note(results: Results) -> str:
    """Note on what the seeds' intervals are about, and on their precision."""
    seeds = len(results.seeds)
    if seeds == 1:
        return (
            "One seed: nothing can be said about how much other seeds would differ, so no effect below has an interval "
            "and none is called found. Points carry each metric's own interval, for its finite number of records."
        )
    limit = ", down to a limit that only more records move" if results.overlap else ""
    few = f" With so few, only effects far above the noise are found; more seeds narrow the intervals{limit}."
    return (
        f"{seeds} seeds. Intervals are 95 % over the seeds (Student's t, {seeds - 1} degrees of freedom): they "
        f"include the chance of split, sampling, transition and generator. {_about(results.overlap)}"
        f"{few if seeds < 5 else ''}"
    )


def _about(overlap: float) -> str:
    """Population of an interval over seeds."""
    if not overlap:
        return (
            "Seeds split one table: an interval is about this table, its splits and draws, not about other tables of "
            "the same population."
        )
    return (
        f"Seeds split one table: two control sets share {100 * overlap:.3g} % of their records, and the intervals are "
        "wider for it (Nadeau and Bengio 2003): they are about tables of this size from the same population."
    )


def with_interval(estimate: Estimate, *, signed: bool = False, wide: bool = False, from_zero: bool = False) -> str:
    """A number with its interval, or the reason why it has none.

    ``wide``: the interval that holds together with all of its family. ``from_zero``: less than 0 is said as such, of a
    risk above people outside the data, or a skill below none.
    """
    value = number(estimate.value)
    if signed and estimate.value > 0:
        value = f"+{value}"
    low, high = (estimate.wide_low, estimate.wide_high) if wide else (estimate.low, estimate.high)
    if low is not None and high is not None:
        ends = (0.0 if abs(end) < 0.0005 <= abs(estimate.value) else end for end in (low, high))
        first, last = map(number, ends)
        return f"{value} ({'0 or less' if from_zero and low < 0 <= high else first} to {last})"
    return f"{value} (one seed)" if estimate.seeds == 1 else f"{value} (the same with every seed)"


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
        return Advice("None: it takes a privacy and a utility metric for every seed, and a plan not for research.", [])
    gate = _gate(found, len(answers.results.configurations))
    if found.chosen is None:
        safest = _numbers_of(found.best["privacy"], found, texts)
        way = "Start from there: a larger k, a smaller beta, another transition or a generator that smooths more."
        return Advice("None: the gate blocks every configuration.", [gate, f"The safest is {safest}.", way])
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
    return (
        f"{found.ended:,} of {total:,} configurations ended well with every seed; {found.admitted:,} of them "
        f"{GATE[found.verdict]}. No leaks were planted in a comparison: what a verdict would have noticed is measured "
        "when a configuration is run."
    )


def _headline(found: Recommendation, chosen: CandidateConfiguration) -> str:
    name = quoted(chosen.configuration)
    if found.ended == 1:
        return f"Take {name}: no other configuration ended well with every seed."
    if found.admitted == 1:
        return f"Take {name}: the gate judges every other configuration worse, with a seed or more."
    if found.seeds == 1:
        return f"One seed shows no difference between configurations. {name} comes first, perhaps by chance."
    margins = f"it is behind the best by no more than your margins, by {_in_order(found)}"
    if found.differing or found.levels:
        return f"Take {name}: {margins}." if found.is_settled else f"{name} comes first, but it may not be the best."
    alike = f"These {found.seeds} seeds show no difference between the {found.ended:,} configurations."
    return f"{alike} Take {name}: {margins}." if found.is_settled else f"{alike} {name} comes first, perhaps by chance."


def _in_order(found: Recommendation) -> str:
    return ", then by ".join(found.columns)


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
    said = (
        f"{name_of(column, texts)} {_number(column, candidate.values[concern])}"
        for concern, column in found.columns.items()
    )
    return f"{quoted(candidate.configuration)} ({', '.join(said)})"


def _number(column: ResultColumn, estimate: Estimate) -> str:
    return with_interval(estimate, wide=True, from_zero=column.range[0] is None)


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names[:MOST_NAMED])) + (", ..." if len(names) > MOST_NAMED else "")


def _told(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    others = found.ended - 1
    if others < 1 or found.seeds == 1:
        return []
    sentences, silent = [], []
    for concern, column in found.columns.items():
        by = f"{concern} ({text_of(column, texts).title})"
        told = [(what, names[concern]) for what, names in (("worse", found.worse), ("better", found.better))]
        shown = f"By {by} these {found.seeds} seeds show"
        sentences += [
            f"{shown} {len(names):,} of the {others:,} others to be {what}: {_named(names)}."
            for what, names in told
            if names
        ]
        silent += [] if any(names for _, names in told) else [by]
    if silent:
        whom = "the other one" if others == 1 else f"any of the {others:,} others"
        sentences.append(f"These {found.seeds} seeds show no difference to {whom} by {' or by '.join(silent)}.")
    return sentences


def _levels(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    """Sentences about levels; where some are above the mean and some below it, the fewer, or those that are worse."""
    groups: dict[tuple[Concern, str], dict[bool, list[FoundLevel]]] = {}
    for each in found.levels:
        groups.setdefault((each.concern, each.factor), {False: [], True: []})[each.is_better].append(each)
    told = [min((side for side in (sides[False], sides[True]) if side), key=len) for sides in groups.values()]
    return [
        f"Over all runs, {each.factor} = {each.level} is {'better' if each.is_better else 'worse'} by {each.concern}: "
        f"{text_of(found.columns[each.concern], texts).title} differs from its mean over all values of {each.factor} "
        f"by {with_interval(each.effect, signed=True, wide=True)}."
        for side in told
        for each in side
    ][:MOST_NAMED]


def _settling(found: Recommendation) -> list[str]:
    needed = found.needed
    if needed is None:
        alone = found.seeds == 1 and found.ended > 1
        return ["Two seeds or more would say how far it may be behind the best."] if alone else []
    times = f"{float(f'{needed.rows:.2g}'):,g}"
    rows = f"about {times} times as many rows" if needed.rows < MOST_ROWS else ""
    most = f"{needed.concern.capitalize()} needs most."
    if needed.seeds is not None:
        return [f"To settle it: about {needed.seeds:,} more seeds{f', or {rows}' if rows else ''}. {most}"]
    if rows:
        return [f"To settle it: more seeds of this table are not enough, but {rows}. {most}"]
    return [f"Neither seeds nor rows settle it: the margin of {needed.concern} is far below what chance makes of it."]


def _choice(found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]) -> list[str]:
    if found.admitted == 1:
        return [f"It is the only one of these: {_numbers_of(chosen, found, texts)}."]
    *first, last = found.columns
    left = found.kept["shown"]
    worse = f"Shown to be worse than another one by more than a margin: {_named(found.beaten)}."
    steps = [worse] if found.beaten else []
    for concern in first:
        steps.append(f"By {concern} {found.kept[concern]:,} of {left:,} are as good as the best of them.")
        left = found.kept[concern]
    return [
        *steps,
        "As good is: shown to be behind by no more than your margin, or behind by one standard error at most.",
        f"The best of the {left:,} by {last} is {_numbers_of(chosen, found, texts)}.",
    ]


def _again(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    if not found.again or found.ended < 2:
        return []
    said = ", ".join(f"{name_of(found.columns[each], texts)} = {number(value)}" for each, value in found.again.items())
    return [
        f"Chosen among {found.ended:,}: each interval holds for all of them together, but the means are the better for "
        f"the choice. Chosen by all seeds but one and measured with that one, what this rule takes has {said}."
    ]


def _alternatives(found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]) -> list[str]:
    sentences = [
        f"If {concern} alone counts, {_numbers_of(best, found, texts)} has the best mean."
        for concern, best in found.best.items()
        if best.configuration != chosen.configuration
    ]
    if found.refused is not None:
        sentences.append(f"More useful, but judged worse by the gate: {_numbers_of(found.refused, found, texts)}.")
    return sentences


def paradox(differences: Sequence[PairedDifference], margin: float, texts: Mapping[str, MetricText]) -> str:
    """Test of the paradox: conditional transitions cost privacy without gaining utility."""
    if not differences:
        return "Not to be seen: no two runs differ in nothing but a conditional and a uniform transition."
    if differences[0].estimate.seeds == 1:
        return "One seed: the differences below have no interval, so nothing is concluded from them."
    private = [each for each in differences if each.column.family == "privacy"]
    useful = [each for each in differences if each.column.family != "privacy"]
    verdict = paradox_verdict(differences, margin)
    parts = [
        ("discloses more", verdict.losses),
        ("discloses less", [each for each in private if each.judgement == "better"]),
        ("is more useful or closer to the data", verdict.gains),
        ("is less useful or further from the data", [each for each in useful if each.judgement == "worse"]),
    ]
    found = "; ".join(f"{what} by {_names(them, texts)}" for what, them in parts if them)
    return _verdict(verdict, texts) + (f" Conditional {found}." if found else "") + _hints(differences)


def _verdict(verdict: ParadoxVerdict, texts: Mapping[str, MetricText]) -> str:
    margin = number(verdict.margin)
    if verdict.answer == "paradox":
        return f"Yes: a loss of privacy was found, and every metric excludes a gain in utility of {margin} or more."
    if verdict.answer == "trade":
        return "A trade, not a paradox: privacy for utility."
    if verdict.answer == "no paradox" and verdict.gains:
        open_losses = _unsure(verdict.unsure_losses, "a loss of privacy", margin, texts)
        return f"No: a gain was found, and no loss of privacy.{open_losses}"
    if verdict.answer == "no paradox":
        return f"No: every privacy metric excludes a loss of {margin} or more."
    found = "a loss of privacy was found, and no gain" if verdict.losses else "no loss of privacy was found"
    unsure, what = (verdict.unsure_gains, "a gain") if verdict.losses else (verdict.unsure_losses, "a loss")
    return f"Open: {found}.{_unsure(unsure, what, margin, texts)}"


def _unsure(differences: Sequence[PairedDifference], what: str, margin: str, texts: Mapping[str, MetricText]) -> str:
    if not differences:
        return ""
    names = ", ".join(f"{name_of(each.column, texts)} ({_bound(each)})" for each in differences)
    return f" Not excluded is {what} of {margin} or more by {names}."


def _bound(difference: PairedDifference) -> str:
    """One-sided 95 % bound of a loss, or of a gain."""
    upwards = (difference.column.family == "privacy") != (difference.column.sign > 0)
    bound = difference.estimate.most if upwards else difference.estimate.least
    return "the same with every seed" if bound is None else f"up to {number(abs(bound))}"


def _hints(differences: Sequence[PairedDifference]) -> str:
    perhaps = sum(each.judgement.startswith("perhaps") for each in differences)
    return (
        f" {perhaps} more of the {len(differences)} differences are significant by their own interval only."
        if perhaps
        else ""
    )


def _names(differences: Sequence[PairedDifference], texts: Mapping[str, MetricText]) -> str:
    return ", ".join(
        f"{name_of(each.column, texts)} {with_interval(each.estimate, signed=True)}" for each in differences
    )
