"""SD2011 beside synthpop: figures behind docs/evidence/analyses.md.

python benchmarks/sd2011.py SD2011.csv [--seeds 5] [--out sd2011.csv]

The table is that of the R package synthpop: ``write.csv(synthpop::SD2011, "SD2011.csv", row.names = FALSE)``. The two
models are those that its vignettes print for tables of its trees. Overlap and difference are as synthpop computes them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from analyses import POLICY
from scipy.stats import norm

from hybrid.estimates import Design, Fit, ModelFormula, fit
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun

TABLES = 5
"""Synthetic tables, as in the vignettes."""
AGE = {"type": "intervals", "widths": [5, 10, 20, 40], "bottom": 15, "top": 90}
EDU = {"low": ["PRIMARY/NO EDUCATION", "VOCATIONAL/GRAMMAR"], "high": ["SECONDARY", "POST-SECONDARY OR HIGHER"]}
MARITAL = {"alone": ["SINGLE", "WIDOWED", "DIVORCED", "LEGALLY SEPARATED", "DE FACTO SEPARATED"], "two": ["MARRIED"]}
HIERARCHIES: dict[str, dict[str, Any]] = {
    "sex": {"type": "tree", "tree": {"all": ["MALE", "FEMALE"]}},
    "age": AGE,
    "edu": {"type": "tree", "tree": EDU},
    "marital": {"type": "tree", "tree": MARITAL},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "synthpop's trees": {"synthesize": {"generator": "cart", "preset": "synthpop"}, "protect": "off"},
    "cart": {"synthesize": {"generator": "cart"}},
    "cart, k 5": {"synthesize": {"generator": "cart"}, "anonymize": {"k": 5, "recoding": "local"}},
}


@dataclass(frozen=True)
class Example:
    """A model of a vignette, with what the vignette prints.

    ``printed``: estimates from the records, and from five synthetic tables, by the name of the coefficient.
    """

    columns: tuple[str, ...]
    formula: str
    printed: dict[str, tuple[float, float]]


ABROAD = Example(
    ("sex", "age", "edu", "marital", "income", "ls", "wkabint"),
    "wkabint ~ female + age + vocational + secondary + higher + log_income",
    {
        "(intercept)": (-0.21052, -1.06343),
        "female": (-0.47387, -0.66178),
        "age": (-0.05384, -0.05138),
        "vocational": (0.62753, 0.17467),
        "secondary": (0.36839, 0.13112),
        "higher": (-0.18697, -0.01006),
        "log_income": (-0.04610, 0.09112),
    },
)
"""Nowok, Raab, Dibben: synthpop, vignette of the article in J. Stat. Softw. 74(11), section 3.4; method ctree."""
SMOKE = Example(
    ("sex", "edu", "age", "smoke"),
    "no_smoker ~ female + age + vocational + secondary + higher + female_age",
    {
        "(intercept)": (0.400261, 0.197102),
        "female": (0.224701, 0.593279),
        "age": (0.003104, 0.008956),
        "vocational": (-0.050985, -0.030571),
        "secondary": (0.393783, 0.448646),
        "higher": (0.688391, 0.659803),
        "female_age": (0.007702, -0.003031),
    },
)
"""Raab, Nowok: Inference from fitted models in synthpop, section 4.2, fit f9; method cart."""
EXAMPLES = {"abroad": ABROAD, "smoke": SMOKE}


def records(table: pd.DataFrame, example: Example) -> pd.DataFrame:
    """Records as the vignettes prepare them."""
    frame = table[list(example.columns)].copy()
    if "income" in frame:
        frame["income"] = frame["income"].where(frame["income"] != -8)
        frame["wkabint"] = frame["wkabint"].replace({"YES, TO EU COUNTRY": "YES", "YES, TO NON-EU COUNTRY": "YES"})
        return frame
    return frame.dropna(subset=["smoke"]).reset_index(drop=True)


def with_terms(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the terms of the models as columns."""
    degrees = ("VOCATIONAL/GRAMMAR", "SECONDARY", "POST-SECONDARY OR HIGHER")
    known = frame["edu"].notna()
    terms = {
        name: (frame["edu"] == degree).astype(float).where(known)
        for name, degree in zip(("vocational", "secondary", "higher"), degrees, strict=True)
    }
    female = (frame["sex"] == "FEMALE").astype(float).where(frame["sex"].notna())
    found = frame.assign(female=female, female_age=female * frame["age"], **terms)
    if "income" in frame:
        return found.assign(log_income=np.log(frame["income"].where(frame["income"] > 0)))
    return found.assign(no_smoker=frame["smoke"].map({"NO": 1, "YES": 0}))


