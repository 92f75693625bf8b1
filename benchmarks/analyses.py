"""Coverage of intervals from synthetic tables: figures behind docs/evidence/analyses.md.

python benchmarks/analyses.py [--populations 200] [--settings NAME ...] [--out analyses.csv]

Each population is a sample of people from a known law. A setting of the pipeline makes 20 tables of it. An interval of
the rules of :mod:`hybrid.estimates` from 1, 5 and 20 of these tables should hold the known value in 95 of 100 cases.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.estimates import Design, Fit, ModelFormula, NotEstimable, Rule, combine, fit
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.table_run import TableRun

PEOPLE, TABLES, MANY = 1000, (1, 5, 20), 1_000_000
REFITS = 5
"""Trainings for each population where every table has a generator of its own."""
REGIONS = ("north", "east", "south", "west")
ANALYSES = ("age ~ 1", "income ~ 1", "ill ~ 1", "income ~ age + sex + region", "ill ~ age + sex + income")
HIERARCHIES = {
    "age": "type: intervals\nwidths: [5, 10, 20, 40]\nbottom: 20\ntop: 90\n",
    "sex": "type: tree\ntree: {all: [f, m]}\n",
    "region": "type: tree\ntree: {upper: [north, east], lower: [south, west]}\n",
}
POLICY = """\
name: none
version: "1"
owner: nobody
rules:
- {name: copies, metric: identical_match, direction: lower, review: 1, reason: None}
"""
PARAMETRIC = {
    "generator": "cart",
    "options": {
        "methods": {"age": "linear", "sex": "logistic", "region": "logistic", "income": "linear", "ill": "logistic"}
    },
}
TREES: dict[str, Any] = {"generator": "cart"}
COPYING: dict[str, Any] = {"generator": "cart", "options": {"min_leaf": 5, "smoothing": 0}}
SETTINGS: dict[str, dict[str, Any]] = {
    "real": {},
    "regressions": {"synthesize": PARAMETRIC},
    "regressions, unprotected": {"synthesize": PARAMETRIC, "protect": "off"},
    "trees": {"synthesize": TREES},
    "trees as in synthpop": {"synthesize": COPYING, "protect": "off"},
    **{
        f"{name}, k {k}": {"synthesize": how, "anonymize": {"k": k, "recoding": "local"}}
        for name, how in (("regressions", PARAMETRIC), ("trees", TREES))
        for k in (5, 20)
    },
}
REFITTED = {"regressions, refitted": "regressions", "trees, refitted": "trees"}
"""Settings whose generator learns a new sample of the people, with replacement, for each table."""


def people(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """People whose regressions are known but for the coefficients, which :func:`truth` computes."""
    age = np.clip(np.round(rng.normal(52, 16, n)), 18, 95)
    sex, region = rng.choice(["f", "m"], n), rng.choice(REGIONS, n, p=[0.4, 0.3, 0.2, 0.1])
    income = 12 + 0.35 * age + 4 * (sex == "m") + 3 * (region == "north") + rng.normal(0, 8, n)
    ill = rng.random(n) < 1 / (1 + np.exp(4 - 0.06 * age - 0.4 * (sex == "f") + 0.03 * income))
    columns = {"age": age.astype(int), "sex": sex, "region": region, "income": income.round(2)}
    return pd.DataFrame({**columns, "ill": np.where(ill, "yes", "no")})


def designs() -> list[Design]:
    frame = people(20_000, np.random.default_rng(0))
    return [Design.of(ModelFormula.parse(text), frame) for text in ANALYSES]


def truth() -> dict[tuple[str, str], float]:
    """Value of each estimate among a million people."""
    frame = people(MANY, np.random.default_rng(1))
    found = [(design, fit(design, design.numbers(frame))) for design in designs()]
    return {
        (design.formula.text, name): value
        for design, one in found
        for name, value in zip(one.names, one.estimates, strict=True)
    }


def configuration(folder: Path, setting: dict[str, Any], rows: int) -> RunConfig:
    for name, text in HIERARCHIES.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "policy.yaml").write_text(POLICY)
    pd.DataFrame({name: [] for name in ("age", "sex", "region", "income", "ill")}).to_csv(folder / "people.csv")
    roles = {name: {"role": "quasi_identifier", "hierarchy": f"{name}.yaml"} for name in HIERARCHIES}
    columns = {**roles, "income": {"role": "sensitive"}, "ill": {"role": "sensitive", "kind": "categorical"}}
    content = {
        "data": {"path": "people.csv", "columns": columns},
        "split": {"control": 0},
        "policy": "./policy.yaml",
        **setting,
    }
    content["synthesize"] = {**setting["synthesize"], "rows": rows}
    (folder / "config.yaml").write_text(pd.Series(content).to_json())
    return load_config(folder / "config.yaml")


def drawn(setting: str, sample: pd.DataFrame, seed: int) -> Iterator[pd.DataFrame]:
    """Tables of as many rows as the sample, of a setting of the pipeline."""
    refits = setting in REFITTED
    most = REFITS if refits else max(TABLES)
    if setting == "real":
        yield sample
        return
    with tempfile.TemporaryDirectory() as folder:
        config = configuration(
            Path(folder), SETTINGS[REFITTED.get(setting, setting)], PEOPLE if refits else PEOPLE * most
        )
        if not refits:
            frame = TableRun(config.with_frame(sample), seed).generated.table.frame
            yield from (frame.iloc[at * PEOPLE : (at + 1) * PEOPLE] for at in range(most))
            return
        rng = np.random.default_rng([seed, 2])
        for number in range(most):
            again = sample.iloc[rng.integers(len(sample), size=len(sample))].reset_index(drop=True)
            yield TableRun(config.with_frame(again), seed * 100 + number).generated.table.frame


def measured(setting: str, number: int, known: dict[tuple[str, str], float]) -> Iterator[dict[str, Any]]:
    """Whether each interval from one population holds the known value."""
    sample = people(PEOPLE, np.random.default_rng([number, 5]))
    tables = list(drawn(setting, sample, number + 1))
    rules: tuple[Rule, ...] = ("simple", "proper", "full") if setting in REFITTED else ("simple",)
    for design in designs():
        text = design.formula.text
        try:
            fits = [fit(design, design.numbers(table)) for table in tables]
        except NotEstimable:
            yield {"setting": setting, "population": number, "analysis": text, "name": "", "rule": "", "m": 0}
            continue
        real = fit(design, design.numbers(sample))
        for m in [m for m in TABLES if m <= len(tables)]:
            for rule in rules:
                if rule == "full" and m == 1:
                    continue
                yield from _covered(setting, number, text, rule, fits[:m], real, known)


def _covered(
    setting: str, number: int, text: str, rule: Rule, fits: list[Fit], real: Fit, known: dict[tuple[str, str], float]
) -> Iterator[dict[str, Any]]:
    q, u = np.array([one.estimates for one in fits]), np.array([one.variances for one in fits])
    found = combine(q, u, PEOPLE, PEOPLE, rule=rule, names=real.names)
    naive = combine(q[:1], u[:1] / 2, PEOPLE, PEOPLE, names=real.names)
    used = combine([real.estimates], [real.variances / 2], PEOPLE, PEOPLE) if setting == "real" else found
    for at, name in enumerate(real.names):
        value = known[text, name]
        yield {
            "setting": setting,
            "population": number,
            "analysis": text,
            "name": name,
            "rule": rule,
            "m": len(fits),
            "covered": float(used.low[at] <= value <= used.high[at]),
            "naive": float(naive.low[at] <= value <= naive.high[at]),
            "error": float((found.estimates[at] - value) / np.sqrt(real.variances[at])),
            "width": float(found.errors[at] / np.sqrt(real.variances[at])),
        }


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Coverage of means and shares, and of coefficients, in percent; bias and width in real standard errors."""
    kept = found.dropna(subset=["covered"])
    about = np.where(kept["analysis"].str.endswith("~ 1"), "means", "coefficients")
    kept = kept[kept["name"] != "(intercept)"].assign(about=about[kept["name"] != "(intercept)"])
    grouped = kept.groupby(["setting", "rule", "about", "m"], sort=False)
    rows = grouped.agg(covered=("covered", "mean"), naive=("naive", "mean"), width=("width", "mean"))
    each = kept.groupby(["setting", "rule", "about", "m", "analysis", "name"], sort=False)
    worst = each.agg(covered=("covered", "mean"), bias=("error", "mean"))
    by = worst.groupby(["setting", "rule", "about", "m"], sort=False)
    rows["lowest"] = by["covered"].min()
    rows["largest bias"] = by["bias"].apply(lambda values: values.iloc[values.abs().argmax()])
    return rows.assign(**{name: (100 * rows[name]).round(1) for name in ("covered", "naive", "lowest")}).round(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--populations", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--settings", nargs="*", default=[*SETTINGS, *REFITTED])
    parser.add_argument("--out", type=Path, default=Path("analyses.csv"))
    chosen = parser.parse_args()
    known, rows = truth(), []
    for number in range(chosen.first, chosen.first + chosen.populations):
        for setting in chosen.settings:
            rows += list(measured(setting, number, known))
        pd.DataFrame(rows).to_csv(chosen.out, index=False)
    with pd.option_context("display.width", 160, "display.max_rows", None):
        print(summary(pd.DataFrame(rows)))


if __name__ == "__main__":
    main()
