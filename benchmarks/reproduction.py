"""Chapter 5 of the thesis, compared: tables behind docs/evidence/chapter5.md, from results of comparisons.

python benchmarks/reproduction.py configs/thesis_ch5.yaml cart=runs/cart tabddpm=runs/tabddpm > tables.md

Each argument is SCALE=FOLDER: a scale of the plan, and the folder that `hybrid compare --scale SCALE` filled, finished
or not. A judgement needs two seeds or more; with one, the numbers stand without.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.analysis import Answers, answer, results
from hybrid.analysis.contrasts import Estimate, complete, estimates
from hybrid.analysis.differences import PairedDifference
from hybrid.analysis.effects import EffectModel
from hybrid.comparison import load_plan
from hybrid.comparison.results import ROWS, TABLE, TrialRows, results_table
from hybrid.comparison.schedule import expand
from hybrid.comparison.write import facets
from hybrid.evaluation import REGISTRY
from hybrid.report import describe
from hybrid.report.comparison.data import name_of
from hybrid.report.comparison.words import concern_titles, paradox, with_interval
from hybrid.report.run.metrics import number

TEXTS = describe(REGISTRY.values())
STAGES = ("original", "anonymized", "synthetic", "baseline")
SHOWN = ("strongest_attack", "singling_out", "inference", "identical_match", "tstr", "discriminator", "total_variation")


@dataclass(frozen=True)
class Ran:
    """What was run of one scale."""

    scale: str
    answers: Answers
    planned: int


def read(plan_path: Path, scale: str, folder: Path) -> Ran:
    plan = load_plan(plan_path, scale)
    configurations = expand(plan, plan_path.parent).configurations
    kept = folder / TABLE
    table = pd.read_csv(kept) if kept.exists() else results_table(list(TrialRows(folder / ROWS).read().values()))
    found = results(table, plan.factor_names, facets(configurations))
    return Ran(scale, answer(found), len(configurations) * len(plan.seeds))


def tables(ran: Sequence[Ran]) -> str:
    parts = [_what_was_run(ran)]
    for title, lines in (
        ("k has no effect", _of_k),
        ("Anonymization causes most of the loss of utility", _of_loss),
        ("Inference drops to 0 after anonymization", _of_inference),
        ("Singling out is only closed by the generator", _of_singling_out),
        ("Conditional is worse than the generator alone", _of_conditional),
        ("The transition paradox: conditional against uniform", _of_paradox),
        ("The best configurations (tables A.1 to A.4)", _of_best),
    ):
        body = "\n\n".join(f"**{one.scale}**\n\n" + "\n".join(lines(one.answers)) for one in ran)
        parts.append(f"## {title}\n\n{body}\n")
    return "\n".join(parts)


def _what_was_run(ran: Sequence[Ran]) -> str:
    rows = []
    for one in ran:
        found = one.answers.results
        seeds = ", ".join(map(str, sorted(found.ok["seed"].unique())))
        several = int((found.ok.groupby("configuration")["seed"].nunique() > 1).sum())
        failed = len(found.table) - len(found.ok)
        rows.append([one.scale, f"{len(found.table)} of {one.planned}", seeds, str(several), str(failed)])
    head = ["scale", "runs that ended, of those planned", "seeds", "configurations with several seeds", "failed"]
    return "## What was run\n\n" + "\n".join(_grid(head, rows)) + "\n"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


def _columns(answers: Answers, stages: Sequence[str]) -> Iterator[str]:
    for name in SHOWN:
        for stage in stages:
            yield from (c.name for c in answers.results.columns.values() if c.stage == stage and c.metric == name)


def _title(answers: Answers, column: str) -> str:
    found = answers.results.columns[column]
    return f"{name_of(found, TEXTS)} ({found.stage})"


def _of_k(answers: Answers) -> list[str]:
    """The largest k against the smallest, everything else equal."""
    levels = answers.results.facet_table()
    if "k" not in levels or levels["k"].nunique() < 2:
        return ["k was not varied."]
    rows, found = [], 0
    columns = list(_columns(answers, ("anonymized", "synthetic")))
    for column in columns:
        values = answers.results.matrix(column)
        kept, seeds = complete(values)
        model = EffectModel(levels[kept])
        if "k" not in model.levels:
            continue
        names, weights = model.names("k"), model.main("k")[1]
        low, high = (names.index(name) for name in (min(names, key=float), max(names, key=float)))
        whole = values[np.ix_(kept, seeds)]
        difference = estimates(
            (weights[high] - weights[low])[None], whole, len(columns), overlap=answers.results.overlap
        )[0]
        found += difference.found
        rows.append(
            [_title(answers, column), f"{names[low]} to {names[high]}", _change(difference), _judged(difference)]
        )
    verdict = f"An effect of k was found in {found} of {len(rows)} rows."
    if len(answers.results.seeds) == 1:
        verdict = "One seed: nothing is concluded."
    return [*_grid(["metric (stage)", "k", "change (95 %)", "beyond chance"], rows), "", verdict]


def _change(estimate: Estimate) -> str:
    return with_interval(estimate, signed=True)


def _judged(estimate: Estimate) -> str:
    if estimate.low is None:
        return "–"
    return "yes" if estimate.found else "perhaps" if estimate.differs else "no"


def _of_loss(answers: Answers) -> list[str]:
    rows = []
    for stage in answers.stages:
        if stage.column.metric not in ("tstr", "discriminator", "total_variation"):
            continue
        steps = [stage.steps.get(name) for name in ("anonymized - original", "synthetic - anonymized")]
        if any(step is None for step in steps):
            continue
        share = _share(answers, stage.column.name)
        rows.append(
            [name_of(stage.column, TEXTS), *(_change(step) for step in steps if step), share and with_interval(share)]
        )
    head = ["metric", "anonymized minus original", "synthetic minus anonymized", "anonymization's share of the loss"]
    return _grid(head, [[cell or "–" for cell in row] for row in rows])


def _share(answers: Answers, column: str) -> Estimate | None:
    """(anonymized - original) / (synthetic - original), of the means over all configurations of each seed."""
    stages = [answers.results.matrix(f"{stage}{column[len('synthetic') :]}") for stage in ("original", "anonymized")]
    synthetic = answers.results.matrix(column)
    kept, seeds = complete(stages[0] + stages[1] + synthetic)
    if not kept.any():
        return None
    original, anonymized, end = (values[np.ix_(kept, seeds)].mean(axis=0) for values in (*stages, synthetic))
    shares = ((anonymized - original) / (end - original))[None]
    return estimates(np.ones((1, 1)), shares, overlap=answers.results.overlap)[0]


def _at_stages(answers: Answers, metric: str) -> list[str]:
    """The metric at every stage, then apart by transition."""
    rows = [
        [name_of(each.column, TEXTS), *(with_interval(mean) if mean else "–" for mean in map(each.means.get, STAGES))]
        for each in answers.stages
        if each.column.metric == metric
    ]
    levels = answers.results.facet_table()
    ways = levels["transition"] + ", " + levels["order"]
    apart = [
        [_title(answers, column), name, with_interval(mean)]
        for column in _columns(answers, ("anonymized", "synthetic"))
        if answers.results.columns[column].metric == metric
        for name in dict.fromkeys(ways)
        if (mean := _mean(answers, column, (ways == name).to_numpy())) is not None
    ]
    return [*_grid(["metric", *STAGES], rows), "", *_grid(["metric (stage)", "transition", "mean (95 %)"], apart)]


def _mean(answers: Answers, column: str, chosen: np.ndarray) -> Estimate | None:
    """Mean over the chosen configurations."""
    values = answers.results.matrix(column)
    kept, seeds = complete(np.where(chosen[:, None], values, np.nan))
    n = int(kept.sum())
    if not n:
        return None
    return estimates(np.full((1, n), 1 / n), values[np.ix_(kept, seeds)], overlap=answers.results.overlap)[0]


def _of_inference(answers: Answers) -> list[str]:
    return _at_stages(answers, "inference")


def _of_singling_out(answers: Answers) -> list[str]:
    return _at_stages(answers, "singling_out")


def _differences(found: Sequence[PairedDifference], one: str, other: str) -> list[str]:
    rows = [
        [name_of(e.column, TEXTS), f"{e.one:.3f}", f"{e.other:.3f}", _change(e.estimate), e.judgement, str(e.pairs)]
        for e in found
    ]
    return _grid(["metric", one, other, "difference (95 %)", f"{one} is", "pairs"], rows)


def _of_conditional(answers: Answers) -> list[str]:
    return _differences(answers.paradox.alone, "conditional", "generator alone")


def _of_paradox(answers: Answers) -> list[str]:
    found = answers.paradox.differences
    return [paradox(found, answers.results.margin, TEXTS), "", *_differences(found, "conditional", "uniform")]


def _of_best(answers: Answers) -> list[str]:
    titles = concern_titles(answers, TEXTS)
    ranking = [
        [
            each.configuration,
            *(number(value.value) for value in each.values.values()),
            ", ".join(titles[concern] for concern in (*each.worse, *each.better)) or "–",
        ]
        for each in answers.ranking[:4]
    ]
    metrics = [
        [
            name_of(each.column, TEXTS),
            each.configuration,
            with_interval(each.value, wide=True),
            "–" if each.again is None else number(each.again),
            "–" if each.gain is None else with_interval(each.gain, signed=True, wide=True),
            str(each.near) if each.value.seeds > 1 else "–",
        ]
        for each in answers.per_metric
        if each.column.metric in SHOWN
    ]
    head = ["metric", "best", "value", "chosen by other seeds", "minus generator alone", "not distinguishable from it"]
    first = _grid(["best overall", *titles.values(), "told from the first by"], ranking)
    return [*first, "", *_grid(head, metrics)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("scales", nargs="+", metavar="SCALE=FOLDER")
    arguments = parser.parse_args()
    pairs = [scale.partition("=") for scale in arguments.scales]
    print(tables([read(arguments.plan, scale, Path(folder)) for scale, _, folder in pairs]).rstrip("\n"))


if __name__ == "__main__":
    main()
