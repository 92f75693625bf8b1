"""How close two linked tables are to the real ones: the figures of benchmarks/linked.py."""

from __future__ import annotations

import numpy as np
import pandas as pd
from linked_data import Linked
from scipy.stats import ks_2samp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

STATES = 10
"""States of a column in an association: tenths of numbers and dates, frequent categories; missing is another."""


def figures(train: Linked, control: Linked, synthetic: Linked) -> dict[str, float]:
    """Every figure below; shares in percent.

    ``shape_pct``: mean over the columns of both tables of the Kolmogorov-Smirnov distance (numbers, dates) or total
    variation (categories). ``trend``: mean absolute difference of the associations within each table, ``links``: of
    those between a column of the parents and one of the children. ``per_parent_ks``: of the number of children, none
    included. ``c2st_agg``: AUC of telling synthetic from control parents. ``early_pct`` and ``overlap_pct``: children
    whose second date is before the first, or that begin before the one before has ended. ``copied``: training parents
    of whom a row of a child, with its parent, is in the table.
    """
    real, drawn = _joined(train), _joined(synthetic)
    return {
        "shape_pct": 100 * float(np.mean(_shapes(train, synthetic))),
        "trend": float(np.mean(_within(train, synthetic))),
        "links": _links(train, real, drawn),
        "per_parent_ks": float(ks_2samp(_counts(train), _counts(synthetic), method="asymp").statistic),
        "c2st_agg": c2st_agg(control, synthetic),
        "early_pct": 100 * _early(synthetic),
        "overlap_pct": 100 * _overlap(synthetic),
        "copied_pct": 100 * copied(train, drawn, ()),
        "copied_without_pct": 100 * copied(train, drawn, train.near_unique),
    }


def association(one: np.ndarray, two: np.ndarray) -> float:
    """Bias-corrected Cramer's V (Bergsma 2013, doi 10.1016/j.jkss.2012.10.002) of two columns of states 0, 1, ..."""
    width = int(two.max(initial=0)) + 1
    counts = np.bincount(one * width + two, minlength=(int(one.max(initial=0)) + 1) * width).reshape(-1, width)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)].astype(float)
    n, (rows, columns) = counts.sum(), counts.shape
    if min(rows, columns) < 2:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi = float((((counts - expected) ** 2) / expected).sum() / n)
    corrected = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    most = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(corrected / most)) if most > 0 else 0.0


def c2st_agg(real: Linked, synthetic: Linked) -> float:
    """AUC of telling synthetic from real parents with their children; .5 is best.

    Classifier two-sample test with aggregation (SyntheRela, arXiv 2410.03411): a parent is its columns, the number of
    its children, and per column of the children the mean (numbers, dates) or most frequent category and the number of
    distinct values. Gradient boosting, 3-fold cross-validation, equally many parents.
    """
    sides = [_aggregates(one) for one in (real, synthetic)]
    n = min(map(len, sides))
    x = pd.concat([side.sample(n, random_state=0) for side in sides], ignore_index=True)
    texts = [name for name in x if x[name].dtype == object]
    for name in texts:
        codes, _ = pd.factorize(x[name])
        frequent = pd.Series(codes).value_counts().index[:200]
        x[name] = pd.Series(codes).where(pd.Series(codes).isin(frequent) & (codes >= 0)).rank(method="dense") - 1
    y = np.repeat([0, 1], n)
    model = HistGradientBoostingClassifier(random_state=0, max_iter=50, categorical_features=texts)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return float(roc_auc_score(y, cross_val_predict(model, x, y, cv=folds, method="predict_proba")[:, 1]))


def copied(train: Linked, drawn: pd.DataFrame, without: tuple[str, ...]) -> float:
    """Share (0..1) of the training parents with children of whom a joined row is in ``drawn``."""
    rows = _joined(train)
    columns = [name for name in rows if name not in (train.link, *without)]
    known = set(_hashed(drawn, columns))
    hit = _hashed(rows, columns).isin(known)
    return float(hit.groupby(rows[train.link].to_numpy()).any().mean())


def _hashed(rows: pd.DataFrame, columns: list[str]) -> pd.Series:
    texts = {name: _text(rows[name]) for name in columns}
    return pd.util.hash_pandas_object(pd.DataFrame(texts), index=False)


def _text(values: pd.Series) -> pd.Series:
    numbers = pd.api.types.is_numeric_dtype(values)
    return (values.astype(float).round(6) if numbers else values).astype(str)


def _joined(tables: Linked) -> pd.DataFrame:
    """Children with the columns of their parents."""
    return tables.children.merge(tables.parents.rename(columns={tables.key: tables.link}), on=tables.link)


