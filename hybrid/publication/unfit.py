"""Uses that a table is unfit for, by the rules of its policy that are not met or could not be judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.criteria import QUESTIONS, criterion_of
from hybrid.publication.rules.metric import THROWN_OUT
from hybrid.publication.verdict import Check, proven

UNFIT = {
    "tstr": "Do not train models on this table that must be right about real people.",
    "gaps_between_dates": "Do not study lengths of stay, or other times between two dates of a row.",
    "group_exclusion": "Do not draw conclusions about groups of people: some are missing or much too rare.",
    "lost_column": "Do not use the column named in the check: it is not distributed as in the real table.",
    "lost_link": "Do not study how columns depend on each other: more of that is lost than the policy allows.",
    "lost_prediction": "Do not predict columns from the others: more of what these say is lost than the policy allows.",
    "conclusions_kept": "Do not rely on coefficients of models: too few were shown to agree with real people.",
    "interval_overlap": "Do not publish estimates as they are: they were not shown to agree with real people.",
    "discriminator": "Do not take single rows for realistic: a program tells them from real ones.",
    "constraint_violations": "Do not rely on rules between columns, such as a total that is the sum of its parts.",
    "weighted_margins": "Do not apply the sampling weights to estimate shares of the population.",
    THROWN_OUT: "Do not rely on shares of groups: many rows were thrown out to keep constraints between columns.",
    "orphans": "Do not join the tables by their keys: some keys lead to no row.",
}
"""By the metric of a rule that is not met, or else by the rule's name."""
NAMED = {
    "group_exclusion": "unfit.group",
    "lost_column": "unfit.column",
    "lost_link": "unfit.link",
    "lost_prediction": "unfit.prediction",
}
"""The same where the check names the columns or the group that it is about: templates."""


def unfit(checks: Iterable[Check], uses: Iterable[str] = ()) -> Iterator[str]:
    """Sentences on uses that unmet or unjudged rules speak against, each once.

    First who must not have it; then the uses that the publisher states (``uses``) and that name a column which is lost.
    """
    open_ = list(checks)
    yield from _recipients(open_)
    lost = dict.fromkeys(one.subject for one in open_ if one.metric == "lost_column" and one.subject)
    for use in uses:
        yield from (sentence("unfit.use", use=use, column=column) for column in lost if _names(use, column))
    of_use = [check for check in open_ if (check.metric or check.rule) in UNFIT]
    yield from dict.fromkeys(_unfit(check) for check in of_use if check.status != "not judged")
    unknown = dict.fromkeys(check.rule for check in of_use if check.status == "not judged")
    if unknown:
        yield sentence("unfit.unknown", rules=tuple(unknown))


def _recipients(open_: Sequence[Check]) -> Iterator[str]:
    """People who must not have the table, where a question about people is open."""
    found = [QUESTIONS[criterion] for criterion in proven(open_)]
    asked = dict.fromkeys(criterion_of(check.metric) for check in open_)
    questions = found or [QUESTIONS[criterion] for criterion in asked if criterion is not None]
    if questions:
        if len(questions) > 1:
            name = "unfit.proven.several" if found else "unfit.open.several"
        else:
            name = "unfit.proven" if found else "unfit.open"
        yield sentence(name, questions=sentences(*questions))


class ModelConclusions(NamedTuple):
    """Coefficients of one model of users by which the table and real people lead to the same conclusion."""

    model: str
    kept: int
    coefficients: int
    fitted: bool = True
    """Whether the model could be fitted to the table."""

    @property
    def sentence(self) -> str:
        if not self.fitted:
            return sentence("conclusions.none", model=self.model)
        return sentence("conclusions", model=self.model, kept=self.kept, n=self.coefficients)


def model_conclusions(evaluation: Evaluation) -> Iterator[ModelConclusions]:
    """Conclusions from each model that was estimated from the released table."""
    for metric in evaluation.of_stage("interval_overlap", "synthetic"):
        estimates = metric.outcome.details["estimates"] if isinstance(metric.outcome, Measure) else []
        models: dict[str, list[Mapping[str, Any]]] = {}
        for one in estimates:
            if one["concluded"] is not None:
                models.setdefault(one["analysis"].replace("`", ""), []).append(one)
        for model, found in models.items():
            kept, fitted = sum(one["concluded"] for one in found), any(one["table"] is not None for one in found)
            yield ModelConclusions(model, kept, len(found), fitted)


def models_to_leave(evaluation: Evaluation) -> Iterator[str]:
    """Sentence on each model of which most coefficients lead to another conclusion, whatever a policy asks."""
    for one in model_conclusions(evaluation):
        if 2 * one.kept < one.coefficients:
            yield sentence("unfit.models", found=one.sentence)


def _names(use: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", use, re.IGNORECASE) is not None


def _unfit(check: Check) -> str:
    about = check.metric or check.rule
    return sentence(NAMED[about], about=check.subject) if check.subject and about in NAMED else UNFIT[about]
