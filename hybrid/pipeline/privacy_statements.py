"""Privacy statements of single mechanisms: noisy values, masked values, a generator with a budget of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.techniques.registry import assigned, gives_k
from hybrid.pipeline.amplification import Guarantee
from hybrid.privacy.accounting import at_most
from hybrid.sample import SampleOptions
from hybrid.table import Role, Schema

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

NO_FILTER = "no row is left out for its distance to a training record"
ONE_ROW = "every person has one record (data.max_rows: 1 draws one of several)"
"""Condition of every statement about records that is to hold for persons."""
NOT_COUNTED = "no condition on drawn rows is tried by counting the records that meet it"
"""Condition of every statement, since such a count decides whether anything is drawn."""


@dataclass(frozen=True)
class Condition:
    """One condition of a statement, and whether a configuration meets it."""

    text: str
    met: bool


@dataclass(frozen=True)
class Explanation:
    """Privacy statement of a configuration, for ``hybrid explain`` and the certificate."""

    holds: bool
    """Whether all conditions are met."""
    conditions: tuple[Condition, ...]
    """All of them."""
    guarantees: tuple[Guarantee, ...]
    """Empty unless it holds."""
    text: str
    """A few honest sentences."""
    of_values: bool = False
    """Whether it is about exact values below known labels alone, and says nothing of who is in the table."""

    @property
    def is_private(self) -> bool:
        """True if it claims differential privacy of the synthetic table."""
        return self.holds and not self.of_values


def conditions_of(checks: Mapping[str, bool]) -> tuple[Condition, ...]:
    """Conditions by their texts, in order."""
    return tuple(Condition(text, met) for text, met in checks.items())


def unmet(conditions: Sequence[Condition]) -> list[str]:
    """Texts of the conditions that are not met."""
    return [condition.text for condition in conditions if not condition.met]


def combined_explanation(explanations: Sequence[Explanation]) -> Explanation:
    """Combined statement of several mechanisms of one run; one may hold although another does not."""
    return Explanation(
        any(one.is_private for one in explanations),
        tuple(condition for one in explanations for condition in one.conditions),
        tuple(point for one in explanations for point in one.guarantees),
        " ".join(one.text for one in explanations),
    )


def remark_on(columns: Sequence[str]) -> str:
    """Remark that names the columns of an unmet condition."""
    return f" (not so: {', '.join(map(repr, columns))})" if columns else ""


def levels_fixed(options: AnonymizeOptions, schema: Schema) -> bool:
    """True if the level of every quasi-identifier is given."""
    return options.recoding == "global" and set(schema.quasi_identifiers) <= set(options.levels)


def explain_generator(
    name: str,
    epsilon: float,
    delta: float,
    *,
    looked_at_before: bool,
    from_records: Sequence[str],
    secure_noise: bool,
    bypassed: bool = False,
    several_rows: bool = False,
    calibrated: bool = False,
    counted: bool = False,
    filtered: bool = False,
) -> Explanation:
    """Check if the generator's differential privacy holds for the synthetic table.

    Parameters
    ----------
    epsilon, delta : float
        What one training spends; neighbouring tables differ in the presence of one record.
    looked_at_before : bool
        Whether an earlier stage has chosen or changed anything by looking at the records: anonymization and
        stratified sampling do, and so does the protection of values; with them one record more or less can change
        many others.
    from_records : sequence of str
        Columns whose domain (values, or bounds of intervals) was taken from the records.
    secure_noise : bool
        Whether the noise comes from a secure source that no seed repeats.
    bypassed : bool
        Whether the generator's library also learns from the records without that noise.
    several_rows : bool
        Whether a person may have several records, each of which spends epsilon.
    calibrated : bool
        Whether sampling weights are calibrated to margins of the records.
    counted : bool
        Whether the records that meet a condition on drawn rows are counted.
    filtered : bool
        Whether rows near a training record are left out.
    """
    checks = {
        f"the generator {name} adds noise for a stated epsilon": True,
        "its noise comes from a secure source that no seed repeats": secure_noise,
        "no stage before the generator looks at the records": not looked_at_before,
        f"the values that a column can have are listed beforehand in a hierarchy file{remark_on(from_records)}": (
            not from_records
        ),
    }
    if bypassed:
        checks["the noise covers all that its library takes from the records"] = False
    if several_rows:
        checks[ONE_ROW] = False
    if calibrated:
        checks["no weights are calibrated to margins of the records"] = False
    if counted:
        checks[NOT_COUNTED] = False
    if filtered:
        checks[NO_FILTER] = False
    conditions = conditions_of(checks)
    missing = unmet(conditions)
    spent = f"{name} was trained once with epsilon = {at_most(epsilon, 6)}"
    spent += "" if bypassed else f" and delta = {at_most(delta, 6)}"
    if missing:
        left = (
            " What is left: given those columns' domains, the noise bounds what the generator itself discloses of one "
            "record of the table it learned from."
        )
        text = (
            f"{spent}, yet no differential privacy is claimed for people in the source: that needs that "
            f"{'; that '.join(missing)}.{left if secure_noise else ''}"
        )
        return Explanation(False, conditions, (), text)
    text = (
        f"{spent}: the synthetic table is (epsilon, delta)-differentially private for one training record more or "
        "less. The columns' kinds and whether they have missing values, the number of records and the split "
        "count as public, and the seed must stay secret. This holds for the synthetic table alone: the figures of the "
        "evaluation are computed from the records without noise. Every further training on the same records adds "
        "its own epsilon."
    )
    return Explanation(True, conditions, (), text)


GENERALIZED = "all quasi-identifiers are generalized, and nothing else is done to them (anonymize.technique)"
"""Condition that no other technique meets: the theorem on sampling is about counts of labels."""


def explain_masking(
    options: AnonymizeOptions, sample: SampleOptions, schema: Schema, *, several_rows: bool
) -> Explanation:
    """Explain a list of techniques: the promise of the weakest.

    Parameters
    ----------
    options : AnonymizeOptions
        Of a configuration whose technique is not generalization alone.
    schema : Schema
        The columns, without identifiers.
    several_rows : bool
        Whether a person may have several records; then k counts persons.
    """
    steps = assigned(options, schema)
    unit = "persons" if several_rows else "records"
    done = " ".join(step.words(", ".join(columns), {}) for step, columns in steps)
    if gives_k(steps, schema.quasi_identifiers):
        left = (
            "In the intermediate table every combination of masked quasi-identifiers is shared by at least "
            f"{options.k} {unit}, so it alone does not single out a {unit[:-1]}; it does not hide what all members of "
            "a group have in common, and does not bound what an intruder with other knowledge can infer."
            f"{_sampled(sample)}"
        )
    else:
        left = (
            "No k-anonymity is promised, since no step makes groups that are equal in all quasi-identifiers: of steps "
            "on several columns the weakest promise is left, and an intruder who knows the quasi-identifiers of a "
            "person may single out a record."
        )
    text = (
        f"No differential privacy is claimed for this configuration. {done} {left} The attacks of the evaluation, not "
        "a formula, show what remains."
    )
    return Explanation(False, (Condition(GENERALIZED, False),), (), text)


def _sampled(sample: SampleOptions) -> str:
    chosen = sample.effective
    if chosen.method == "none" or chosen.order == "pre":
        return ""
    return " This is counted before sampling: among the sampled records a combination can be that of fewer."


METHOD = "noisy"
PREFIX = "values of noisy: "
"""Begins each condition, beside those of other mechanisms of the same run."""


def explain_noisy(
    config: RunConfig, schema: Schema, derived: Sequence[str], *, seeded: bool, linked: bool
) -> Explanation | None:
    """Explain the epsilon of the transition ``noisy``; None for other transitions.

    Two tables are neighbours if they differ in the quasi-identifiers of one record, within its labels: Blowfish
    privacy with the labels as partition of the values (He, Machanavajjhala and Ding 2014). Labels, suppression, sample
    and other columns are then those of the neighbour, and the noisy tables are all that can differ.

    Parameters
    ----------
    schema : Schema
        The columns, without identifiers.
    derived : sequence of str
        Quasi-identifiers whose hierarchy has values or bounds that are taken from the records.
    linked : bool
        Whether other tables, linked to this one, are learned from, too.
    """
    if config.transition is None or config.transition.method != METHOD:
        return None
    epsilon, sample = float(getattr(config.transition, "epsilon", 0)), config.sample.effective
    strata = sample.by if sample.method == "stratified" and isinstance(sample.by, list) else []
    checks = {
        "the noise is that of whole numbers (mechanism: geometric)": (
            getattr(config.transition, "mechanism", None) == "geometric"
        ),
        "the noise is secret: its seed is drawn anew (none in the configuration, no --seed)": not seeded,
        f"the values that a column can have are listed beforehand in a hierarchy file{remark_on(derived)}": not derived,
        "no value is protected by counting the records that hold it": config.protection is None,
        ONE_ROW: not config.data.several_rows,
        "no other table is linked to the records, whose generator could learn their exact values": not linked,
        "no record's side of the split depends on its values (split.stable is off)": not config.split.stable,
        "no record is sampled by its quasi-identifiers": not set(strata) & set(schema.quasi_identifiers),
        "no constraint between columns is learned from the records": all(
            constraint.learns == "nothing" for constraint in config.constraints
        ),
        NOT_COUNTED: not config.synthesize.chooses,
        NO_FILTER: config.synthesize.filter is None,
        "no weights are calibrated to margins of the records": not schema.having(Role.WEIGHT),
    }
    conditions = conditions_of({f"{PREFIX}{text}": met for text, met in checks.items()})
    missing = [text.removeprefix(PREFIX) for text in unmet(conditions)]
    if missing:
        text = (
            f"The transition noisy used tables with noise of epsilon = {epsilon:g}, yet no statement follows about "
            f"exact values: that needs that {'; that '.join(missing)}."
        )
        return Explanation(False, conditions, (), text, of_values=True)
    fixed = config.anonymize is not None and levels_fixed(config.anonymize, schema)
    pair = "" if fixed else ", where both tables get the same labels (the records choose the levels here)"
    text = (
        f"The transition noisy hides exact values below their labels with epsilon = {epsilon:g}: if the "
        "quasi-identifiers of one record change within its labels, the probability of any synthetic table changes by "
        f"a factor of at most e ** epsilon{pair} (Blowfish privacy with the labels as partition, He, Machanavajjhala "
        "and Ding 2014; up to the rounding of floating-point draws, and as far as the pseudo-random noise cannot be "
        "told from a random one). Hierarchies, formats, which columns have missing values, and the number of records "
        "count as public. It hides neither the labels of a record nor its other columns, nor whether the record is "
        "there, and so it is no differential privacy of the table. Every further table from the same records adds "
        "its own epsilon."
    )
    return Explanation(True, conditions, (), text, of_values=True)