def _counts(tables: Linked) -> np.ndarray:
    return tables.parents[tables.key].map(tables.children[tables.link].value_counts()).fillna(0).to_numpy()


def _values(tables: Linked, frame: pd.DataFrame, name: str) -> pd.Series:
    """A column as numbers (dates as days) or as texts."""
    if tables.kinds[name] == "datetime":
        days = pd.to_datetime(frame[name], errors="coerce").to_numpy(dtype="datetime64[D]")
        return pd.Series(days.astype(float), index=frame.index).where(~np.isnat(days))
    return frame[name].astype(float) if tables.kinds[name] == "numerical" else frame[name].astype(object)


def _columns(tables: Linked) -> list[tuple[str, str]]:
    """Table and name of every column that is no key."""
    parents = [("parents", name) for name in tables.parents if name != tables.key]
    return parents + [("children", name) for name in tables.children if name != tables.link]


def _shapes(real: Linked, synthetic: Linked) -> list[float]:
    found = []
    for table, name in _columns(real):
        one, two = (_values(real, getattr(side, table), name) for side in (real, synthetic))
        if real.kinds[name] == "categorical":
            shares = [values.value_counts(normalize=True, dropna=False) for values in (one, two)]
            found.append(float(shares[0].sub(shares[1], fill_value=0).abs().sum()) / 2)
        else:
            found.append(float(ks_2samp(one.dropna(), two.dropna(), method="asymp").statistic))
    return found


def _states(real: Linked, name: str, one: pd.DataFrame, two: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """A column of two frames as the same states, which the first one decides; missing is the last."""
    first, second = (_values(real, frame, name) for frame in (one, two))
    if real.kinds[name] == "categorical":
        top = first.value_counts().index[:STATES]
        codes = [np.where(v.isna(), STATES + 1, top.get_indexer(v)) for v in (first, second)]
        return tuple(np.where(found < 0, STATES, found) for found in codes)  # type: ignore[return-value]
    edges = np.unique(np.nanquantile(first, np.linspace(0, 1, STATES + 1)[1:-1]))
    return tuple(np.where(v.isna(), STATES + 1, np.digitize(v, edges)) for v in (first, second))  # type: ignore[return-value]


def _within(real: Linked, synthetic: Linked) -> list[float]:
    found = []
    for table in ("parents", "children"):
        frames = getattr(real, table), getattr(synthetic, table)
        names = [name for at, name in _columns(real) if at == table]
        states = {name: _states(real, name, *frames) for name in names}
        for at, one in enumerate(names):
            for two in names[at + 1 :]:
                values = [association(states[one][side], states[two][side]) for side in (0, 1)]
                found.append(abs(values[0] - values[1]))
    return found


def _links(tables: Linked, real: pd.DataFrame, drawn: pd.DataFrame) -> float:
    names = {at: [name for where, name in _columns(tables) if where == at] for at in ("parents", "children")}
    states = {name: _states(tables, name, real, drawn) for side in names.values() for name in side}
    found = []
    for one in names["parents"]:
        for two in names["children"]:
            values = [association(states[one][side], states[two][side]) for side in (0, 1)]
            found.append(abs(values[0] - values[1]))
    return float(np.mean(found))


def _aggregates(tables: Linked) -> pd.DataFrame:
    parents, children = tables.parents, tables.children
    found = {name: _values(tables, parents, name) for name in parents if name != tables.key}
    found["number of children"] = pd.Series(_counts(tables), index=parents.index)
    for name in (name for name in children if name != tables.link):
        values = _values(tables, children, name).groupby(children[tables.link].to_numpy())
        main = values.agg(_main) if tables.kinds[name] == "categorical" else values.mean()
        found[f"{name} main"] = parents[tables.key].map(main)
        found[f"{name} different"] = parents[tables.key].map(values.nunique()).astype(float)
    return pd.DataFrame(found)


def _main(values: pd.Series) -> object:
    counts = values.value_counts()
    return counts.index[0] if len(counts) else None


def _early(tables: Linked) -> float:
    if not tables.at_most:
        return float("nan")
    frame = tables.children
    broken = [_values(tables, frame, low) > _values(tables, frame, high) for low, high in tables.at_most]
    return float(np.mean(np.logical_or.reduce(broken)))


def _overlap(tables: Linked) -> float:
    """Share of the children that begin before the one before of the same parent has ended; in the order of dates."""
    if tables.order is None or not tables.at_most:
        return float("nan")
    (begin, end), *_ = tables.at_most
    frame = tables.children.assign(**{name: _values(tables, tables.children, name) for name in (begin, end)})
    frame = frame.sort_values([tables.link, begin, end])
    same = frame[tables.link].eq(frame[tables.link].shift())
    return float((frame[begin] < frame[end].shift())[same].mean()) if same.any() else float("nan")
