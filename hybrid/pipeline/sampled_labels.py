"""Privacy statement of k-anonymous labels of a sample: conditions and words.

:mod:`hybrid.pipeline.amplification` has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybrid.base.sentence import sentence, sentences
from hybrid.pipeline.amplification import delta_of_sampling_last, epsilon_for, large_class
from hybrid.pipeline.privacy_statements import (
    NO_FILTER,
    NOT_COUNTED,
    NOT_PROTECTED,
    ONE_ROW,
    Explanation,
    StatementBasis,
    conditions_of,
    not_met,
    unmet,
)
from hybrid.privacy.accounting import at_most

DELTAS = (1e-6, 1e-9)
"""Deltas for each of which the smallest epsilon is stated."""
GROUP_EPSILONS = (0.5, 1.0, 2.0)
"""Epsilons for each of which the smallest class is stated whose members they hold for."""
SAMPLED_FIRST = "records are sampled before they are anonymized (sample.order: pre)"
DECLARED = (
    "a person states that hierarchies, levels, k and beta were chosen without looking at these records "
    "(anonymize.beforehand)"
)
SECRET = "the sample is secret: its seed is drawn anew (none in the configuration, no --seed)"
STATED_ROWS = "the number of drawn rows is not that of the records (synthesize.rows is a number, or no generator runs)"
WITH_PERSON = "every record has a person"
NO_HOUSEHOLDS = "members of a household are sampled independently (data.household is not set)"
NOTHING_FITTED = "no constraint between columns is fitted to the records"


def _is_independent(basis: StatementBasis) -> bool:
    """True if every record is sampled by itself, with one probability below 1."""
    sample = basis.sample.effective
    alone = sample.method == "stratified" and sample.allocation == "independent" and sample.minimum == 0
    return (sample.method == "beta" or alone) and sample.beta < 1


def _is_sampled_first(basis: StatementBasis) -> bool:
    return basis.sample.effective.order == "pre"


def _leaves_only_small_out(basis: StatementBasis) -> bool:
    """True if exactly the classes below k are left out."""
    options = basis.anonymize
    return options.suppression_limit == 1 and not options.models and options.known_rows == 1


def _has_labels_only(basis: StatementBasis) -> bool:
    """True if every released column is a generalized quasi-identifier."""
    return set(basis.schema.names) == set(basis.schema.quasi_identifiers)


def explain(basis: StatementBasis) -> Explanation:
    """Check the conditions, and state what remains without them."""
    synthesize = basis.config.synthesize
    always = {
        "every record is sampled independently with a probability beta below 1": _is_independent(basis),
        SAMPLED_FIRST: _is_sampled_first(basis),
        SECRET: not basis.seeded,
        "the levels of generalization are fixed beforehand, not chosen by looking at the records": basis.levels_fixed,
        "all classes with fewer than k records are left out, by no other rule": _leaves_only_small_out(basis),
        "every released column is a generalized quasi-identifier": _has_labels_only(basis),
        "the transition reads no original value beyond the domain of its column": not basis.reads_originals,
        **basis.domains_listed(basis.from_records),
        DECLARED: basis.anonymize.beforehand is not None,
        NOT_PROTECTED: not basis.protected,
        STATED_ROWS: not (basis.generated and isinstance(synthesize.rows, str)),
    }
    seldom = {
        ONE_ROW: basis.several_rows,
        WITH_PERSON: basis.nameless,
        NO_HOUSEHOLDS: bool(basis.config.data.household_columns),
        NOT_COUNTED: synthesize.chooses,
        NO_FILTER: basis.filtered,
        NOTHING_FITTED: basis.fitted,
    }
    conditions = conditions_of(always | {text: False for text, broken in seldom.items() if broken})
    missing = unmet(conditions)
    if missing:
        return Explanation(False, conditions, (), _what_is_left(basis, missing))
    k, beta = basis.anonymize.k, basis.sample.beta
    points = [epsilon_for(k, beta, delta) for delta in DELTAS]
    found = tuple(point for point in points if point is not None)
    bounds = [
        sentence("explained.budget", epsilon=at_most(one.epsilon, 4), delta=at_most(one.delta, 2)) for one in found
    ]
    if None in points:
        bounds.append(sentence("explained.unreachable", n=f"{beta**k:.2g}"))
    stated = str(basis.anonymize.beforehand)
    text = sentence("explained.sampled", beta=f"{beta:g}", k=k, bounds=tuple(bounds), beforehand=stated)
    return Explanation(True, conditions, found, text)


def _what_is_left(basis: StatementBasis, missing: Sequence[str]) -> str:
    sample = basis.sample.effective
    most_likely = 1.0 if sample.method == "stratified" and sample.minimum else sample.beta
    table = sentence("explained.table.sampled" if _is_sampled_first(basis) else "explained.table")
    return sentences(
        sentence("explained.not_claimed"),
        sentence("explained.theorem"),
        not_met(missing),
        sentence("explained.shared", table=table, k=basis.anonymize.k, unit=basis.unit),
        sentence("explained.group"),
        *_afterwards(basis, missing),
        "" if basis.levels_fixed else sentence("explained.searched"),
        _deniable(basis),
        sentence("explained.uncertain", n=f"{most_likely:g}") if most_likely <= 0.5 else "",
        sentence("explained.remains"),
    )


def _deniable(basis: StatementBasis) -> str:
    sample = basis.sample.effective
    if basis.generated or basis.reads_originals or basis.filtered:
        return ""
    if not _has_labels_only(basis):
        return sentence("explained.repeats.protected" if basis.protected else "explained.repeats")
    if sample.method == "stratified" and sample.minimum:
        return ""
    as_used = _is_sampled_first(basis) or sample.method == "none"
    name = "explained.among" if as_used else "explained.among.before"
    return sentence("explained.deniable", among=sentence(name, k=basis.anonymize.k, unit=basis.unit))


def _afterwards(basis: StatementBasis, missing: Sequence[str]) -> Iterator[str]:
    sample = basis.sample.effective
    if sample.method == "none" or _is_sampled_first(basis):
        return
    yield sentence("explained.before_sampling")
    if _is_independent(basis) and basis.levels_fixed and _leaves_only_small_out(basis):
        delta = delta_of_sampling_last(basis.anonymize.k, sample.beta)
        yield sentence("explained.sampled_last", n=f"{delta:.3g}")
        if list(missing) == [SAMPLED_FIRST]:
            yield _in_large_classes(basis)
    elif not basis.levels_fixed:
        yield sentence("explained.turned")


def _in_large_classes(basis: StatementBasis) -> str:
    """Statement for members of classes well above k.

    It needs all conditions of the theorem but the order.
    """
    beta, delta = basis.sample.beta, DELTAS[0]
    sizes = ((epsilon, max(large_class(beta, epsilon, delta), basis.anonymize.k + 1)) for epsilon in GROUP_EPSILONS)
    bounds = tuple(sentence("explained.large.bound", epsilon=f"{epsilon:g}", n=size) for epsilon, size in sizes)
    return sentence("explained.large", delta=f"{delta:g}", bounds=bounds)
