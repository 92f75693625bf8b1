"""Results of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid.analysis.answer import Answers
from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.differences import PairedDifference, ParadoxVerdict, paradox_verdict
from hybrid.analysis.effects import MetricEffects
from hybrid.analysis.ranking import Question
from hybrid.analysis.recommend import CandidateConfiguration, Recommendation
from hybrid.analysis.results import ResultColumn, Results
from hybrid.report.comparison.data import name_of, text_of
from hybrid.report.run.inputs import MetricText
from hybrid.report.run.metrics import number

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
        return f"{value} ({'0 or less' if from_zero and low < 0 <= high else number(low)} to {number(high)})"
    return f"{value} (one seed)" if estimate.seeds == 1 else f"{value} (the same with every seed)"


def recommendation(answers: Answers, texts: Mapping[str, MetricText]) -> list[str]:
    """Recommendation and its reasons, one sentence each."""
    found = answers.recommendation
    if found is None:
        return ["None: it takes a privacy and a utility metric for every seed, and a plan that is not for research."]
    total = len(answers.results.configurations)
    gate = f"{found.ended:,} of {total:,} configurations ended well with every seed; {found.admitted:,} of them "
    gate += f"{GATE[found.verdict]}. No leaks were planted in a comparison: what a verdict would have noticed is "
    gate += "measured when a configuration is run."
    if found.chosen is None:
        return [
            "None: the gate blocks every configuration.",
            gate,
            f"The safest is {_numbers_of(found.safest, found, texts)}. Start from there: a larger k, a smaller beta, "
            "another transition or a generator that smooths more.",
        ]
    return [
        f"Take {found.chosen.configuration}: {settings(answers, found.chosen.configuration)}.",
        *_apart(found, texts),
        gate,
        *_choice(answers, found, found.chosen, texts),
        *_again(found, texts),
        *_alternatives(found, texts),
        *_decides(answers, found, texts),
    ]


def settings(answers: Answers, configuration: str) -> str:
    """A configuration's factors in one line."""
    row = answers.results.configurations.loc[configuration]
    return ", ".join(f"{factor} = {level}" for factor, level in row.items()) or "as in the base configuration"


def question_titles(answers: Answers, texts: Mapping[str, MetricText]) -> dict[Question, str]:
    """Title of the metric that answers each question of the ranking."""
    criteria = () if answers.contest is None else answers.contest.criteria
    return {each.question: text_of(each.column, texts).title for each in criteria}


def _numbers_of(candidate: CandidateConfiguration, found: Recommendation, texts: Mapping[str, MetricText]) -> str:
    numbers = [(found.utility, candidate.utility), (found.privacy, candidate.privacy)]
    if found.closeness is not None and candidate.closeness is not None:
        numbers.append((found.closeness, candidate.closeness))
    said = (f"{name_of(column, texts)} {_number(column, estimate)}" for column, estimate in numbers)
    return f"{candidate.configuration} ({', '.join(said)})"


def _number(column: ResultColumn, estimate: Estimate) -> str:
    return with_interval(estimate, wide=True, from_zero=column.range[0] is None)


