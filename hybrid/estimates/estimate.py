"""Estimates of a model from a real table, or from the synthetic tables of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.errors import ConfigError
from hybrid.estimates.combine import Estimates, combine
from hybrid.estimates.formula import Design, ModelFormula
from hybrid.estimates.models import fit
from hybrid.estimates.survey import Survey
from hybrid.table.surrogates import TABLE_NUMBER

if TYPE_CHECKING:
    import pandas as pd


def estimate(
    formula: str,
    data: pd.DataFrame,
    n: int | None = None,
    *,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    confidence: float = 0.95,
    least: int = 20,
) -> Estimates:
    """Estimate a model, with intervals for conclusions about the population.

    Parameters
    ----------
    formula : str
        ``income ~ 1`` for a mean, ``smoker ~ 1`` for a share, ``income ~ age + sex`` for a linear model, ``died ~ age +
        sex`` for a logistic one where ``died`` has two values, ``Surv(days, died) ~ age`` for Cox's.
    data : pandas.DataFrame
        Rows of a real table, or those of a release: with its column ``synthetic_table`` where it has several tables.
    n : int, optional
        Records that the generator learned from, which a release states. Not given: the rows are those of real people.
    weights : str, optional
        Column of sampling weights: estimates are then about the population, with the variance of linearization
        (:func:`hybrid.estimates.fit`). Not for a release of several tables.
    strata, clusters : str, optional
        Columns of the strata of a survey, and of the clusters that were drawn from them (primary sampling units). Rows
        of one cluster are alike, which makes intervals wider.
    confidence : float
        Level of the intervals, 0..1.
    least : int
        Levels of a predictor that fewer rows of a table have on average count as ``other``, or as the reference where
        all of them together have fewer.

    Returns
    -------
    Estimates
        Of a release, combined by the rule ``simple`` of :func:`hybrid.combine`.

    Raises
    ------
    ConfigError
        The formula cannot be read, or does not fit the columns; or weights, strata or clusters do not.
    NotEstimable
        A table does not determine the model.
    """
    read, survey = ModelFormula.parse(formula), Survey(weights, strata, clusters)
    if n is None:
        design = Design.of(read, data, least, survey)
        found = fit(design, design.numbers(data))
        freedom = np.full(len(found.names), found.freedom)
        return Estimates.of(found.names, found.estimates, found.variances, freedom, confidence)
    tables = [rows for _, rows in data.groupby(TABLE_NUMBER)] if TABLE_NUMBER in data else [data]
    if len({len(rows) for rows in tables}) > 1:
        raise ConfigError(
            f"{TABLE_NUMBER}: the tables have different numbers of rows",
            hint="give all rows of a table with one row for each person: others, such as visits, have several of a "
            "person, and no rule here is for them",
        )
    design = Design.of(read, data, least * len(tables), survey)
    fits = [fit(design, design.numbers(rows)) for rows in tables]
    q, u = [one.estimates for one in fits], [one.variances for one in fits]
    least_free = min(one.freedom for one in fits) if survey.has_clusters else np.inf
    return combine(q, u, n, len(tables[0]), confidence=confidence, names=design.names, freedom=least_free)
