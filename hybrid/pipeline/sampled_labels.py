"""Privacy statement of k-anonymous labels of a sample: conditions and words.

:mod:`hybrid.pipeline.amplification` has the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.pipeline.amplification import delta_of_sampling_last, epsilon_for, large_class
from hybrid.pipeline.privacy_statements import (
    NO_FILTER,
    NOT_COUNTED,
    ONE_ROW,
    Explanation,
    conditions_of,
    levels_fixed,
    remark_on,
    unmet,
)
from hybrid.privacy.accounting import at_most
from hybrid.sample import SampleOptions
from hybrid.table import Schema

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


@dataclass(frozen=True)
class StatementBasis:
    """Steps of a run on which the statement depends."""

    anonymize: AnonymizeOptions
    sample: SampleOptions
    """Of the run."""
    schema: Schema
    """The table's columns without identifiers."""
    reads_originals: bool
    """What ``Transition.reads_originals`` says of the transition's options, or whether a constraint learns values."""
    from_records: Sequence[str] = ()
    """Quasi-identifiers whose domain (values, or bounds of intervals) is taken from the records, not listed in a
    hierarchy file."""
    seeded: bool = False
    """Whether somebody chose the seed."""
    rows_of_records: bool = False
    """Whether as many rows are drawn as there are training records."""
    protected: bool = False
    """Whether values that few records hold were replaced."""
    several_rows: bool = False
    """Whether a person may have several records; then k counts persons."""
    nameless: bool = False
    """Whether a record has no person, where others have one."""
    households: bool = False
    """Whether records are sampled by household."""
    counted: bool = False
    """Whether the records that meet a condition on drawn rows are counted."""
    filtered: bool = False
    """Whether drawn rows near a training record are left out."""
    fitted: bool = False
    """Whether a constraint is fitted to the training records."""
    generated: bool = False
    """Whether a generator draws the rows; otherwise each is made from the labels of one record."""

    @property
    def k(self) -> int:
        return self.anonymize.k

    @property
    def independent(self) -> bool:
        """True if every record is sampled by itself, with one probability below 1."""
        sample = self.sample.effective
        alone = sample.method == "stratified" and sample.allocation == "independent" and sample.minimum == 0
        return (sample.method == "beta" or alone) and sample.beta < 1

    @property
    def most_likely(self) -> float:
        """Greatest probability, in (0, 1], with which any record is sampled."""
        sample = self.sample.effective
        return 1.0 if sample.method == "stratified" and sample.minimum else sample.beta

    @property
    def sampled_first(self) -> bool:
        """True if a sample is anonymized."""
        return self.sample.effective.order == "pre"

    @property
    def levels_fixed(self) -> bool:
        """True if no level is searched for."""
        return levels_fixed(self.anonymize, self.schema)

    @property
    def only_small_left_out(self) -> bool:
        """True if exactly the classes below k are left out."""
        options = self.anonymize
        return options.suppression_limit == 1 and not options.models and options.known_rows == 1

    @property
    def labels_only(self) -> bool:
        """True if every released column is a generalized quasi-identifier."""
        return set(self.schema.names) == set(self.schema.quasi_identifiers)


def explain(basis: StatementBasis) -> Explanation:
    """Check the conditions, and state what remains without them."""
    always = {
        "every record is sampled independently with a probability beta below 1": basis.independent,
        SAMPLED_FIRST: basis.sampled_first,
        SECRET: not basis.seeded,
        "the levels of generalization are fixed beforehand, not chosen by looking at the records": basis.levels_fixed,
        "all classes with fewer than k records are left out, by no other rule": basis.only_small_left_out,
        "every released column is a generalized quasi-identifier": basis.labels_only,
        "the transition reads no original value beyond the domain of its column": not basis.reads_originals,
        f"the values that a column can have are listed beforehand in a hierarchy file{remark_on(basis.from_records)}": (
            not basis.from_records
        ),
        DECLARED: basis.anonymize.beforehand is not None,
        "no value is protected by counting the records that hold it": not basis.protected,
        STATED_ROWS: not basis.rows_of_records,
    }
    seldom = {
        ONE_ROW: basis.several_rows,
        WITH_PERSON: basis.nameless,
        NO_HOUSEHOLDS: basis.households,
        NOT_COUNTED: basis.counted,
        NO_FILTER: basis.filtered,
        NOTHING_FITTED: basis.fitted,
    }
    conditions = conditions_of(always | {text: False for text, broken in seldom.items() if broken})
    missing = unmet(conditions)
    if missing:
        return Explanation(False, conditions, (), _what_is_left(basis, missing))
    k, beta = basis.k, basis.sample.beta
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
    uncertain = (
        " Sampling adds that without the seed it cannot be determined whether a given person is among the records "
        f"in use: each is used with a probability of about {basis.most_likely:g}."
        if basis.most_likely <= 0.5
        else ""
    )
    unit = "persons" if basis.several_rows else "records"
    table = "anonymized sample" if basis.sampled_first else "anonymized table"
    return (
        "No differential privacy is claimed for this configuration. The theorem that links sampling and k-anonymity "
        f"needs that {'; that '.join(missing)}. What is left is group privacy in words: in the {table} every "
        f"combination of labels is shared by at least {basis.k} {unit}, so the labels alone do not single out a "
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
    if not basis.labels_only:
        repeated = " (as they are after protection)" if basis.protected else ""
        return (
            f" Each row is made from one record, whose columns that are no quasi-identifiers it repeats{repeated}: "
            "only records that agree in these, too, can have made it, and they can be fewer than k."
        )
    if sample.method == "stratified" and sample.minimum:
        return ""
    unit = "persons" if basis.several_rows else "records"
    known = "" if basis.sampled_first or sample.method == "none" else " before sampling"
    return (
        f" Given levels and domains, each row has plausible deniability among {basis.k} {unit}{known} with factor 1 "
        f"(Bindschaedler, Shokri and Gunter 2017): at least so many of one class can have made it, each with exactly "
        "the same probability. That is weaker than differential privacy, since levels and classes depend on all "
        "records."
    )


def _afterwards(basis: StatementBasis, missing: Sequence[str]) -> str:
    sample = basis.sample.effective
    if sample.method == "none" or basis.sampled_first:
        return ""
    said = (
        " This is counted before sampling: among the sampled records a combination of labels can be that of fewer, "
        "down to a single one, so an attacker who knows which records were sampled can single out people by labels."
    )
    if not (basis.independent and basis.levels_fixed and basis.only_small_left_out):
        return f"{said}{_one_record_turns_levels(basis)}"
    delta = delta_of_sampling_last(basis.k, sample.beta)
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
    sizes = [(epsilon, max(large_class(beta, epsilon, delta), basis.k + 1)) for epsilon in GROUP_EPSILONS]
    bounds = "; ".join(f"epsilon = {epsilon:g} for classes of at least {size} records" for epsilon, size in sizes)
    return (
        f" For members of large classes it says more: with delta <= {delta:g}, one record of such a class more or "
        f"less changes the probability of any synthetic table by a factor of at most e ** epsilon, with {bounds} "
        "(the hockey-stick divergence of its sampled count), against an attacker who knows all other training "
        "records but neither the seed nor who was sampled. Of records in smaller classes it says nothing."
    )