def drawn(frame: pd.DataFrame, example: Example, setting: dict[str, Any], seed: int) -> list[pd.DataFrame]:
    """Tables of as many rows as the records, of one trained generator."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(POLICY)
        columns: dict[str, dict[str, Any]] = {}
        for column in example.columns:
            if column in HIERARCHIES:
                (folder / f"{column}.yaml").write_text(pd.Series(HIERARCHIES[column]).to_json())
                columns[column] = {"role": "quasi_identifier", "hierarchy": f"{column}.yaml"}
            else:
                columns[column] = {"role": "sensitive", "kind": "integer" if column == "income" else "categorical"}
        frame.iloc[:0].to_csv(folder / "people.csv", index=False)
        content = {
            "data": {"path": "people.csv", "columns": columns},
            "split": {"control": 0},
            "policy": "./policy.yaml",
            **setting,
        }
        content["synthesize"] = {**setting["synthesize"], "rows": TABLES * len(frame)}
        (folder / "config.yaml").write_text(pd.Series(content).to_json())
        config = load_config(folder / "config.yaml").with_frame(frame)
        rows = TableRun(config, seed).generated.table.frame
    n = len(frame)
    return [rows.iloc[at * n : (at + 1) * n] for at in range(TABLES)]


def ratio(real: pd.DataFrame, tables: list[pd.DataFrame], column: str) -> float:
    """S_pMSE of one column: pMSE of its table of counts over that expected, of all tables together (Snoke et al. 2018).

    Numbers are cut at the quintiles of the records, as in synthpop; gaps are a value.
    """
    sides = [real[column], pd.concat(tables)[column]]
    if real[column].dtype.kind in "iuf":
        ends = np.unique(np.nanquantile(real[column], np.arange(0.2, 1, 0.2)))
        sides = [pd.Series(np.searchsorted(ends, side, "right")).where(side.notna().to_numpy(), -1) for side in sides]
    counts = [side.astype(str).value_counts() for side in sides]
    a, b = counts[0].align(counts[1], fill_value=0)
    share, n = b.sum() / (a.sum() + b.sum()), a.sum() + b.sum()
    error = ((a + b) * (b / (a + b) - share) ** 2).sum() / n
    return float(error / ((len(a) - 1) * share * (1 - share) ** 2 / n))


def compared(real: Fit, estimates: np.ndarray[Any, Any], setting: str, seed: int) -> Iterator[dict[str, Any]]:
    """Coefficients beside those of the records: difference in standard errors, and overlap 1 - |z| / (2 * 1.96)."""
    z = (estimates - real.estimates) / np.sqrt(real.variances)
    for name, one, value, error in zip(real.names, real.estimates, estimates, z, strict=True):
        overlap = 1 - abs(error) / (2 * norm.ppf(0.975))
        yield {
            "setting": setting,
            "seed": seed,
            "name": name,
            "records": one,
            "tables": value,
            "difference": error,
            "overlap": overlap,
        }


def measured(table: pd.DataFrame, example: Example, seeds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coefficients, and S_pMSE of single columns, of each setting and seed."""
    frame = records(table, example)
    there = with_terms(frame)
    design = Design.of(ModelFormula.parse(example.formula), there)
    real = fit(design, design.numbers(there))
    off = max(abs(a - b) for (a, _), b in zip(example.printed.values(), real.estimates, strict=True))
    print(f"{example.formula}: {real.rows} records; largest difference from the printed fit to the records: {off:.1e}")
    rows = list(compared(real, np.array([one for _, one in example.printed.values()]), "synthpop, printed", 0))
    ratios = []
    for setting, how in SETTINGS.items():
        for seed in range(1, seeds + 1):
            tables = drawn(frame, example, how, seed)
            fits = [fit(design, design.numbers(with_terms(one))) for one in tables]
            rows += compared(real, np.mean([one.estimates for one in fits], axis=0), setting, seed)
            found = {column: ratio(frame, tables, column) for column in example.columns}
            ratios.append({"setting": setting, **found})
    return pd.DataFrame(rows), pd.DataFrame(ratios).groupby("setting", sort=False).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("sd2011.csv"))
    chosen = parser.parse_args()
    table, kept = pd.read_csv(chosen.table), []
    for name, example in EXAMPLES.items():
        rows, ratios = measured(table, example, chosen.seeds)
        kept.append(rows.assign(example=name))
        pd.concat(kept).to_csv(chosen.out, index=False)
        each = rows.assign(size=rows["difference"].abs()).groupby(["setting", "seed"], sort=False)
        means = each[["overlap", "size"]].mean().groupby("setting", sort=False).agg(["mean", "min", "max"])
        with pd.option_context("display.width", 160, "display.max_columns", 20):
            for value in ("tables", "difference"):
                print(rows.pivot_table(value, "name", "setting", sort=False).round(3))
            print(means.round(2), ratios.round(2), sep="\n")


if __name__ == "__main__":
    main()
