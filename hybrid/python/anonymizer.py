"""k-anonymity by the conventions of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hybrid.base.errors import ConfigError
from hybrid.base.progress import silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.hierarchy import LabelTable
from hybrid.python.anonymization import anonymizing, single, words_of_levels
from hybrid.python.classes import NONE, CommonValues, LabelledClasses
from hybrid.python.drafts import Guessed, Wishes
from hybrid.python.frames import in_memory, like, plain, typed
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.typed_table import read_frame

if TYPE_CHECKING:
    from hybrid.pipeline.anonymization import Anonymization
    from hybrid.table.data_options import DataOptions

T = TypeVar("T")
LEAST = 5
"""People who must hold a value of another column so that it stays, at least."""


@dataclass(frozen=True)
class _Fitted:
    reading: DataOptions
    anonymization: Anonymization
    classes: LabelledClasses
    common: Mapping[str, CommonValues]
    schema: Schema
    dtypes: Mapping[str, Any]


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """k-anonymous labels as a transformer of scikit-learn.

    ``fit`` searches levels at which every combination of labels is shared by k people of *its* table, and verifies
    them. ``transform`` looks up the labels of each row. What that promises depends on the rows:

    - Of the rows of ``fit``, all together, the result is k-anonymous: ``fit_transform(X)``, or ``fit(X).transform(X)``.
    - Of other rows there is **no promise of k**: their labels are those of at least k people of the fitted table, but
      perhaps of a single one of the new table. A row whose combination of labels no class of the fitted table has, or
      one with a value that no hierarchy covers, is suppressed.
    - Of a part of the fitted rows (a fold, a single row) there is no promise either.

    The number of rows never changes, so that they stay beside their ``y``: a suppressed row is there with all its
    values missing, and an estimator behind this one must accept that. Its existence and its place are not hidden.

    Columns that look like names or numbers of people, or whose role is unclear, are left out of the result. The
    values of all others but quasi-identifiers are made common first: categories that fewer than max(5, k) people of the
    fitted table hold become missing, and numbers become the mean of a group of neighbouring values that so many hold.
    That is no promise of k, either: privacy models (``models``) limit what a class discloses of a column.

    A fitted object holds the original records, also when it is pickled: keep it where they are kept.

    Parameters
    ----------
    k : int
        People who share every combination of labels, 2 or more.
    quasi_identifiers : sequence of str, or None
        Columns that others know about a person, beside those that look like it. None: only the latter; of an array
        without names, all columns.
    sensitive, roles, models, hierarchies, person, settings
        As for :func:`hybrid.anonymize`.
    recoding : {"global", "local"}
        global: one level per column. local: the level differs from row to row; less is lost, and nobody is suppressed.
    suppression_limit : float
        Share of the fitted records that may be suppressed, 0..1 (global recoding).
    transition : str
        Strategy of :meth:`inverse_transform` by default.
    random_state : int or None
        Seed of the search and of :meth:`inverse_transform`; None: a fresh one.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray, shape (n_features_in_,), str
        Columns of the fitted table; their names, if it had names.
    quasi_identifiers_ : tuple of str
    levels_ : dict of str to str
        Columns that are generalized; words for the level of each.
    k_ : int
        People of the smallest class, verified.
    n_suppressed_ : int
        Fitted records without a class.
    loss_ : float
        Loss of the labels, 0 (nothing) to 1 (everything).
    notes_ : tuple of str
        What was guessed; no cell values.

    Examples
    --------
    >>> Anonymizer(k=5, quasi_identifiers=["age", "sex"]).fit_transform(frame)  # doctest: +SKIP
    """

    def __init__(
        self,
        k: int = 5,
        quasi_identifiers: Sequence[str] | None = None,
        *,
        sensitive: Sequence[str] = (),
        roles: Mapping[str, str] | None = None,
        models: Sequence[Mapping[str, Any]] = (),
        hierarchies: Mapping[str, Any] | None = None,
        person: str | None = None,
        recoding: str = "global",
        suppression_limit: float = 0.05,
        transition: str = "tree",
        settings: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.roles = roles
        self.models = models
        self.hierarchies = hierarchies
        self.person = person
        self.recoding = recoding
        self.suppression_limit = suppression_limit
        self.transition = transition
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Anonymizer:  # noqa: ARG002 - of scikit-learn
        """Search the labels of a table; ``y`` is ignored. Raises as :func:`hybrid.anonymize`.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, relation of DuckDB, or array, shape (n_samples, n_features)
            One record per row. Not modified.
        """
        frame = _not_empty(_named(X))
        guessed = self._guessed(frame, all_columns=_is_array(X))
        config = guessed.config
        table = config.load_table()
        roles = Role.IDENTIFIER, Role.QUASI_IDENTIFIER
        others = [column.name for column in table.schema if column.role not in roles]
        common = {name: CommonValues.of(table, name, max(LEAST, self.k)) for name in others}
        coarse = table.frame.assign(**{name: one.apply(table.frame[name]) for name, one in common.items()})
        left_out = {name: frame[name] for name in frame.columns if name not in table.schema}
        given = replace(guessed, config=config.with_frame(_texts(table, coarse).assign(**left_out)))
        run = anonymizing(given, self.random_state, silent)
        found = run.person.anonymization
        assert found is not None
        if not found.options.generalizes:
            raise ConfigError(
                "anonymize.technique masks values, and a transformer needs labels", hint="hybrid.techniques masks them"
            )
        own = found.with_labels_kept(compute=_compute, progress=silent)
        classes = LabelledClasses.of(found.anonymized, self.k)
        self._fitted = _Fitted(run.config.data, own, classes, common, table.schema, _nullable(frame))
        self.quasi_identifiers_ = classes.names
        self.levels_ = words_of_levels(found.anonymized.hierarchies, found.anonymized.result.levels, classes.names)
        result = found.anonymized.result
        self.k_, self.n_suppressed_, self.loss_ = result.smallest, result.suppressed, float(result.loss["value"])
        self.notes_ = guessed.notes
        self.n_features_in_ = len(frame.columns)
        if not _is_array(X):
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
        return self

    def _guessed(self, frame: pd.DataFrame, *, all_columns: bool) -> Guessed:
        known = self.quasi_identifiers
        if known is None:
            known = list(frame.columns) if all_columns else ()
        settings: dict[str, Any] = {"anonymize.recoding": self.recoding}
        if self.models:
            settings["anonymize.models"] = [dict(one) for one in self.models]
        if self.recoding == "global":
            settings["anonymize.suppression_limit"] = self.suppression_limit
        wished: dict[str, Any] = {"k": self.k, "person": self.person, "hierarchies": self.hierarchies}
        wished["settings"] = settings | dict(self.settings or {})
        return single(frame, Wishes.of(known, self.sensitive, (), self.roles, **wished))

    def transform(self, X: Any) -> Any:
        """Labels of rows, of the kind of X, in the same order; see the class for what they promise.

        X, shape (n_samples, n_features), has the columns of the fitted table in any order (ValueError: columns are
        missing). All values of a suppressed row are missing.
        """
        check_is_fitted(self, "_fitted")
        fitted, table = self._fitted, self._read(X)
        classes = fitted.classes.find(table)
        suppressed = classes == NONE
        found: dict[str, pd.Series] = {}
        for name in self.get_feature_names_out():
            if name in fitted.classes.names:
                found[name] = fitted.classes.labels(classes, name)
            else:
                found[name] = fitted.common[name].apply(table.frame[name]).mask(suppressed)
        return self._given(X, fitted.schema, pd.DataFrame(found, index=table.frame.index))

    def inverse_transform(self, X: Any, transition: str | None = None) -> Any:
        """Specific values below the labels that :meth:`transform` gave, drawn by a transition, in the same order.

        They are no longer k-anonymous: a value may be that of a person. Suppressed rows stay missing. ``transition``
        names a strategy (:mod:`hybrid.transitions`). ValueError: a text is no label of the fitted table.
        """
        check_is_fitted(self, "_fitted")
        fitted, names = self._fitted, list(self.get_feature_names_out())
        frame = _named(X, names)
        if missing := [name for name in names if name not in frame.columns]:
            raise ValueError(f"columns are missing: {', '.join(missing)}")
        there = ~frame[list(fitted.classes.names)].isna().any(axis=1).to_numpy()
        rows = frame.loc[there, names].reset_index(drop=True)
        restored = self._restored(rows, transition or self.transition)
        back = pd.DataFrame(index=pd.RangeIndex(len(frame)))
        for name in names:
            back[name] = restored.frame[name].set_axis(np.flatnonzero(there)).reindex(back.index)
        return self._given(X, restored.schema, back)

    def _restored(self, rows: pd.DataFrame, transition: str) -> Table:
        fitted = self._fitted
        labels = fitted.anonymization.anonymized.labels
        nodes = np.column_stack([fitted.classes.nodes_of(name, rows[name].tolist()) for name in fitted.classes.names])
        if (nodes == NONE).any():
            raise ValueError("a text is no label of the fitted table")
        own = fitted.anonymization.with_transition({"transition.method": transition})
        others = labels.rest.schema.names
        rest = Table(pd.DataFrame(index=rows.index), labels.rest.schema.only([]))
        if others and len(rows):
            rest = self._typed(rows[others], labels.rest.schema)
        if not len(rows):
            return labels.take(np.zeros(0, dtype=np.int64)).to_table()
        seed = fresh_seed() if self.random_state is None else self.random_state
        told = LabelTable(nodes.astype(np.int32), rest, labels.schema, labels.hierarchies)
        return own.restore(told, rng_for(seed, "inverse")).table

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002 - of scikit-learn
        """Names of the columns that come out, shape (n_features_out,), str."""
        check_is_fitted(self, "_fitted")
        return np.array(self._fitted.schema.without_identifiers().names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _read(self, X: Any) -> Table:
        fitted = self._fitted
        frame = _not_empty(_named(X))
        if _is_array(X) and frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but Anonymizer is expecting {self.n_features_in_} features as input"
            )
        names = fitted.schema.names
        needed = [name for name in names if fitted.schema[name].role is not Role.IDENTIFIER]
        if missing := [name for name in needed if name not in frame.columns]:
            raise ValueError(f"columns of the fitted table are missing: {', '.join(map(str, missing))}")
        return self._typed(frame[needed], fitted.schema)

    def _typed(self, frame: pd.DataFrame, schema: Schema) -> Table:
        known = {name: one for name, one in self._fitted.reading.columns.items() if name in frame.columns}
        reading = self._fitted.reading.model_copy(update={"columns": known, "person": None, "order": None})
        empty = [name for name in frame.columns if frame[name].isna().all()]
        full = frame.drop(columns=empty)
        columns = {name: full[name].infer_objects() for name in full.columns}
        reading = reading.model_copy(update={"columns": {n: o for n, o in known.items() if n not in empty}})
        found = read_frame(pd.DataFrame(columns), reading).frame if columns else pd.DataFrame(index=frame.index)
        for name in empty:
            found[name] = pd.Series([None] * len(frame), dtype=object).astype(DTYPES[schema[name].kind])
        chosen = schema.only(frame.columns)
        return Table(found[chosen.names], chosen)

    def _given(self, X: Any, schema: Schema, found: pd.DataFrame) -> Any:
        if _is_array(X):
            return found.astype(object).where(found.notna(), None).to_numpy()
        columns = [replace(one, role=Role.INSENSITIVE) for one in schema.only(found.columns)]
        texts = [_text(one) if found[one.name].dtype == object else one for one in columns]
        frame = found.astype({one.name: DTYPES[one.kind] for one in texts})
        table = Table(frame, Schema(tuple(texts)))
        if not isinstance(X, pd.DataFrame):
            return like(X)(table)
        labels = {one.name: found[one.name] for one in texts if found[one.name].dtype == object}
        return typed(table, self._fitted.dtypes).assign(**labels).set_axis(X.index)


def _text(column: Column) -> Column:
    return replace(column, kind=Kind.CATEGORICAL, format=ColumnFormat())


def _nullable(frame: pd.DataFrame) -> dict[str, Any]:
    found = {}
    for name, dtype in frame.dtypes.items():
        whole = pd.api.types.is_integer_dtype(dtype)
        found[str(name)] = "boolean" if pd.api.types.is_bool_dtype(dtype) else "Int64" if whole else dtype
    return {name: pd.api.types.pandas_dtype(one) for name, one in found.items()}


def _compute(name: str, compute: Callable[[], T], /) -> T:  # noqa: ARG001 - nothing is kept
    return compute()


def _is_array(X: Any) -> bool:
    if isinstance(X, np.ndarray | list | tuple):
        return True
    return hasattr(X, "__array__") and not isinstance(X, pd.DataFrame) and not hasattr(X, "__arrow_c_stream__")


def _named(X: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows as a DataFrame; columns of an array are x0, x1, ..."""
    if issparse(X):
        raise TypeError("sparse input is not supported: give X.toarray()")
    if not _is_array(X):
        return plain(in_memory(X)).reset_index(drop=True)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"an array of 2 dimensions was expected, and this one has {array.ndim}. Reshape your data")
    if names is not None and len(names) != array.shape[1]:
        raise ValueError(f"X has {array.shape[1]} columns, and {len(names)} were expected")
    columns = [f"x{at}" for at in range(array.shape[1])] if names is None else list(names)
    return pd.DataFrame(array, columns=columns).infer_objects()


def _not_empty(frame: pd.DataFrame) -> pd.DataFrame:
    if not len(frame) or not len(frame.columns):
        what = "0 sample(s)" if not len(frame) else "0 feature(s)"
        raise ValueError(f"X has {what} (shape={frame.shape}) while a minimum of 1 is required.")
    return frame


def _texts(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Values as the source writes them, so that they are read as the source is."""
    from hybrid.table.arrow import to_arrow

    return to_arrow(Table(frame, table.schema)).to_pandas()
