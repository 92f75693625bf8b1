"""Privacy statement of k-anonymous labels of a sample: conditions and words.

:mod:`hybrid.pipeline.amplification` has the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybrid.pipeline.amplification import delta_of_sampling_last, epsilon_for, large_class
from hybrid.pipeline.privacy_statements import (
    NO_FILTER,
    NOT_COUNTED,
    NOT_PROTECTED,
    ONE_ROW,
    Explanation,
    StatementBasis,
    conditions_of,
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
    bounds = [f"epsilon = {at_most(one.epsilon, 4)} with delta <= {at_most(one.delta, 2)}" for one in found]
    if None in points:
        bounds.append(f"no epsilon brings delta below beta ** k = {beta**k:.2g}")
    text = (
        f"Each training record was sampled with probability beta = {beta:g}, and the sample was generalized to fixed "
        f"levels, classes of fewer than {k} records left out. The synthetic table, which is made from these labels "
        f"alone, is therefore (epsilon, delta)-differentially private for one training record more or less: "
        f"{'; '.join(bounds)} (the hockey-stick divergence of a sampled count that shows from {k} on; a sharper form "
        "of Theorem 5 of Li, Qardaji and Su 2012). It holds against an attacker who knows all other training records, "
        "the split, hierarchies, levels, k and beta, but neither the seed nor who was sampled; of one who knows who "
        f"was sampled, it promises nothing, and {k}-anonymity of the labels alone is left. The columns, their kinds "
        f"and formats count as public. That hierarchies, levels, k and beta do not come from the records is the "
        f"statement of a person ({basis.anonymize.beforehand}), which no program can check. The figures of evaluation, "
        "report and certificate, and the decision to publish, are made from the records without noise and are not "
        "covered. Every further table from the same records adds its own epsilon and delta."
    )
    return Explanation(True, conditions, found, text)


def _what_is_left(basis: StatementBasis, missing: Sequence[str]) -> str:
    sample, k, unit = basis.sample.effective, basis.anonymize.k, basis.unit
    most_likely = 1.0 if sample.method == "stratified" and sample.minimum else sample.beta
    uncertain = (
        " Sampling adds that without the seed it cannot be determined whether a given person is among the records "
        f"in use: each is used with a probability of about {most_likely:g}."
        if most_likely <= 0.5
        else ""
    )
    table = "anonymized sample" if _is_sampled_first(basis) else "anonymized table"
    return (
        "No differential privacy is claimed for this configuration. The theorem that links sampling and k-anonymity "
        f"needs that {'; that '.join(missing)}. What is left is group privacy in words: in the {table} every "
        f"combination of labels is shared by at least {k} {unit}, so the labels alone do not single out a "
        f"{unit[:-1]}; they do not hide what all members of a group have in common, and they do not bound what an "
        f"intruder with other knowledge can infer.{_searched(basis)}{_deniable(basis)}{_afterwards(basis, missing)}"
        f"{uncertain} The attacks of the evaluation, not a formula, show what remains."
    )


def _searched(basis: StatementBasis) -> str:
    if basis.levels_fixed:
        return ""
    return (
        " The labels come from a search for little generalization: who sees them and knows the algorithm can rule out "
        "every table for which it would have found less, and so may infer exact values below labels (downcoding, Cohen "
        "2022) and sensitive values (minimality attack, Wong et al. 2007) beyond what the privacy models say, most of "
        "all with local recoding and a small k. Levels of all quasi-identifiers that are fixed beforehand "
        "(anonymize.levels) prevent it, but for what it says of people that they were left out."
    )


def _deniable(basis: StatementBasis) -> str:
    sample = basis.sample.effective
    if basis.generated or basis.reads_originals or basis.filtered:
        return ""
    if not _has_labels_only(basis):
        repeated = " (as they are after protection)" if basis.protected else ""
        return (
            f" Each row is made from one record, whose columns that are no quasi-identifiers it repeats{repeated}: "
            "only records that agree in these, too, can have made it, and they can be fewer than k."
        )
    if sample.method == "stratified" and sample.minimum:
        return ""
    known = "" if _is_sampled_first(basis) or sample.method == "none" else " before sampling"
    among = f"{basis.anonymize.k} {basis.unit}{known}"
    return (
        f" Given levels and domains, each row has plausible deniability among {among} with factor 1 "
        f"(Bindschaedler, Shokri and Gunter 2017): at least so many of one class can have made it, each with exactly "
        "the same probability. That is weaker than differential privacy, since levels and classes depend on all "
        "records."
    )


def _afterwards(basis: StatementBasis, missing: Sequence[str]) -> str:
    sample = basis.sample.effective
    if sample.method == "none" or _is_sampled_first(basis):
        return ""
    said = (
        " This is counted before sampling: among the sampled records a combination of labels can be that of fewer, "
        "down to a single one, so an attacker who knows which records were sampled can single out people by labels."
    )
    if not (_is_independent(basis) and basis.levels_fixed and _leaves_only_small_out(basis)):
        return f"{said}{_one_record_turns_levels(basis)}"
    delta = delta_of_sampling_last(basis.anonymize.k, sample.beta)
    members = _in_large_classes(basis) if list(missing) == [SAMPLED_FIRST] else ""
    return (
        f"{said} Differential privacy says little in this order: a class of k records shows with probability "
        f"1 - (1 - beta) ** k = {delta:.3g}, and never without one of them, so that delta is at least that, whatever "
        f"epsilon (sample.order: pre samples first).{members}"
    )


def _one_record_turns_levels(basis: StatementBasis) -> str:
    if basis.levels_fixed:
        return ""
    return (
        " No differential privacy can be stated while the records choose the levels: one record more or less can turn "
        "the labels of all others, which in a large table can show with a probability close to 1."
    )


def _in_large_classes(basis: StatementBasis) -> str:
    """Statement for members of classes well above k.

    It needs all conditions of the theorem but the order.
    """
    beta, delta = basis.sample.beta, DELTAS[0]
    sizes = [(epsilon, max(large_class(beta, epsilon, delta), basis.anonymize.k + 1)) for epsilon in GROUP_EPSILONS]
    bounds = "; ".join(f"epsilon = {epsilon:g} for classes of at least {size} records" for epsilon, size in sizes)
    return (
        f" For members of large classes it says more: with delta <= {delta:g}, one record of such a class more or "
        f"less changes the probability of any synthetic table by a factor of at most e ** epsilon, with {bounds} "
        "(the hockey-stick divergence of its sampled count), against an attacker who knows all other training "
        "records but neither the seed nor who was sampled. Of records in smaller classes it says nothing."
    )