def _apart(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    others = found.admitted - 1
    if others < 1:
        return []
    if found.seeds == 1:
        return [f"One seed tells none of the {others:,} others from it: what differs below may be chance."]
    columns: dict[Question, ResultColumn | None] = {
        "use": found.utility, "attack": found.privacy, "closeness": found.closeness
    }  # fmt: skip
    names = {each: text_of(column, texts).title for each, column in columns.items() if column is not None}
    open_ = [names[each] for each, told in found.apart.items() if not told]
    told_by = {names[each]: told for each, told in found.apart.items() if told}
    sentences = []
    if open_:
        whom = "the other one" if others == 1 else f"any of the {others:,} others"
        sentences.append(f"These {found.seeds} seeds do not tell {whom} from it by {' or by '.join(open_)}.")
    for name, told in told_by.items():
        which = ", ".join(told[:MOST_NAMED]) + (", ..." if len(told) > MOST_NAMED else "")
        sentences.append(f"By {name} these {found.seeds} seeds tell {len(told):,} of {others:,} from it: {which}.")
    return [*sentences, *_needed(found, names)]


def _needed(found: Recommendation, names: Mapping[Question, str]) -> list[str]:
    needed = found.needed
    if needed is None or found.chosen is None:
        return []
    what = (
        f"the difference to {needed.configuration} in {names[needed.question]} ({number(needed.difference)}), "
        "if it stays as large"
    )
    rows = f"about {needed.rows:.2g} times as many rows" if needed.rows < MOST_ROWS else ""
    if needed.seeds is not None:
        also = f", or {rows}," if rows else ""
        return [f"To tell more apart: about {needed.seeds:,} more seeds{also} would find {what}."]
    if rows:
        return [f"To tell more apart: more seeds of this table are not enough; {rows} would find {what}."]
    return ["To tell more apart by use or attack takes another plan: the differences are too small for these data."]


def _choice(
    answers: Answers, found: Recommendation, chosen: CandidateConfiguration, texts: Mapping[str, MetricText]
) -> list[str]:
    if found.admitted == 1:
        return [f"It is the only one of these: {_numbers_of(chosen, found, texts)}."]
    rule = f"that is at most {number(answers.results.margin)} behind, or at most one standard error"
    utility, privacy = name_of(found.utility, texts), name_of(found.privacy, texts)
    steps = [
        f"{found.as_useful:,} of these {found.admitted:,} are as useful as the most useful one by {utility} ({rule}).",
        f"{found.as_safe:,} of those are as safe as the safest of them by {privacy} (by the same rule).",
    ]
    if found.closeness is None:
        steps.append(f"The safest of the {found.as_useful:,} is {_numbers_of(chosen, found, texts)}.")
    else:
        steps.append(f"The closest of those to the data is {_numbers_of(chosen, found, texts)}.")
    if found.most_useful.configuration != chosen.configuration:
        steps.append(f"The most useful one is {_numbers_of(found.most_useful, found, texts)}.")
    return steps


def _again(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    if found.again_privacy is None or found.again_utility is None or found.ended < 2:
        return []
    privacy, utility = name_of(found.privacy, texts), name_of(found.utility, texts)
    return [
        f"Chosen among {found.ended:,}: each interval above holds for all of them together, but the means are the "
        f"better for the choice. Chosen by all seeds but one and measured with that one, what this rule takes has "
        f"{utility} {number(found.again_utility)} and {privacy} {number(found.again_privacy)}."
    ]


def _alternatives(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    assert found.chosen is not None
    sentences = []
    if found.safest.configuration != found.chosen.configuration:
        sentences.append(f"If privacy alone counts, the safest of these is {_numbers_of(found.safest, found, texts)}.")
    if found.refused is not None:
        sentences.append(f"More useful, but judged worse by the gate: {_numbers_of(found.refused, found, texts)}.")
    return sentences


def _decides(answers: Answers, found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    sentences = []
    for column in (found.utility, found.privacy):
        effects = next((one for one in answers.effects if one.column == column.name), None)
        if effects is None or not effects.main or effects.seeds < 2:
            continue
        spans = {factor: span for factor in effects.main if (span := _span(effects, factor)) is not None}
        moved = sorted(spans, key=lambda factor: -spans[factor])
        unmoved = [factor for factor in effects.main if factor not in spans]
        parts = [f"{factor} (best and worst level {number(spans[factor])} apart)" for factor in moved[:3]]
        text = f"What moves {name_of(column, texts)}: {', '.join(parts) or 'nothing that these seeds could show'}."
        sentences.append(text + (f" Nothing was found for {', '.join(unmoved)}." if unmoved and parts else ""))
    return sentences


def _span(effects: MetricEffects, factor: str) -> float | None:
    levels = [level.effect for level in effects.main[factor] if level.effect is not None]
    if not any(effect.found for effect in levels):
        return None
    return max(effect.value for effect in levels) - min(effect.value for effect in levels)


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
