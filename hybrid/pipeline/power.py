"""Trials of the gate with planted leaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.evaluation.changed_table import ChangedContext
from hybrid.evaluation.context import Context, Share
from hybrid.evaluation.engine.threads import one_thread_each, side_by_side
from hybrid.evaluation.measure import Evaluation, MetricResult, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.planted_leaks import LEAKS, Leak
from hybrid.evaluation.pooled import pooled_metric
from hybrid.evaluation.registry import REGISTRY
from hybrid.evaluation.run_metrics import remembering
from hybrid.publication.criteria import Criterion
from hybrid.publication.gate import confidence_of_each
from hybrid.publication.policy import Policy
from hybrid.publication.power import BLOCKED, LeakTrials, Power
from hybrid.publication.rules.metric import MetricRule, MetricRules
from hybrid.publication.rules.rule import Facts
from hybrid.publication.verdict import Check
from hybrid.table import Table
from hybrid.table.persons import n_persons

SMALL = 5_000
"""Rows of the judged table up to which all trials that the policy asks for are made."""
LEAST_TRIALS = 5


def trials_for(asked: int, rows: int) -> int:
    """Trials per kind of leak; fewer on larger tables, as long as each is noticed."""
    return max(min(asked, LEAST_TRIALS), min(asked, round(asked * SMALL / max(rows, 1))))


def judged_table(
    train: Table, control: Table | None, table: Table, options: EvaluateOptions, seed: int, share: Share | None = None
) -> Context:
    """A table as it was evaluated under the seed of a run."""
    metric_seed = int(rng_for(seed, "evaluate").integers(2**63))
    return Context(train, control, table, options, metric_seed, share=share or remembering({}))


def measure_power(
    judged: Sequence[Context],
    evaluation: Evaluation,
    policy: Policy,
    seed: int,
    progress: Progress = silent,
    confidence: Mapping[Criterion | None, float] | None = None,
    people: int | None = None,
) -> Power:
    """Plant every leak that the policy wants noticed into a judged table, and judge again.

    A leak counts as noticed if a rule about an excess that passed on the table does not pass on the table with the
    leak. Both are judged as a first draw: the trials of a table are then the same whatever is known of other draws, and
    a repeated draw, which is judged more strictly, notices no less. Only metrics that the leak is seen by are computed,
    one after the other until a rule notices; trials of a kind end once too many passed unnoticed. Kinds are tried side
    by side on the cores there are, each in each of its ways. On a larger table fewer trials are planned; a leak that
    one of them misses is tried as often as on a small one, since one of eight says little.

    ``judged`` is one table, or that of every fold of ``split.control: cross``: a trial then plants the leak into every
    one, and the pooled numbers are judged. ``confidence`` is that of the excesses that the verdict judges, if it judges
    more tables than this one; ``people`` are those in the data, where they are more than those of this table.
    """
    people = people or people_in(judged)
    demanded, asked = policy.demanded(people), policy.power.trials
    gate = _Gate(policy, evaluation, confidence or confidence_of_each(policy, evaluation))
    planned = trials_for(asked, len(judged[0].table))

    def tried(leak: Leak, told: Progress) -> LeakTrials:
        trials = LeakTrials(leak.name, demanded[leak.name], planned, way=leak.way)
        return _tried(leak, trials, asked, gate, judged, seed, told)

    leaks = [way for name, leak in LEAKS.items() if name in demanded for way in leak.ways]
    with one_thread_each(models=False):
        done = side_by_side(tried, leaks, progress)
    return Power(tuple(done), sum(0 if one.control is None else len(one.control) for one in judged), people)


def people_in(judged: Sequence[Context]) -> int:
    """People whom tables were made from, and those kept apart; of folds everybody is control once."""
    control = sum(n_people(one.control) for one in judged)
    return control if len(judged) > 1 else control + n_people(judged[0].train)


def n_people(table: Table | None) -> int:
    """Number of persons of a table, 0 without one."""
    return 0 if table is None else n_persons(table)


def _tried(
    leak: Leak, trials: LeakTrials, asked: int, gate: _Gate, judged: Sequence[Context], seed: int, progress: Progress
) -> LeakTrials:
    if gate.reason:
        return replace(trials, reason=gate.reason)
    while trials.made < trials.planned and not trials.hopeless:
        changed = []
        for fold, context in enumerate(judged):
            rng = rng_for(seed, "power", leak.label, trials.made, *([fold] if fold else []))
            planted = leak.plant(context, trials.size, rng)
            if isinstance(planted, NotComputable):
                return replace(trials, reason=planted.reason, lacks=planted.lacks)
            changed.append(ChangedContext(context, *planted))
        noticed = gate.notices(changed, leak.seen_by)
        planned = trials.planned if noticed else asked
        trials = replace(trials, planned=planned, made=trials.made + 1, noticed=trials.noticed + noticed)
        progress(f"power {leak.label}", trials.made, trials.planned)
    return trials


class _Gate:
    def __init__(self, policy: Policy, evaluation: Evaluation, confidence: Mapping[Criterion | None, float]) -> None:
        self._confidence, self._league = confidence, policy.trust
        self._kind = MetricRules()
        rules = [rule for rule in policy.rules if rule.detects and rule.metric in REGISTRY]
        before = {rule: self._checks(rule, evaluation) for rule in rules}
        self._passed = {rule: checks for rule, checks in before.items() if any(_passes(check) for check in checks)}
        self.reason = ""
        if any(check.decision == "block" for checks in before.values() for check in checks):
            self.reason = BLOCKED
        elif not self._passed:
            self.reason = "no rule about people never seen passes on the table as it is, so that none could fail"

    def notices(self, contexts: Sequence[Context], metrics: Sequence[str]) -> bool:
        return any(self._noticed_by(name, contexts) for name in metrics)

    def _noticed_by(self, name: str, contexts: Sequence[Context]) -> bool:
        rules = [rule for rule in self._passed if rule.metric == name]
        if not rules:
            return False
        folds = [Evaluation(tuple(self._measured(name, context))) for context in contexts]
        measured = Evaluation(tuple(pooled_metric(name, folds, "synthetic")))
        return any(self._fails(rule, measured) for rule in rules)

    def _fails(self, rule: MetricRule, measured: Evaluation) -> bool:
        pairs = zip(self._passed[rule], self._checks(rule, measured), strict=True)
        return any(_passes(before) and after.status in ("review", "block") for before, after in pairs)

    def _checks(self, rule: MetricRule, evaluation: Evaluation) -> Sequence[Check]:
        return tuple(self._kind.judge(rule, Facts(evaluation, confidence=self._confidence, league=self._league)))

    def _measured(self, name: str, context: Context) -> Iterator[MetricResult]:
        metric = REGISTRY[name]
        for column in metric.columns(context):
            yield metric.measure(context, column)


def _passes(check: Check) -> bool:
    return check.status == "pass"
