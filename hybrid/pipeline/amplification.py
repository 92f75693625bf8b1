"""Differential privacy by sampling before k-anonymization: formula, conditions, explanation.

Li, Qardaji and Su (2012), On Sampling, Anonymization, and Differential Privacy, Theorem 5: a k-anonymization whose
generalization does not depend on the records ("strongly safe": levels fixed beforehand, every combination of labels
with fewer than k records left out), applied to a sample that holds each record independently with probability
beta, is (epsilon, delta)-differentially private for every epsilon >= -ln(1 - beta) with

    delta = max over n >= ceil(k / gamma) - 1 of P(Binomial(n, beta) > gamma * n),
    gamma = (e^epsilon - 1 + beta) / e^epsilon.

Neighbouring data sets differ in the presence of one record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.errors import ConfigError
from hybrid.sample import SampleOptions
from hybrid.table import Schema

_MOST_TERMS = 400
"""Terms of a binomial tail; each is at most half of the one before, since gamma >= 1 - (1 - beta)**2 > beta."""


@dataclass(frozen=True)
class Guarantee:
    """One point of the trade-off.

    Parameters
    ----------
    k : int
        Least number of records in a class of the sample.
    beta : float
        Probability that a record is sampled, in (0, 1).
    epsilon : float
        At least -ln(1 - beta).
    log10_delta : float
        Decimal logarithm of delta, at most 0; a number even where delta itself is too small for a float.
    """

    k: int
    beta: float
    epsilon: float
    log10_delta: float

    @property
    def delta(self) -> float:
        """Probability that the bound epsilon may fail.

        0.0 where it is below the smallest float.
        """
        return float(10.0**self.log10_delta)


NO_FILTER = "no row is left out for its distance to a training record"
ONE_ROW = "every person has one record (data.max_rows: 1 draws one of several)"
"""Condition of every statement about records that is to hold for persons."""
NOT_COUNTED = "no condition on drawn rows is tried by counting the records that meet it"
"""Condition of every statement, since such a count decides whether anything is drawn."""


def least_epsilon(beta: float) -> float:
    """The smallest epsilon of the theorem, -ln(1 - beta)."""
    _check(1, beta)
    return -math.log1p(-beta)


def guarantee(k: int, beta: float, epsilon: float) -> Guarantee:
    """The exact delta of the theorem.

    Parameters
    ----------
    k : int
        At least 1.
    beta : float
        In (0, 1).
    epsilon : float
        At least :func:`least_epsilon`.

    Raises
    ------
    ConfigError
        An argument is out of range, so that the theorem says nothing.

    Notes
    -----
    For a fixed number J of sampled records the tail P(Binomial(n, beta) >= J) grows with n, so among all n with
    gamma * n < J only the largest matters. J runs from k upwards until Chernoff's bound
    exp(-J * KL(gamma || beta) / gamma), which falls with J, is below the best tail found.
    """
    _check(k, beta)
    if not epsilon >= least_epsilon(beta) * (1 - 1e-12):
        raise ConfigError(
            f"epsilon = {epsilon:g} is below -ln(1 - beta) = {least_epsilon(beta):.6g}, where the theorem says nothing",
            hint="raise epsilon, or lower sample.beta",
        )
    rest = (1.0 - beta) * math.exp(-epsilon)
    gamma = 1.0 - rest
    divergence = gamma * math.log(gamma / beta) - rest * epsilon  # KL(gamma || beta); ln(rest / (1 - beta)) = -epsilon
    best, j = -math.inf, k
    while -j * divergence / gamma > best:
        # gamma < 1, so that n = j always counts, even where gamma is 1 in floating point.
        best = max(best, _log_tail(max(math.ceil(j / gamma) - 1, j), j, beta))
        j += 1
    return Guarantee(k, beta, epsilon, min(best / math.log(10), 0.0))


def epsilon_for(k: int, beta: float, delta: float) -> Guarantee | None:
    """Smallest epsilon (to 1e-9) whose delta is at most the given.

    Arguments as :func:`guarantee`.

    None if there is none: whatever epsilon, delta is never less than beta ** k, the probability that all k records
    of a smallest class are sampled.

    Raises
    ------
    ConfigError
        An argument is out of range.
    """
    _check(k, beta)
    if not 0.0 < delta < 1.0:
        raise ConfigError(f"delta = {delta:g} is not in (0, 1)", hint="use a small probability such as 1e-6")
    if k * math.log10(beta) >= math.log10(delta) - 1e-9:
        return None
    low = high = least_epsilon(beta)
    while guarantee(k, beta, high).log10_delta > math.log10(delta):
        low, high = high, high + 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if guarantee(k, beta, middle).log10_delta > math.log10(delta):
            low = middle
        else:
            high = middle
    return guarantee(k, beta, high)


def _check(k: int, beta: float) -> None:
    if k < 1:
        raise ConfigError(f"k = {k} is less than 1", hint="use k of 2 or more")
    if not 0.0 < beta < 1.0:
        raise ConfigError(
            f"beta = {beta:g} is not in (0, 1); without sampling the theorem says nothing",
            hint="set sample.beta below 1",
        )


def _log_tail(n: int, least: int, beta: float) -> float:
    """Natural logarithm of P(Binomial(n, beta) >= least)."""
    from scipy.special import gammaln, logsumexp

    if least > n:
        return -math.inf
    j = np.arange(least, min(n, least + _MOST_TERMS) + 1, dtype=np.float64)
    ways = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
    return float(logsumexp(ways + j * math.log(beta) + (n - j) * math.log1p(-beta)))


@dataclass(frozen=True)
class Condition:
    """One condition of the theorem, and whether a configuration meets it."""

    text: str
    met: bool


@dataclass(frozen=True)
class Explanation:
    """Privacy statement of a configuration, for ``hybrid explain`` and the certificate.

    Parameters
    ----------
    holds : bool
        Whether all conditions of the theorem are met.
    conditions : tuple of Condition
        All of them.
    guarantees : tuple of Guarantee
        Empty unless it holds.
    text : str
        A few honest sentences.
    """

    holds: bool
    conditions: tuple[Condition, ...]
    guarantees: tuple[Guarantee, ...]
    text: str


def explain(
    *,
    k: int,
    beta: float,
    sampled_independently: bool,
    sampled_first: bool,
    levels_fixed: bool,
    small_classes_left_out: bool,
    labels_only: bool,
    values_read: bool,
    from_records: Sequence[str] = (),
    protected: bool = False,
    several_rows: bool = False,
    counted: bool = False,
    filtered: bool = False,
    most_likely: float | None = None,
    deltas: Sequence[float] = (1e-6, 1e-9),
) -> Explanation:
    """Check the theorem's conditions, and state what remains without them.

    Parameters
    ----------
    k : int
        Of the k-anonymization.
    beta : float
        Sampling probability, in (0, 1]; 1: not sampled.
    sampled_independently : bool
        Method ``beta``: each record by itself, without minima or exact sizes.
    sampled_first : bool
        Whether the records were sampled before they were anonymized.
    levels_fixed : bool
        Global recoding at levels given beforehand instead of searched for in the records.
    small_classes_left_out : bool
        All records of classes below k are suppressed, whatever their number, and nothing else is decided by the
        records (no diversity models).
    labels_only : bool
        Every released column is a generalized quasi-identifier.
    values_read : bool
        Whether the transition reads original values (see ``Transition.reads_originals``).
    from_records : sequence of str
        Quasi-identifiers whose domain (values, or bounds of intervals) is taken from the records, not listed in a
        hierarchy file.
    protected : bool
        Whether values were replaced before, by counting the records that hold them.
    filtered : bool
        Whether drawn rows near a training record are left out.
    several_rows : bool
        Whether a person may have several records; then k counts persons.
    counted : bool
        Whether the records that meet a condition on drawn rows are counted.
    most_likely : float, optional
        Greatest probability, in (0, 1], with which any record is sampled; ``beta``, if not given.
    deltas : sequence of float
        For each, the smallest epsilon is computed.
    """
    sampled = sampled_independently and beta < 1
    checks = {
        "every record is sampled independently with a probability beta below 1": sampled,
        "records are sampled before they are anonymized": sampled_first,
        "the levels of generalization are fixed beforehand, not chosen by looking at the records": levels_fixed,
        "all classes with fewer than k records are left out, by no other rule": small_classes_left_out,
        "every released column is a generalized quasi-identifier": labels_only,
        "the transition reads no original value beyond the domain of its column": not values_read,
        f"the values that a column can have are listed beforehand in a hierarchy file{not_so(from_records)}": (
            not from_records
        ),
        "no value is protected by counting the records that hold it": not protected,
    }
    if several_rows:
        checks[ONE_ROW] = False
    if counted:
        checks[NOT_COUNTED] = False
    if filtered:
        checks[NO_FILTER] = False
    conditions = tuple(Condition(text, met) for text, met in checks.items())
    unmet = [condition.text for condition in conditions if not condition.met]
    if unmet:
        likely = beta if most_likely is None else most_likely
        unit = "persons" if several_rows else "records"
        left = _what_is_left(k, likely, unmet, unit, sampled_last=(beta < 1) and not sampled_first)
        return Explanation(False, conditions, (), left)
    points = [epsilon_for(k, beta, delta) for delta in deltas]
    found = tuple(point for point in points if point is not None)
    bounds = "; ".join(f"epsilon = {one.epsilon:.4g} with delta <= {one.delta:.2g}" for one in found)
    unreachable = f"no epsilon brings delta below beta ** k = {beta**k:.2g}" if None in points else ""
    text = (
        f"Sampling with beta = {beta:g} before {k}-anonymization at fixed levels is (epsilon, delta)-differentially "
        f"private for one such release (Li, Qardaji and Su 2012, Theorem 5): "
        f"{'; '.join(filter(None, [bounds, unreachable]))}. Whatever is computed from the released labels alone, a "
        "generator included, keeps this. A second release from the same records does not add up by this theorem."
    )
    return Explanation(True, conditions, found, text)


def explain_run(
    anonymize: AnonymizeOptions,
    sample: SampleOptions,
    schema: Schema,
    *,
    reads_originals: bool,
    from_records: Sequence[str] = (),
    protected: bool = False,
    several_rows: bool = False,
    counted: bool = False,
    filtered: bool = False,
    sampled_first: bool = False,
) -> Explanation:
    """Check the conditions for the options of a run; see :func:`explain`.

    Parameters
    ----------
    anonymize, sample : AnonymizeOptions, SampleOptions
        Of the run.
    schema : Schema
        The table's columns without identifiers.
    reads_originals : bool
        What ``Transition.reads_originals`` says of the transition's options.
    from_records : sequence of str
        Quasi-identifiers whose domain is taken from the records; see :func:`explain`.
    protected : bool
        Whether values that few records hold were replaced.
    filtered : bool
        Whether drawn rows near a training record are left out.
    several_rows : bool
        Whether a person may have several records.
    counted : bool
        Whether the records that meet a condition on drawn rows are counted.
    sampled_first : bool
        Whether sampling comes before anonymizing; the pipeline of this package anonymizes first.
    """
    sample = sample.effective
    independent = sample.method == "beta" or (
        sample.method == "stratified" and sample.allocation == "independent" and sample.minimum == 0
    )
    # A minimum keeps all records of small strata.
    most_likely = 1.0 if sample.method == "stratified" and sample.minimum else sample.beta
    fixed = anonymize.recoding == "global" and set(schema.quasi_identifiers) <= set(anonymize.levels)
    return explain(
        k=anonymize.k,
        beta=sample.beta,
        sampled_independently=independent,
        sampled_first=sampled_first,
        levels_fixed=fixed,
        small_classes_left_out=anonymize.suppression_limit == 1 and not anonymize.models,
        labels_only=set(schema.names) == set(schema.quasi_identifiers),
        values_read=reads_originals,
        from_records=from_records,
        protected=protected,
        several_rows=several_rows,
        counted=counted,
        filtered=filtered,
        most_likely=most_likely,
    )


def together(explanations: Sequence[Explanation]) -> Explanation:
    """Combined statement of several mechanisms of one run.

    One of them may hold although another does not.
    """
    return Explanation(
        any(one.holds for one in explanations),
        tuple(condition for one in explanations for condition in one.conditions),
        tuple(point for one in explanations for point in one.guarantees),
        " ".join(one.text for one in explanations),
    )


def not_so(columns: Sequence[str]) -> str:
    """Remark that names the columns of an unmet condition."""
    return f" (not so: {', '.join(map(repr, columns))})" if columns else ""


def _what_is_left(k: int, most_likely: float, unmet: Sequence[str], unit: str, *, sampled_last: bool) -> str:
    uncertain = (
        " Sampling adds that without the seed it cannot be determined whether a given person is among the records "
        f"in use: each is used with a probability of about {most_likely:g}."
        if most_likely <= 0.5
        else ""
    )
    afterwards = (
        " This is counted before sampling: among the sampled records a combination of labels can be that of fewer, "
        "down to a single one, so an attacker who knows which records were sampled can single out people by labels."
        if sampled_last
        else ""
    )
    return (
        "No differential privacy is claimed for this configuration. The theorem that links sampling and k-anonymity "
        f"needs that {'; that '.join(unmet)}. What is left is group privacy in words: in the anonymized table every "
        f"combination of labels is shared by at least {k} {unit}, so the labels alone do not single out a {unit[:-1]}; "
        "they do not hide what all members of a group have in common, and they do not bound what an intruder with "
        f"other knowledge can infer.{afterwards}{uncertain} The attacks of the evaluation, not a formula, show what "
        "remains."
    )
