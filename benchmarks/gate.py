"""What the gate notices and what it does not: false alarms on tables without a leak, and planted leaks.

    python benchmarks/gate.py clean RESULTS.jsonl [--tables FOLDER] [--draws 10]
    python benchmarks/gate.py leaks RESULTS.jsonl [--tables FOLDER] [--rows 4000]
    python benchmarks/gate.py foreign RESULTS.jsonl [--tables FOLDER] [--rows 2000] [--seeds 1]
    python benchmarks/gate.py judge RESULTS.jsonl... [--policy NAME] [--usefulness]

``clean`` draws training records, control records and new people from each of benchmarks/four_tables.py's tables, and
measures the new people as if they were a synthetic table: whatever the gate says against them is a false alarm.
``leaks`` puts training records of Adult (without ``--tables``: of the demo) into such tables, and ``foreign`` what
programs of others leave in theirs into all of them: memorized outliers, spliced, interpolated and rotated rows, digits.
All append one line per table with every metric that the default policy reads; lines that are there are not computed
again, so that a run can be stopped at any time. ``judge`` applies the excess rules of a policy to the lines, with
``--usefulness`` also those about what the table is good for: limits can be chosen without measuring again. The subset
that takes minutes: ``clean --draws 1`` and ``leaks --rows 1000 --seeds 1``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from four_tables import DECISIONS, configurations, lines, people

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.attacks.vulnerability import vulnerability
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import NotComputable
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.finished_run import evaluation_from_json
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy, packaged_policy
from hybrid.publication.rules.metric import MetricRule
from hybrid.table import Table
from hybrid.table.codings import decimals_of

SIZES = ((200, 200), (200, 40), (400, 80), (500, 500), (600, 200), (1000, 333), (1000, 200), (1500, 500))
"""Training and control records of tables without a leak: 1:1 to 5:1."""
CONTROLS = (1.0, 1 / 3)
SECRETS = {name: decisions.secrets for name, decisions in DECISIONS.items()} | {"demo": ("diagnosis",)}
TARGETS = {name: decisions.targets for name, decisions in DECISIONS.items()} | {"demo": ("readmitted",)}


@dataclass(frozen=True)
class Case:
    """A table to measure."""

    source: str
    train: int
    control: int
    seed: int
    leak: str = ""
    share: float = 0.0

    @property
    def key(self) -> str:
        return json.dumps(self.__dict__, sort_keys=True)


def excess_rules(policy: Policy) -> Policy:
    """The policy's rules about excesses of the released table, and nothing else."""
    return _only(policy, lambda rule: rule.detects)


def rules_of_content(policy: Policy) -> Policy:
    """The same, with the rules about what the released table is good for."""
    return _only(policy, lambda rule: rule.detects or REGISTRY[rule.metric].family != "privacy")


def _only(policy: Policy, chosen: Callable[[MetricRule], bool]) -> Policy:
    rules = tuple(rule for rule in policy.rules if chosen(rule))
    return policy.model_copy(update={"rules": rules, "anonymity": (), "history": ()}).without_detection()


def options(source: str, policy: Policy) -> EvaluateOptions:
    """The evaluation of the metrics that these rules read."""
    names = tuple(dict.fromkeys(rule.metric for rule in rules_of_content(policy).rules))
    return EvaluateOptions(metrics=names, secrets=SECRETS[source], targets=TARGETS[source])


def draw(table: Table, case: Case) -> tuple[Table, Table, Table]:
    """Training records, control records and new people, disjoint."""
    order = rng_for(case.seed, "gate", case.source, case.train, case.control).permutation(len(table))
    ends = np.cumsum([case.train, case.control, case.train])
    if ends[-1] > len(table):
        raise SystemExit(f"{case.source} has {len(table)} rows, {ends[-1]} are needed")
    return tuple(table.take(rows) for rows in np.split(order[: ends[-1]], ends[:-1]))  # type: ignore[return-value]


