"""Results of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid.analysis.answer import Answers
from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.differences import Difference
from hybrid.analysis.effects import MetricEffects
from hybrid.analysis.recommend import Candidate, Recommendation
from hybrid.report.comparison.data import name_of
from hybrid.report.run.inputs import MetricText
from hybrid.report.run.metrics import number

GATE = {
    "pass": "pass the gate with every seed",
    "review": "are left to a person by the gate, and none passes with every seed",
    "block": "are blocked by the gate with a seed or more, and none is admitted",
    "": "ended well (no gate was asked)",
}


def seeds_note(seeds: int) -> str:
    """Note on the precision that the number of seeds allows."""
    if seeds == 1:
        return (
            "One seed: nothing can be said about how much other seeds would differ, so no effect below has an interval "
            "and none is called found. Points carry each metric's own interval, for its finite number of records."
        )
    few = " With so few, only effects far above the noise are found; more seeds narrow the intervals fast."
    return (
        f"{seeds} seeds. Intervals are 95 % over the seeds (Student's t, {seeds - 1} degrees of freedom): they "
        f"include the luck of split, sampling, transition and generator.{few if seeds < 5 else ''}"
    )


def with_interval(estimate: Estimate, *, signed: bool = False) -> str:
    """A number with its interval, or the reason why it has none."""
    value = number(estimate.value)
    if signed and estimate.value > 0:
        value = f"+{value}"
    if estimate.low is not None and estimate.high is not None:
        return f"{value} ({number(estimate.low)} to {number(estimate.high)})"
    return f"{value} (one seed)" if estimate.seeds == 1 else f"{value} (the same with every seed)"


def recommendation(answers: Answers, texts: Mapping[str, MetricText]) -> list[str]:
    """Recommendation and its reasons, one sentence each."""
    found = answers.recommendation
    if found is None:
        return ["None: no run has both a privacy and a utility metric for every seed."]
    total = len(answers.results.configurations)
    gate = f"{found.ended:,} of {total:,} configurations ended well with every seed; {found.admitted:,} of them "
    gate += f"{GATE[found.verdict]}. No leaks were planted in a comparison: what a verdict would have noticed is "
    gate += "measured when a configuration is run."
    if found.chosen is None:
        return [
            "None: the gate blocks every configuration.",
            gate,
            f"The safest is {_told(found.safest, found, texts)}. Start from there: a larger k, a smaller beta, another "
            "transition or a generator that smooths more.",
        ]
    return [
        f"Take {found.chosen.configuration}: {settings(answers, found.chosen.configuration)}.",
        gate,
        _choice(found, texts),
        *_alternatives(found, texts),
        *_decides(answers, found, texts),
    ]


def settings(answers: Answers, configuration: str) -> str:
    """A configuration's factors in one line."""
    row = answers.results.configurations.loc[configuration]
    return ", ".join(f"{factor} = {level}" for factor, level in row.items()) or "as in the base configuration"


def _told(candidate: Candidate, found: Recommendation, texts: Mapping[str, MetricText]) -> str:
    privacy, utility = name_of(found.privacy, texts), name_of(found.utility, texts)
    return (
        f"{candidate.configuration} ({utility} {with_interval(candidate.utility)}, {privacy} "
        f"{with_interval(candidate.privacy)})"
    )


def _choice(found: Recommendation, texts: Mapping[str, MetricText]) -> str:
    assert found.chosen is not None
    if found.chosen.configuration == found.most_useful.configuration:
        safest = " and also the safest" if found.safest.configuration == found.chosen.configuration else ""
        alone = "" if found.near > 1 else "; no other one comes within one standard error of it"
        return f"Of these it is the most useful{safest}: {_told(found.chosen, found, texts)}{alone}."
    best, chosen = (_told(candidate, found, texts) for candidate in (found.most_useful, found.chosen))
    return (
        f"The most useful of these is {best}. {found.near:,}, itself included, are within one standard error of it, so "
        f"that nothing shows them to be less useful; {chosen} is the safest of those."
    )


def _alternatives(found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    assert found.chosen is not None
    sentences = []
    if found.safest.configuration != found.chosen.configuration:
        sentences.append(f"If privacy alone counts, the safest of these is {_told(found.safest, found, texts)}.")
    if found.refused is not None:
        sentences.append(f"More useful, but judged worse by the gate: {_told(found.refused, found, texts)}.")
    return sentences


def _decides(answers: Answers, found: Recommendation, texts: Mapping[str, MetricText]) -> list[str]:
    """Factors with an effect on the two metrics, and factors without one."""
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
    """Difference of a factor's extreme levels; None if no effect was found."""
    levels = [level.effect for level in effects.main[factor] if level.effect is not None]
    if not any(effect.found for effect in levels):
        return None
    return max(effect.value for effect in levels) - min(effect.value for effect in levels)


def paradox(differences: Sequence[Difference], texts: Mapping[str, MetricText]) -> str:
    """Test of the paradox: conditional transitions cost privacy without gaining utility."""
    if not differences:
        return "Not to be seen: no two runs differ in nothing but a conditional and a uniform transition."
    if differences[0].estimate.seeds == 1:
        return "One seed: the differences below have no interval, so nothing is concluded from them."
    private = [each for each in differences if each.column.family == "privacy"]
    useful = [each for each in differences if each.column.family != "privacy"]
    worse, gain = _names(private, "worse", texts), _names(useful, "better", texts)
    safer, loss = _names(private, "better", texts), _names(useful, "worse", texts)
    parts = [
        ("discloses more", worse),
        ("discloses less", safer),
        ("is more useful or closer to the data", gain),
        ("is less useful or further from the data", loss),
    ]
    found = "; ".join(f"{what} by {names}" for what, names in parts if names)
    return (
        _verdict(bool(worse), bool(safer), bool(gain))
        + (f" Conditional {found}." if found else "")
        + _hints(differences)
    )


def _verdict(worse: bool, safer: bool, gain: bool) -> str:
    if worse and not gain:
        return "Yes: a loss of privacy was found, and no gain in utility."
    if worse:
        return "A trade, not a paradox: privacy for utility."
    if gain or safer:
        return "No: no loss of privacy was found."
    return "Not found: these seeds prove neither a loss of privacy nor a gain in utility."


def _hints(differences: Sequence[Difference]) -> str:
    """Number of differences significant on their own."""
    perhaps = sum(each.judgement.startswith("perhaps") for each in differences)
    return (
        f" {perhaps} more of the {len(differences)} differences are significant by their own interval only."
        if perhaps
        else ""
    )


def _names(differences: Sequence[Difference], judgement: str, texts: Mapping[str, MetricText]) -> str:
    return ", ".join(
        f"{name_of(each.column, texts)} {with_interval(each.estimate, signed=True)}"
        for each in differences
        if each.judgement == judgement
    )
