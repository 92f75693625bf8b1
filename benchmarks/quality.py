"""How close a synthetic table is to the real one: the figures of benchmarks/generators.py.

Shape and trend follow SDMetrics' QualityReport, as errors (1 - score, lower is better).
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp
from scipy.stats.contingency import association
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from hybrid.table import Table

CORRELATION_THRESHOLD, ASSOCIATION_THRESHOLD = 0.5, 0.3
"""SDMetrics averages only pairs whose real correlation or Cramer's V is above these."""


def figures(
    train: Table, holdout: Table, synthetic: Table, target: str, near_unique: tuple[str, ...]
) -> dict[str, float]:
    """Every figure below, shares in percent; ``copies_without``: columns ``near_unique`` left out."""
    trend, trend_all = trend_errors(train, synthetic)
    return {
        "shape_pct": round(100 * shape_error(train, synthetic), 2),
        "trend_pct": round(100 * trend, 2),
        "trend_all_pct": round(100 * trend_all, 2),
        "tstr": round(tstr_auc(synthetic, holdout, target), 4),
        "discriminator": round(discriminator_auc(holdout, synthetic), 3),
        "copies_pct": round(100 * copies(train, synthetic), 2),
        "copies_holdout_pct": round(100 * copies(train, holdout), 2),
        "copies_without_pct": round(100 * copies(train, synthetic, near_unique), 1),
        "copies_without_holdout_pct": round(100 * copies(train, holdout, near_unique), 1),
    }


def shape_error(real: Table, synthetic: Table) -> float:
    """Mean over columns of the Kolmogorov-Smirnov distance (numbers, dates) or total variation (others), 0..1."""
    return float(np.mean([_shape(real, synthetic, column.name) for column in real.schema]))


def trend_errors(real: Table, synthetic: Table) -> tuple[float, float]:
    """Mean difference of pairwise associations, 0..1: over the pairs SDMetrics counts, and over all pairs."""
    coded = {name: _coded(real, synthetic, name) for name in real.schema.names}
    counted, everything = [], []
    for one, two in itertools.combinations(real.schema.names, 2):
        if real.schema[one].kind.is_continuous and real.schema[two].kind.is_continuous:
            r, s = (_correlation(table, one, two) for table in (real, synthetic))
            error, strong = abs(r - s) / 2, abs(r) > CORRELATION_THRESHOLD
        else:
            r_counts, s_counts = (_counts(coded[one][at], coded[two][at]) for at in (0, 1))
            height, width = (max(shape) for shape in zip(r_counts.shape, s_counts.shape, strict=True))
            shares = np.zeros((height, width))
            shares[: r_counts.shape[0], : r_counts.shape[1]] += r_counts / r_counts.sum()
            shares[: s_counts.shape[0], : s_counts.shape[1]] -= s_counts / s_counts.sum()
            error, strong = float(np.abs(shares).sum()) / 2, _association(r_counts) > ASSOCIATION_THRESHOLD
        everything.append(error)
        if strong:
            counted.append(error)
    return float(np.mean(counted)) if counted else np.nan, float(np.mean(everything))


def tstr_auc(train: Table, holdout: Table, target: str) -> float:
    """AUC on the holdout of a classifier of ``target`` trained on ``train``; higher is better.

    Of more than two classes the mean of each against the others. 0.5 if ``train`` holds one class only.
    """
    x, y = train.frame.drop(columns=target), train.frame[target].astype(str)
    if y.nunique() == 1:
        return 0.5
    model = _classifier(pd.concat([x, holdout.frame.drop(columns=target)])).fit(x, y)
    scores, actual = model.predict_proba(holdout.frame.drop(columns=target)), holdout.frame[target].astype(str)
    tried = [1] if len(model.classes_) == 2 else range(len(model.classes_))
    return float(np.mean([roc_auc_score(actual == model.classes_[at], scores[:, at]) for at in tried]))


def discriminator_auc(holdout: Table, synthetic: Table) -> float:
    """Cross-validated AUC of telling holdout from synthetic records; 0.5 is best."""
    n = min(len(holdout), len(synthetic))
    x = pd.concat([holdout.frame.head(n), synthetic.frame.head(n)], ignore_index=True)
    y = np.repeat([0, 1], n)
    scores = cross_val_predict(_classifier(x), x, y, cv=3, method="predict_proba")[:, 1]
    return float(roc_auc_score(y, scores))


def copies(train: Table, other: Table, without: tuple[str, ...] = ()) -> float:
    """Share (0..1) of the records of ``other`` that equal a training record in all columns but ``without``."""
    keys = [
        pd.util.hash_pandas_object(t.frame.drop(columns=list(without)).astype(str), index=False) for t in (train, other)
    ]
    return float(keys[1].isin(keys[0]).mean())


def _numbers(table: Table, name: str) -> np.ndarray:
    values = table.frame[name]
    if table.schema[name].kind.is_temporal:
        return values.astype("int64").to_numpy(dtype=float)[values.notna()]
    return values.dropna().to_numpy(dtype=float)


def _shape(real: Table, synthetic: Table, name: str) -> float:
    if real.schema[name].kind.is_continuous:
        return float(ks_2samp(_numbers(real, name), _numbers(synthetic, name), method="asymp").statistic)
    shares = [t.frame[name].astype(object).value_counts(normalize=True, dropna=False) for t in (real, synthetic)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum()) / 2


def _coded(real: Table, synthetic: Table, name: str) -> list[np.ndarray]:
    """States of both tables as numbers of one list."""
    both = [_bins(table, name) for table in (real, synthetic)]
    codes = pd.factorize(pd.concat(both, ignore_index=True))[0]
    return [codes[: len(both[0])], codes[len(both[0]) :]]


def _bins(table: Table, name: str) -> pd.Series:
    """States as text; numbers in ten equal bins of their own range, as SDMetrics has it."""
    values = table.frame[name]
    if not table.schema[name].kind.is_continuous:
        return values.astype(object).where(values.notna(), "missing").astype(str)
    numbers = values.astype("int64") if table.schema[name].kind.is_temporal else values.astype("float64")
    edges = np.histogram_bin_edges(numbers.dropna())
    return pd.Series(np.digitize(numbers, edges))


def _counts(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Rows of each pair of states."""
    width = int(two.max()) + 1
    return np.bincount(one * width + two, minlength=(int(one.max()) + 1) * width).reshape(-1, width)


def _association(counts: np.ndarray) -> float:
    """Cramer's V of the states that occur; 0 where a column has one."""
    found = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    return float(association(found)) if min(found.shape) > 1 else 0.0


def _correlation(table: Table, one: str, two: str) -> float:
    both = table.frame[[one, two]].dropna().astype(float)
    return float(both.corr().iloc[0, 1]) if len(both) > 1 else np.nan


def _classifier(x: pd.DataFrame) -> object:
    text = [name for name in x if x[name].dtype.name in ("category", "boolean", "object")]
    times = [name for name in x if x[name].dtype.kind == "M"]
    many = {name: x[name].nunique() for name in text}
    few = [name for name in text if many[name] < 250]
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    columns = make_column_transformer((encode, text + times), remainder="passthrough", verbose_feature_names_out=False)
    categorical = [(text + times).index(name) for name in few]
    return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0, categorical_features=categorical))
