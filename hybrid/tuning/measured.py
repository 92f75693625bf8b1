"""Measurement of a setting: configurations of its trials, and numbers from their rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from typing import Any, Self

import numpy as np

from hybrid.analysis.results import LOW_OF_PART, PART
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.options import RetrainOptions
from hybrid.pipeline.config import RunConfig
from hybrid.publication.policy import Policy
from hybrid.table import Role, Table
from hybrid.tuning.people import Halves

EXPOSED, RANDOM = ATTACK = ("membership_trained", "membership_trained_random")
"""Metrics of the attacker who trains again: on the people least like others, and on random people."""
USE = ("tstr", "lost_link", "lost_column", "lost_prediction", "group_exclusion")
"""Metrics of usefulness, in the order of :class:`UtilityLosses`."""
LEAKS = ("lone_copies", "lone_near_copies", "lone_secrets", "linkability", "nndr_share")
"""Other leaks that are measured, each above people whom the trial held out."""
FALLS = ("models", "link", "column", "other models", "group missing")
"""Words for these."""
THREE_OF_FOUR = 0.674
"""Standard errors above its mean below which a normal number is three times of four."""
CHANCE = 0.5
"""AUC of a guess."""
ALLOWED = 0.1
"""Excess over chance that is allowed where the policy has no rule about the attack."""
GRAVER = 2.0
"""How much graver a leak beyond what is allowed is than a loss as large: what is disclosed cannot be taken back."""
ATTACKED = 40
"""People whom the attack asks about, at least, of each kind."""
HELD_OUT = 0.3
"""Share of the training people on whom usefulness is measured."""
MOST_TARGETS = 5
"""Columns that are predicted, at most, where no target is declared."""
SIGNAL = 0.1
"""AUC beyond .5, or R squared, from which real rows predict a column well."""


@dataclass(frozen=True)
class Auc:
    """Success of the attack, .5: a guess; its interval, and the highest that the policy allows."""

    value: float
    low: float
    high: float
    allowed: float

    @property
    def beyond(self) -> float:
        """Upper end beyond what is allowed; 0 or less: expected to pass."""
        return self.high - self.allowed


@dataclass(frozen=True)
class UtilityLosses:
    """Losses of a table beside real rows: 0 is nothing, 1 all."""

    prediction: float
    """Mean over the targets of the score of models of real rows less that of models of the table."""
    link: float
    column: float
    """Largest fall of a link, and largest share of a column that moved, beyond what two halves of the source show."""
    others: float = 0.0
    """Largest likely fall of the prediction of a column from all others: halfway to the low end of its interval."""
    group: float = 0.0
    """Low end of the share of a group of people that is missing, at worst, which a run is likely not to exceed."""

    @property
    def mean(self) -> float:
        """Mean of the first three, which are measured well."""
        return (self.prediction + self.link + self.column) / 3


@dataclass(frozen=True)
class Measured:
    """Numbers of one setting."""

    name: str
    attack: tuple[Auc, Auc]
    """On the most exposed, and on random people."""
    falls: UtilityLosses
    error: float = math.nan
    """Standard error of the mean fall over the draws; NaN of a single one."""
    lost: float = -1.0
    """Largest fall beyond what the policy allows."""
    leak: float = -1.0
    """Largest low end of the excess of :data:`LEAKS` beyond what the policy allows; -1 where none was measured."""
    worst_fall: str = FALLS[0]
    """Words for the fall that is the largest beyond what the policy allows."""

    @property
    def worse_attack(self) -> Auc:
        """The one that is farther beyond what is allowed."""
        return max(self.attack, key=lambda each: each.value - each.allowed)

    @property
    def disclosure(self) -> float:
        """AUC where it is farther beyond what is allowed."""
        return self.worse_attack.value

    @property
    def beyond(self) -> float:
        """Upper end of the worse interval, another leak or a fall, whichever is farthest beyond what is allowed."""
        return max(self.leaking, self.lost)

    @property
    def leaking(self) -> float:
        """Upper end of the worse interval or another leak, whichever is farther beyond what is allowed."""
        return max(*(each.beyond for each in self.attack), self.leak)

    @property
    def from_passing(self) -> float:
        """Distance from passing: as :attr:`beyond`, with leaks :data:`GRAVER` times as far."""
        return max(GRAVER * self.leaking, self.lost)

    @property
    def passes(self) -> bool:
        """True if both intervals end within what is allowed, no other leak is likely, and no fall is beyond it."""
        return self.beyond <= 0

    @property
    def obstacle(self) -> str:
        """Words for what is the farthest beyond what is allowed; empty if the setting is expected to pass."""
        exposed, anyone = self.attack
        found = {"exposed": exposed.beyond, "random": anyone.beyond, "leak": self.leak, self.worst_fall: self.lost}
        return "" if self.passes else max(found, key=lambda words: found[words])

    @property
    def usefulness(self) -> float:
        """1 less the mean of the falls."""
        return 1 - self.falls.mean

    @classmethod
    def of(
        cls,
        name: str,
        attacked: Mapping[str, Any],
        used: Sequence[Mapping[str, Any]],
        targets: Mapping[str, float],
        policy: Policy,
    ) -> Self | None:
        """Read the rows of a setting's trials; None where one failed or the attack could not be made."""
        if any(row["status"] != "ok" for row in (attacked, *used)):
            return None
        found = [_auc(attacked, metric, policy) for metric in ATTACK]
        if found[0] is None or found[1] is None:
            return None
        each = np.array([_falls(row, targets) for row in used])
        others = [_likely(part) for part in _parts(used, "synthetic.lost_prediction")]
        likely = max(others, default=0.0), _likely_end(used, "synthetic.group_exclusion") or 0.0
        losses = UtilityLosses(*map(float, each.mean(axis=0)), *(max(end, 0.0) for end in likely))
        error = float(each.mean(axis=1).std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else math.nan
        falls = zip(astuple(losses), most_lost(policy), FALLS, strict=True)
        lost, words = max((fall - most, words) for fall, most, words in falls)
        return cls(name, (found[0], found[1]), losses, error, lost, _leak(used, policy), words)


def attacked_config(config: RunConfig, people: int, trainings: int) -> RunConfig:
    """Configuration of the trial that the attacker trains again, of all training people."""
    own = config.evaluate.retrain or RetrainOptions()
    share = max(own.share, min(ATTACKED / people, 0.5))
    again = own.model_copy(update={"halves": trainings, "share": share, "stages": ("synthetic",), "seconds": None})
    control = HELD_OUT if config.synthesize.filter is not None else 0.0
    return _alone(config, control, {"metrics": ATTACK, "retrain": again})


def used_config(config: RunConfig, targets: Sequence[str]) -> RunConfig:
    """Configuration of the trial whose usefulness and leaks are measured on training people that it held out."""
    names = [name.partition(".")[2] for name in targets] if config.is_linked else targets
    measured = {"metrics": (*USE, *LEAKS), "retrain": None, "targets": tuple(dict.fromkeys(names))}
    return _alone(config, HELD_OUT, measured)


def _alone(config: RunConfig, control: float, evaluate: Mapping[str, Any]) -> RunConfig:
    alone = {"original": False, "baseline": False, "power": False, "also": (), "seconds": {}}
    changes = {
        "split": config.split.model_copy(update={"control": control, "release": 0.0, "rows": None}),
        "evaluate": config.evaluate.model_copy(update=alone | dict(evaluate)),
    }
    return config.with_sections(changes)


def predicted(halves: Mapping[str, Halves], config: RunConfig, rng: np.random.Generator) -> dict[str, float]:
    """Columns whose prediction is measured, each with the score of models of real rows beyond chance.

    The targets; where none is declared, the columns that real rows predict best, of those that they predict well.
    Columns of linked tables are called TABLE.COLUMN.
    """
    named = config.evaluate.targets
    declared = {
        name: [one for one in half.own if (one in named if named else half.train.schema[one].target)]
        for name, half in halves.items()
    }
    found: dict[str, float] = {}
    for name, half in halves.items():
        names = declared[name]
        if not any(declared.values()):
            names = [column for column in half.own if half.train.schema[column].role is not Role.WEIGHT]
        signals = _signals(half.train, half.held_out, names, rng)
        found |= {f"{name}.{column}" if name else column: signal for column, signal in signals.items()}
    if any(declared.values()):
        return found
    best = sorted((name for name in found if found[name] >= SIGNAL), key=lambda name: -found[name])
    return {name: found[name] for name in best[:MOST_TARGETS]}


def _signals(train: Table, held_out: Table, names: Sequence[str], rng: np.random.Generator) -> dict[str, float]:
    """Score of models of real rows beyond chance, of each column that can be predicted."""
    asked = EvaluateOptions(metrics=("tstr",), targets=tuple(names))
    found = evaluate(train, held_out, {"original": train}, asked, rng).of_stage("tstr", "original") if names else ()
    return {
        metric.column or "": metric.outcome.value - (CHANCE if metric.outcome.details["score"] == "auc" else 0.0)
        for metric in found
        if isinstance(metric.outcome, Measure)
    }


def _auc(row: Mapping[str, Any], metric: str, policy: Policy) -> Auc | None:
    name = f"synthetic.{metric}"
    if row.get(name) is None:
        return None
    return Auc(row[name], row[f"{name}_low"], row[f"{name}_high"], allowed(metric, policy))


def allowed(metric: str, policy: Policy) -> float:
    """Highest AUC that a policy passes."""
    rules = [rule for rule in policy.rules if rule.metric == metric and rule.stage == "synthetic"]
    found = [(rule.compare, rule.block if rule.review is None else rule.review) for rule in rules]
    limits = [limit + (CHANCE if compare == "excess" else 0.0) for compare, limit in found if limit is not None]
    return min(limits, default=CHANCE + ALLOWED)


def most_lost(policy: Policy) -> tuple[float, ...]:
    """Largest falls that a policy passes, in the order of :class:`UtilityLosses`; 1 where it has no rule."""
    return tuple(
        min((abs(rule.review) for rule in policy.rules if rule.metric == name and rule.review is not None), default=1.0)
        for name in USE
    )


def has_rule(policy: Policy) -> bool:
    """True if a policy says what the attack may find out."""
    return any(rule.metric in ATTACK for rule in policy.rules)


def _falls(row: Mapping[str, Any], targets: Mapping[str, float]) -> tuple[float, ...]:
    """Falls of one draw that are averaged: prediction, link and column."""
    prediction = [_lost(row, f"synthetic.tstr.{name}", signal) for name, signal in targets.items()]
    beyond = [
        max((row.get(name) or 0.0) - max(row.get(f"{name}_reference") or 0.0, 0.0), 0.0)
        for name in ("synthetic.lost_link", "synthetic.lost_column")
    ]
    return float(np.mean(prediction)) if prediction else 0.0, *beyond


def _leak(rows: Sequence[Mapping[str, Any]], policy: Policy) -> float:
    """Largest excess beyond what the policy allows, by the low end of all draws together.

    The policies allow next to nothing, so that whoever leaks nothing is beyond it by chance. Judged more strictly than
    a run judges, one in two settings without a leak would be said to have one.
    """
    beyond = [-1.0]
    for metric in LEAKS:
        rules = [rule for rule in policy.rules if rule.metric == metric and rule.stage == "synthetic"]
        limits = [rule.review for rule in rules if rule.review is not None]
        found = _with_low(rows, f"synthetic.{metric}_excess")
        if found and limits:
            beyond.append(_likely(found, 1.0) - min(limits))
    return max(beyond)


def _parts(rows: Sequence[Mapping[str, Any]], name: str) -> list[list[tuple[float, float]]]:
    """Numbers of which a metric is the worst: of each the values and their low ends, of the draws that have them."""
    begin = f"{PART}{name}."
    of = [column.removeprefix(begin) for column in dict.fromkeys(chain(*rows)) if column.startswith(begin)]
    columns = [(f"{begin}{part}", f"{LOW_OF_PART}{name}.{part}") for part in of]
    return [[(row[value], row[low]) for row in rows if row.get(low) is not None] for value, low in columns]


def _with_low(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    """Values of a metric and their low ends, of the draws that have one."""
    return [(row[name], row[f"{name}_low"]) for row in rows if row.get(name) is not None]


def _likely(found: Sequence[tuple[float, float]], way: float = 0.5) -> float:
    """Mean over the draws' values, less a part of what their number leaves of the way to the low ends.

    A run judges the low end of an interval about as wide as that of four draws. A setting whose mean is at the low end
    would pass every other time; one that is halfway, three times of four.
    """
    mean, low = np.mean(found, axis=0)
    return float(mean - way * (mean - low) / math.sqrt(len(found)))


def _likely_end(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Low end that a run exceeds one time of four, by those of the draws; None without any.

    For an interval about the people of the table, who are all there in a run, so that it is narrower by the root of
    their share here. The low end of a group of a dozen people without a row is far from all of them.
    """
    found = _with_low(rows, name)
    if not found:
        return None
    value, low = np.transpose(found)
    ends = value - math.sqrt(1 - HELD_OUT) * (value - low)
    return float(ends.mean() + THREE_OF_FOUR * (ends.std(ddof=1) if len(ends) > 1 else 0.0))


def _lost(row: Mapping[str, Any], name: str, signal: float) -> float:
    """Fall of a score; all of the signal where no model of the table could be made."""
    if row.get(name) is None:
        return signal
    return min(float(row[f"{name}_reference"] - row[name]), signal)