def rarest(context: Context, share: float, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001
    """The ``share`` of training records least like the others."""
    values = vulnerability(context, context.whole("train"))
    return np.argsort(-values)[: round(share * len(values))]


def holders(context: Context, column: str, value: str) -> np.ndarray:
    """All training records with one value."""
    return np.flatnonzero((context.train.frame[column] == value).fillna(False).to_numpy(bool))


def blurred(context: Context, rows: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Records with their categories, and numbers within 5 %."""
    near, exact = LEAKS["near"].values(context, rows, rng), context.train.take(rows).frame
    categories = [column.name for column in context.schema if not column.kind.is_continuous]
    return near.assign(**{name: exact[name].set_axis(near.index) for name in categories})


def interpolated(context: Context, rows: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    """Records with numbers midway between theirs and those of the nearest other person, as SMOTE draws them."""
    frame, names = context.train.frame, [column.name for column in context.schema if column.kind.is_number]
    numbers = frame[names].astype("float64")
    points = ((numbers - numbers.mean()) / numbers.std().replace(0, 1)).fillna(0).to_numpy()
    nearest = [int(np.argsort(((points - points[row]) ** 2).sum(axis=1), kind="stable")[1]) for row in rows]
    midway = (numbers.take(rows).to_numpy() + numbers.take(nearest).to_numpy()) / 2
    found = context.train.take(rows).frame.copy()
    for at, column in enumerate(context.schema[name] for name in names):
        values = pd.Series(midway[:, at], index=found.index).round(decimals_of(column) or 0)
        found[column.name] = values.astype(found[column.name].dtype)
    return found


def digits(context: Context, rows: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    """The numbers of records; categories stay those of the replaced rows."""
    return context.train.take(rows).frame[[column.name for column in context.schema if column.kind.is_number]]


VALUES = {"blurred": blurred, "interpolated": interpolated, "digits": digits}


def plant(case: Case, train: Table, control: Table, fresh: Table) -> Table:
    """New people, some rows of whom are training records as the case says."""
    if not case.leak:
        return fresh
    context = Context(train, control, fresh, EvaluateOptions(secrets=SECRETS[case.source]), case.seed)
    rng = rng_for(case.seed, "leak", case.leak)
    kind, _, group = case.leak.partition(" ")
    leak = LEAKS[{"verbatim": "copy"}.get(kind, "near" if kind in VALUES else kind)]  # type: ignore[call-overload]
    if kind in ("exposed", "verbatim"):
        leak = replace(leak, people=rarest)
    if kind in VALUES:
        leak = replace(leak, values=VALUES[kind])
    if group:
        column, _, value = group.partition("=")
        leak = replace(leak, people=lambda context, *_: holders(context, column, value))
    planted = leak.plant(context, case.share, rng)
    if isinstance(planted, NotComputable):
        raise SystemExit(planted.reason)
    return planted.table


def measured(case: Case, tables: Callable[[str], Table], policy: Policy) -> dict[str, Any]:
    """One line of the results."""
    train, control, fresh = draw(tables(case.source), case)
    table = plant(case, train, control, fresh)
    found = evaluate(train, control, {"synthetic": table}, options(case.source, policy), rng_for(case.seed, "evaluate"))
    metrics = found.to_json()["metrics"]
    for metric in metrics:
        metric["details"] = {name: metric["details"][name] for name in ("reason", "lacks") if name in metric["details"]}
    return {"case": case.__dict__, "metrics": metrics}


def clean_cases(sources: list[str], draws: int) -> Iterator[Case]:
    for seed in range(draws):
        for train, control in SIZES:
            for source in sources:
                yield Case(source, train, control, 1000 + seed)


def leak_cases(source: str, rows: int, seeds: int, groups: list[str]) -> Iterator[Case]:
    shares = {
        "copy": (0.002, 0.005, 0.01),
        "blurred": (0.01, 0.02, 0.05),
        "near": (0.02, 0.05, 0.1),
        "exposed": (0.005, 0.01),
        "verbatim": (0.01,),
        "secrets": (0.05, 0.1, 0.2),
        **dict.fromkeys((f"group {group}".strip() for group in groups), (1.0,)),
    }
    for seed in range(seeds):
        for control in CONTROLS:
            for leak, sizes in shares.items():
                for share in sizes:
                    yield Case(source, rows, round(control * rows), 11 + seed, leak, share)


def foreign_cases(sources: list[str], rows: int, seeds: int) -> Iterator[Case]:
    """Leaks of a size that the literature's attacks find: of few people all, of many a tenth and more."""
    shares = {
        "verbatim": (0.005, 0.01, 0.02),
        "splice": (0.05, 0.1, 0.2),
        "interpolated": (0.02, 0.05, 0.2),
        "rotated": (0.05, 0.2, 0.5),
        "digits": (0.01, 0.02, 0.05),
        "blurred": (0.02, 0.05, 0.2),
    }
    for seed in range(seeds):
        for leak, sizes in shares.items():
            for share in sizes:
                for source in sources:
                    train = min(rows, 1_500) if source != "adult" else rows
                    yield Case(source, train, train // 2, 31 + seed, leak, share)


def run(cases: Iterator[Case], results: Path, tables: Callable[[str], Table], policy: Policy) -> None:
    done = {Case(**line["case"]).key for line in lines([results])}
    with results.open("a", encoding="utf-8") as out:
        for case in cases:
            if case.key not in done:
                out.write(json.dumps(measured(case, tables, policy)) + "\n")
                out.flush()


def report(files: list[Path], rules: Policy) -> None:
    """Verdicts by leak and size of control; the rules that raised them."""
    verdicts: defaultdict[tuple[str, str, float, str], list[str]] = defaultdict(list)
    raised: defaultdict[tuple[str, str, float, str], Counter[str]] = defaultdict(Counter)
    for line in lines(files):
        case = Case(**line["case"])
        size = "clean" if not case.leak else f"{case.train / case.control:.0f}:1"
        key = (case.source, case.leak or "none", case.share, size if case.leak else f"{case.train}/{case.control}")
        verdict = judge(rules, evaluation_from_json(line), None)
        statuses = {check.decision for check in verdict.checks if check.status != "not judged"}
        verdicts[key].append("block" if "block" in statuses else "review" if "review" in statuses else "pass")
        raised[key].update(check.rule for check in verdict.checks if check.status in ("review", "block"))
    rows = [
        {"source": key[0], "leak": key[1], "share": key[2], "sizes": key[3], **Counter(found)}
        | {"noticed by": ", ".join(f"{name} {count}" for name, count in raised[key].most_common(4))}
        for key, found in sorted(verdicts.items())
    ]
    frame = pd.DataFrame(rows)
    for name in ("pass", "review", "block"):
        frame[name] = frame.get(name, 0)
    frame[["pass", "review", "block"]] = frame[["pass", "review", "block"]].fillna(0).astype(int)
    columns = ["source", "leak", "share", "sizes", "pass", "review", "block", "noticed by"]
    print(frame[columns].to_string(index=False))
    print(frame[["pass", "review", "block"]].sum().to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("clean", "leaks", "foreign", "judge"))
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--usefulness", action="store_true")
    chosen = parser.parse_args()
    policy = load_policy(packaged_policy(chosen.policy) or Path(chosen.policy))
    if chosen.what == "judge":
        report(chosen.results, (rules_of_content if chosen.usefulness else excess_rules)(policy))
        return
    with tempfile.TemporaryDirectory() as work:
        configs = configurations(chosen.tables, Path(work), rows=100_000)
        kept: dict[str, Table] = {}

        def tables(source: str) -> Table:
            if source not in kept:
                kept[source] = people(configs[source])
            return kept[source]

        source = "adult" if "adult" in configs else "demo"
        groups = ["native-country=Mexico", "race=Asian-Pac-Islander"] if source == "adult" else []
        cases = {
            "clean": lambda: clean_cases(list(configs), chosen.draws),
            "leaks": lambda: leak_cases(source, chosen.rows, chosen.seeds, ["", *groups]),
            "foreign": lambda: foreign_cases(list(configs), chosen.rows, chosen.seeds),
        }
        run(cases[chosen.what](), chosen.results[0], tables, policy)


if __name__ == "__main__":
    main()
