"""Verdicts of the gate.

One check per rule and number, the worst decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self

from hybrid.base.language import ENGLISH, Language
from hybrid.base.sentence import sentence
from hybrid.publication.actions import Action
from hybrid.publication.criteria import QUESTIONS, Criterion, criterion_of

if TYPE_CHECKING:
    import pandas as pd

Decision = Literal["pass", "review", "block"]
"""Verdict on a run: release, let people decide, or refuse."""
Status = Literal["pass", "review", "block", "not judged"]
"""Result of one check; not judged: there is no number to judge."""
Standing = Literal["pass", "not ruled out", "review", "block", "not judged"]
"""How a check, or several about one question, is shown; not ruled out: it passes, and more than what is allowed was not
found, but the upper end of its interval lies beyond the limit."""
WORST_FIRST: tuple[Standing, ...] = ("block", "review", "not judged", "not ruled out", "pass")
SEVERITY: dict[Decision, int] = {"pass": 0, "review": 1, "block": 2}
CONTENT = frozenset({"lost_column", "lost_link", "lost_prediction"})
"""Metrics of what the table is for: a reader must meet them before details of the attacks."""
REPEATED = ("membership_trained", "membership_trained_random")
"""Metrics of an attacker who repeats the whole process: the first page says where that was not tried."""
_SHOWN = 12
"""Open checks that the short form of a verdict lists."""


@dataclass(frozen=True)
class Check:
    """One rule of the policy, applied.

    ``found`` states in plain words what was found beside what was demanded; ``hint`` what to try beside the
    actions. Neither holds a record.
    """

    rule: str
    status: Status
    found: str
    hint: str = ""
    actions: tuple[Action, ...] = ()
    """Changes of the configuration that the run has not made, the best first."""
    applies: bool = True
    """Whether the rule is about this run; False only where the policy names the condition under which it is not."""
    details: str = ""
    """The finding by the program's own names: metric, column, stage, value, interval."""
    metric: str | None = None
    """Metric of the released table that the check is about."""
    excess: tuple[float, float] | None = None
    """Ends of the excess over people never seen, widened so that the intervals of all rules hold together."""
    measured: float | None = None
    """That excess: 0 without a leak, within -1..1."""
    limit: float | None = None
    """What is allowed of it."""
    forbidden: float | None = None
    """Beyond what of it, if that is certain, the policy forbids the release; None where it forbids none."""
    column: str | None = None
    """Column it is about, of a rule about each column."""
    accepted: str = ""
    """Leak that cannot be excluded, in plain words, where the policy accepts that for so small a table."""
    table: str | None = None
    """Table it is about, of several linked ones; None for a single table, and for what is about all of them."""
    reason: str = ""
    """Why the policy has the rule, of one that is not met."""
    subject: str = ""
    """Columns, or the group of people, that fare worst by the rule, where the metric names them; of a leak that was not
    shown to be noticed, the leak."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Parse an entry of :meth:`Verdict.to_json`; entries of later versions are left out."""
        known = {entry.name for entry in fields(cls)}
        found = {name: value for name, value in content.items() if name in known}
        return cls(**found | {"actions": tuple(map(Action.from_json, found.get("actions", ())))})

    def to_try(self, language: Language = ENGLISH) -> str:
        """Actions, and further words, separated by semicolons."""
        words = [language.own(self.hint)] if self.hint else []
        return "; ".join([*(one.words(language) for one in self.actions), *words])

    @property
    def message(self) -> str:
        """Finding, and the reason of the policy."""
        return sentence("because", found=self.found, reason=self.reason) if self.reason else self.found

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"message": self.message}

    @property
    def standing(self) -> Standing:
        """The status as it is shown: everything that shows a check takes its sign and colour from here."""
        if self.status == "pass" and self.excess is not None and self.limit is not None and self.excess[1] > self.limit:
            return "not ruled out"
        return self.status

    @property
    def is_above_by_chance(self) -> bool:
        """More was measured than is allowed, and the rule is met: it may be chance."""
        above = self.measured is not None and self.limit is not None and self.measured > self.limit
        return above and self.standing == "not ruled out"

    def proves(self, times: float = 1) -> bool:
        """True where even the low end of its interval is a leak of more than so many times what is allowed."""
        return self.excess is not None and self.limit is not None and self.excess[0] > times * self.limit

    @property
    def decision(self) -> Decision:
        """The verdict that this check alone leads to; a rule that applies and was not judged is a review."""
        if self.status == "not judged":
            return "review" if self.applies else "pass"
        return self.status


@dataclass(frozen=True)
class Verdict:
    """The worst decision of all checks, and the checks."""

    status: Decision
    policy: str
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, policy: str, checks: tuple[Check, ...]) -> Verdict:
        """The verdict of some checks; without any it is a review, since nothing was judged."""
        decisions = [check.decision for check in checks] or ["review"]
        return cls(max(decisions, key=SEVERITY.__getitem__), policy, checks)

    @property
    def open_checks(self) -> tuple[Check, ...]:
        """Checks that do not pass, the worst first; among equals first what is lost of the content."""
        failed = [check for check in self.checks if check.decision != "pass"]
        return tuple(sorted(failed, key=lambda check: (-SEVERITY[check.decision], check.metric not in CONTENT)))

    def about(self, table: str) -> Verdict:
        """Part of the verdict that is about one of several tables; all of it for the only one, which has no name."""
        if not table:
            return self
        return Verdict.of(self.policy, tuple(check for check in self.checks if check.table == table))

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"checks": [check.to_json() for check in self.checks]}

    def to_frame(self) -> pd.DataFrame:
        """Checks as a DataFrame, one row each, the worst first."""
        import pandas as pd

        rest = [check for check in self.checks if check.decision == "pass"]
        rows = [
            {"rule": check.rule, "status": check.status, "message": check.message, "hint": check.to_try()}
            for check in (*self.open_checks, *rest)
        ]
        return pd.DataFrame(rows, columns=["rule", "status", "message", "hint"])

    def __repr__(self) -> str:
        open_ = self.open_checks
        lines = [f"{self.status.upper()}  policy {self.policy}; {folded(self)}"]
        lines += [f"  {check.status:<10}  {check.rule}: {check.message}" for check in open_[:_SHOWN]]
        if len(open_) > _SHOWN:
            lines.append(f"  and {len(open_) - _SHOWN} more: .to_frame() lists all")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(check.status)}</td><td>{escape(check.rule)}</td><td>{escape(check.message)}</td>"
            f"<td>{escape(check.to_try())}</td></tr>"
            for check in self.open_checks
        )
        head = "<tr><th>status</th><th>rule</th><th>found</th><th>try</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else ""
        return f"<p><b>{self.status.upper()}</b>, policy {escape(self.policy)}; {folded(self)}</p>{table}"


def proven(checks: Iterable[Check], times: float = 1) -> dict[Criterion, list[Check]]:
    """Checks that show, beyond chance, more than so many times the leak their policy allows, by criterion."""
    found: dict[Criterion, list[Check]] = {criterion: [] for criterion in QUESTIONS}
    for check in checks:
        criterion = criterion_of(check.metric)
        if criterion is not None and check.proves(times):
            found[criterion].append(check)
    return {criterion: those for criterion, those in found.items() if those}


def folded(verdict: Verdict) -> str:
    """Count the checks that pass and that do not apply."""
    passes = sum(check.status == "pass" for check in verdict.checks)
    others = sum(not check.applies for check in verdict.checks)
    return sentence("passed.others", n=passes, others=others) if others else sentence("passed", n=passes)
