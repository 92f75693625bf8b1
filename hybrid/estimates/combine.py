"""Combining rules: one estimate and interval from those of several synthetic tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError, Problem

if TYPE_CHECKING:
    import pandas as pd

Rule = Literal["simple", "proper", "full", "partial"]
"""simple: all tables drawn from one fitted model; proper: a model with parameters drawn anew for each table; full: the
same, with the variance taken from the spread of the tables; partial: the rows are those of real people, and some of
their values were replaced."""


@dataclass(frozen=True)
class Estimates:
    """Estimates with their intervals.

    Parameters
    ----------
    names : tuple of str
        What is estimated: names of coefficients, for example.
    estimates, errors : numpy.ndarray, shape (p,)
        Values and standard errors.
    low, high : numpy.ndarray, shape (p,)
        Ends of the intervals.
    freedom : numpy.ndarray, shape (p,)
        Degrees of freedom of Student's distribution; infinite for the normal one.
    """

    names: tuple[str, ...]
    estimates: Array
    errors: Array
    low: Array
    high: Array
    freedom: Array

    @classmethod
    def of(
        cls, names: Sequence[str], estimates: Array, variances: Array, freedom: Array, confidence: float = 0.95
    ) -> Estimates:
        """Estimates with Student's intervals; each array has shape (p,)."""
        from scipy.stats import norm, t

        errors = np.sqrt(variances)
        finite = np.isfinite(freedom)
        tail = (1 + confidence) / 2
        half = np.where(finite, t.ppf(tail, np.where(finite, freedom, 1.0)), norm.ppf(tail)) * errors
        return cls(tuple(names), estimates, errors, estimates - half, estimates + half, freedom)

    def to_frame(self) -> pd.DataFrame:
        """One row per estimate: estimate, standard error, low, high."""
        import pandas as pd

        found = {"estimate": self.estimates, "standard error": self.errors, "low": self.low, "high": self.high}
        return pd.DataFrame(found, index=pd.Index(self.names, name="name"))

    def _repr_html_(self) -> str:
        return str(self.to_frame()._repr_html_())


def combine(
    estimates: Any,
    variances: Any,
    n: int,
    k: int,
    *,
    rule: Rule = "simple",
    confidence: float = 0.95,
    names: Sequence[str] = (),
    freedom: float = np.inf,
) -> Estimates:
    """Combine estimates from the m synthetic tables of one release, for conclusions about the population.

    With the mean estimate q, the mean variance v, and the variance b of the m estimates between the tables, the
    variance of q is

    - ``simple``: v (k/n + 1/m), T_s of Raab, Nowok and Dibben (2016). It holds for one table, too.
    - ``proper``: v (k/n + (1 + k/n)/m), T_p of Raab, Nowok and Dibben (2016).
    - ``full``: (1 + 1/m) b - v, T_f of Raghunathan, Reiter and Rubin (2003). Where that is not above 0, it is v k/n, as
      Reiter (2002) adjusts it. Student's distribution has (m - 1) (1 - v / ((1 + 1/m) b))^2 degrees of freedom, and
      m - 1 where the variance was adjusted.
    - ``partial``: b/m + v, T_p of Reiter (2003). Student's distribution has (m - 1) (1 + v m / b)^2 degrees of freedom.

    `simple` is the rule for tables of this package: all tables of a run are drawn from one fitted model.

    Parameters
    ----------
    estimates, variances : array-like, shape (m,) or (m, p)
        Of each table, as if it were a table of real people: p estimates, and their squared standard errors.
    n : int
        Records that the generator learned from.
    k : int
        Rows of each synthetic table.
    rule : {"simple", "proper", "full", "partial"}
        How the tables were made.
    confidence : float
        Level of the intervals, 0..1.
    names : sequence of str, optional
        Of the p estimates; by default their numbers.
    freedom : float
        Degrees of freedom of the squared standard errors, for the rules simple and proper: of a survey, some clusters
        less strata. Infinite by default.

    Returns
    -------
    Estimates
        p estimates.

    Raises
    ------
    ConfigError
        The shapes differ, a number is not finite, a variance is negative, or the rule needs more than one table; all
        problems at once.

    Notes
    -----
    Raab, G. M., Nowok, B. and Dibben, C. (2016): Practical data synthesis for large samples. Journal of Privacy and
    Confidentiality 7(3). Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003): Multiple imputation for statistical
    disclosure limitation. Journal of Official Statistics 19(1). Reiter, J. P. (2002): Satisfying disclosure
    restrictions with synthetic data sets. Journal of Official Statistics 18(4). Reiter, J. P. (2003): Inference for
    partially synthetic, public use microdata sets. Survey Methodology 29(2).

    The rules hold where the generator's model is right. No rule sees the bias of a generator, of generalization or of
    suppression.
    """
    q, u = (np.atleast_2d(np.asarray(part, dtype=float).T).T for part in (estimates, variances))
    _refuse(q, u, n, k, rule, confidence, names)
    m, ratio = len(q), k / n
    mean, within = q.mean(axis=0), u.mean(axis=0)
    between = q.var(axis=0, ddof=1) if m > 1 else np.zeros_like(mean)
    degrees = np.full(len(mean), freedom)
    if rule == "simple":
        total = within * (ratio + 1 / m)
    elif rule == "proper":
        total = within * (ratio + (1 + ratio) / m)
    elif rule == "full":
        raw = (1 + 1 / m) * between - within
        kept = raw > 0
        share = within / np.where(kept, (1 + 1 / m) * between, 1.0)
        total = np.where(kept, raw, within * ratio)
        degrees = np.where(kept, (m - 1) * (1 - share) ** 2, m - 1)
    else:
        total = between / m + within
        share = within * m / np.where(between > 0, between, 1.0)
        degrees = np.where(between > 0, (m - 1) * (1 + share) ** 2, np.inf)
    labels = tuple(names) or tuple(map(str, range(len(mean))))
    return Estimates.of(labels, mean, total, degrees, confidence)


def _refuse(q: Array, u: Array, n: int, k: int, rule: str, confidence: float, names: Sequence[str]) -> None:
    problems = []
    if q.shape != u.shape or q.ndim != 2 or not q.size:
        problems.append(Problem("estimates and variances: their shapes differ", "give one variance for each estimate"))
    elif names and len(names) != q.shape[1]:
        problems.append(Problem("names: not one for each estimate", f"give {q.shape[1]} names"))
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        problems.append(Problem("estimates and variances: not all are finite, or a variance is negative"))
    if n < 1 or k < 1:
        problems.append(Problem("n and k: numbers of records and of rows are 1 or more"))
    if rule not in get_args(Rule):
        problems.append(Problem("rule: unknown", f"one of: {', '.join(get_args(Rule))}"))
    elif rule in ("full", "partial") and len(q) < 2:
        problems.append(Problem(f"rule {rule}: needs two tables or more", "use simple, or proper"))
    if not 0 < confidence < 1:
        problems.append(Problem("confidence: not between 0 and 1"))
    if problems:
        raise ConfigError(problems)
