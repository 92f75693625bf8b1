"""Whether a leak of the people least like others is noticed, whoever says who they are.

    python benchmarks/most_exposed.py leaks RESULTS.jsonl [--tables FOLDER] [--seeds 5]
    python benchmarks/most_exposed.py clean RESULTS.jsonl [--tables FOLDER] [--seeds 40]
    python benchmarks/most_exposed.py cost RESULTS.jsonl
    python benchmarks/most_exposed.py show RESULTS.jsonl

``leaks`` puts noisy copies of 1 % of the training people (numbers within 5 %, one category redrawn) into a table of new
people, 2,200 rows beside as many control records. They are the most unusual by one of several rankings (RANKINGS),
most of which the program does not use. The rules about people never seen of the policy `default` then judge the table.
``clean`` leaks nobody: whatever a rule says is a false alarm. ``cost`` times the two metrics and the planted leak on
10,000 rows. The tables are simulated customers of a bank, and with ``--tables`` those of benchmarks/four_tables.py.
The results have one line per table; tables that are there are not judged again. The subset that takes
minutes: ``leaks --seeds 1`` and ``clean --seeds 4``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from four_tables import configurations, lines, people
from gate import SECRETS, excess_rules
from gate import options as options_of

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import gower
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy, packaged_policy
from hybrid.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.evaluation.simulated_customers import make_customers

ROWS, SHARE = 2_200, 0.01
CLEAN_ROWS = ((2_200, 2_200), (1_000, 1_000), (1_000, 333), (500, 500), (1_000, 200), (400, 80))
COSTLY = 10_000


def standardized(context: Context) -> np.ndarray:
    """Standardized numbers, missing ones at the mean; shape (n, p)."""
    numbers = context.encoded("train").numbers[:, context.encoding.continuous]
    spread = np.nanstd(numbers, axis=0)
    return np.nan_to_num((numbers - np.nanmean(numbers, axis=0)) / np.where(spread > 0, spread, 1))


def isolation_forest(context: Context) -> np.ndarray:
    from sklearn.ensemble import IsolationForest

    categories = context.encoded("train").ranks[:, ~context.encoding.continuous]
    hot = [column[:, None] == np.unique(column) for column in categories.T]
    features = np.hstack([standardized(context), *hot]).astype(float)
    return -IsolationForest(random_state=context.seed).fit(features).score_samples(features)


def five_nearest(context: Context) -> np.ndarray:
    """Mean Gower distance to the five nearest others."""
    space, train = gower(context.encoding, tables=[context.encoded("train")]), context.encoded("train")
    placed = space.place(train)
    return nearest(space, placed, placed, 5, np.arange(len(train)))[0].mean(axis=1)


def largest_amounts(context: Context) -> np.ndarray:
    """Mean rank of all numbers."""
    return pd.DataFrame(standardized(context)).rank().mean(axis=1).to_numpy()


def extremes(context: Context) -> np.ndarray:
    """Mean distance of ranks from the middle: large or small in many columns."""
    ranks = pd.DataFrame(standardized(context)).rank(pct=True)
    return (ranks - 0.5).abs().mean(axis=1).to_numpy()


def far_from_the_mean(context: Context) -> np.ndarray:
    """Mahalanobis distance of the numbers."""
    numbers = standardized(context)
    return np.einsum("ij,jk,ik->i", numbers, np.linalg.pinv(np.atleast_2d(np.cov(numbers.T))), numbers)


def local_outliers(context: Context) -> np.ndarray:
    return local_outlier_factors(context.space, context.place(context.whole("train")))


RANKINGS: dict[str, Callable[[Context], np.ndarray]] = {
    "isolation forest": isolation_forest,
    "five nearest by Gower": five_nearest,
    "largest amounts": largest_amounts,
    "local outlier factor": local_outliers,
    "Mahalanobis": far_from_the_mean,
    "extremes": extremes,
}
Case = dict[str, object]


def draw(table: Callable[[int, np.random.Generator], Table], case: Case) -> tuple[Table, Table, Table]:
    """Training, control and new people."""
    sizes = int(str(case["train"])), int(str(case["control"])), int(str(case["train"]))
    everybody = table(sum(sizes), rng_for(int(str(case["seed"])), "most exposed", case["source"], *sizes))
    return tuple(everybody.take(rows) for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))  # type: ignore[return-value]


def judged(case: Case, table: Callable[[int, np.random.Generator], Table], policy: Policy) -> Case:
    """One line of the results: the rules that do not pass."""
    train, control, fresh = draw(table, case)
    seed, source = int(str(case["seed"])), str(case["source"])
    options = options_of(source, policy) if source in SECRETS else options_of("demo", policy)
    options = options if source in SECRETS else options.model_copy(update={"secrets": None})
    if case["leaked"]:
        context = Context(train, control, fresh, EvaluateOptions(max_records=None), seed)
        values = RANKINGS[str(case["leaked"])](context)
        most = np.argsort(-values, kind="stable")[: round(SHARE * len(values))]
        planted = replace(LEAKS["near"], people=lambda *_: most).plant(context, SHARE, rng_for(seed, "leak"))
        fresh = planted.table  # type: ignore[union-attr]
    found = evaluate(train, control, {"synthetic": fresh}, options, rng_for(seed, "evaluate"))
    checks = judge(excess_rules(policy), found, None).checks
    return case | {"noticed": [check.rule for check in checks if check.status in ("review", "block")]}


def cases(what: str, sources: list[str], seeds: int) -> Iterator[Case]:
    for seed in range(1, seeds + 1):
        for source in sources:
            if what == "clean":
                train, control = CLEAN_ROWS[seed % len(CLEAN_ROWS)]
                yield {"source": source, "train": train, "control": control, "seed": 1000 + seed, "leaked": ""}
                continue
            for leaked in RANKINGS:
                yield {"source": source, "train": ROWS, "control": ROWS, "seed": seed, "leaked": leaked}


def cost() -> Case:
    """Seconds of one core on 10,000 rows: each metric alone, again with what is remembered, and one planted leak."""
    train, control, fresh = (make_customers(COSTLY, rng_for(1, "cost", part)) for part in ("train", "control", "new"))
    found: Case = {"rows": COSTLY}
    REGISTRY["membership_exposed"].measure(
        Context(train, control, fresh.take(np.arange(300)), EvaluateOptions(), 1), None
    )
    for name in ("membership", "membership_exposed", "inference_exposed"):
        context = Context(train, control, fresh, EvaluateOptions(), 1)
        found[name] = _seconds(lambda: REGISTRY[name].measure(context, None))  # noqa: B023 - called at once
        if name == "membership":
            found["membership_exposed after membership"] = _seconds(
                lambda: REGISTRY["membership_exposed"].measure(context, None)  # noqa: B023
            )
    return found


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return round(time.process_time() - started, 2)


def show(results: list[Path]) -> None:
    """Noticed leaks by table and ranking, and false alarms."""
    frame = pd.DataFrame([line for line in lines(results) if "noticed" in line])
    frame["alarms"] = frame["noticed"].map(bool)
    frame["by"] = frame["noticed"].map(lambda rules: [rule for rule in rules if "exposed" in rule])
    groups = frame.groupby(["source", "leaked", "train", "control"], sort=False)
    print(groups["alarms"].agg(["sum", "count"]).assign(by_exposed=groups["by"].agg(lambda x: x.map(bool).sum())))
    print(frame[frame["leaked"] == ""]["noticed"].explode().value_counts().to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("leaks", "clean", "cost", "show"))
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.what == "show":
        show(chosen.results)
        return
    if chosen.what == "cost":
        print(json.dumps(cost(), indent=1))
        return
    policy = load_policy(packaged_policy("default") or Path("default"))
    sources: dict[str, Callable[[int, np.random.Generator], Table]] = {"customers": make_customers}
    with tempfile.TemporaryDirectory() as work:
        if chosen.tables is not None:
            configs = configurations(chosen.tables, Path(work), rows=100_000)
            for name in configs.keys() - {"demo"}:
                sources[name] = _drawn(people(configs[name]))
        (results,) = chosen.results
        results.touch()
        done = [{key: value for key, value in line.items() if key != "noticed"} for line in lines([results])]
        with results.open("a", encoding="utf-8") as out:
            for case in cases(chosen.what, list(sources), chosen.seeds):
                if case not in done:
                    out.write(json.dumps(judged(case, sources[str(case["source"])], policy)) + "\n")
                    out.flush()


def _drawn(table: Table) -> Callable[[int, np.random.Generator], Table]:
    return lambda n, rng: table.take(rng.permutation(len(table))[:n])


if __name__ == "__main__":
    main()
