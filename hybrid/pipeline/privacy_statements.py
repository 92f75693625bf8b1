"""Privacy statements of single mechanisms: noisy values, masked values, a generator with a budget of its own."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid import transition
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.techniques.registry import assigned, gives_k
from hybrid.base.sentence import sentence, sentences
from hybrid.pipeline.amplification import Guarantee
from hybrid.privacy.accounting import at_most, epsilon_of
from hybrid.sample import SampleOptions
from hybrid.synthesize.registry import engine
from hybrid.table import Role, Schema

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

NO_FILTER = "no row is left out for its distance to a training record"
ONE_ROW = "every person has one record (data.max_rows: 1 draws one of several)"
"""Condition of every statement about records that is to hold for persons."""
NOT_COUNTED = "no condition on drawn rows is tried by counting the records that meet it"
"""Condition of every statement, since such a count decides whether anything is drawn."""
NOT_CALIBRATED = "no weights are calibrated to margins of the records"
NOT_PROTECTED = "no value is protected by counting the records that hold it"


@dataclass(frozen=True)
class StatementBasis:
    """Steps of a run on which its privacy statements depend."""

    config: RunConfig
    schema: Schema
    """The columns without identifiers, of linked tables those of all."""
    from_records: Sequence[str] = ()
    """Quasi-identifiers whose domain (values, or bounds of intervals) is taken from the records, not listed in a
    hierarchy file."""
    seeded: bool = False
    """Whether somebody chose the seed."""
    nameless: bool = False
    """Whether a record has no person, where others have one."""
    linked: bool = False
    """Whether other tables, linked to this one, are learned from, too."""
    drawn: float = 1.0
    """Share of the records with labels, in (0, 1], that were drawn from a table that stayed in a warehouse."""

    @property
    def anonymize(self) -> AnonymizeOptions:
        assert self.config.anonymize is not None
        return self.config.anonymize

    @property
    def sample(self) -> SampleOptions:
        return self.config.sample if self.drawn == 1 else SampleOptions(method="simple", beta=self.drawn)

    @property
    def reads_originals(self) -> bool:
        """True if restored values depend on exact original ones beyond the domain of their column."""
        options = self.config.required_transition
        strategy = transition.REGISTRY[options.method]
        return strategy.reads_originals(options) or any(one.learns == "values" for one in self.config.constraints)

    @property
    def fitted(self) -> bool:
        """True if the form of a constraint is fitted to the training records."""
        return any(one.learns == "form" for one in self.config.constraints)

    @property
    def generated(self) -> bool:
        """True if a generator draws the rows; otherwise each is made from the labels of one record."""
        return not self.config.synthesize.is_off

    @property
    def protected(self) -> bool:
        return self.config.protection is not None

    @property
    def several_rows(self) -> bool:
        """True if a person may have several records; then k counts persons."""
        return self.config.data.several_rows

    @property
    def unit(self) -> str:
        return "persons" if self.several_rows else "records"

    @property
    def filtered(self) -> bool:
        return self.config.synthesize.filter is not None

    @property
    def calibrated(self) -> bool:
        return bool(self.schema.having(Role.WEIGHT))

    @property
    def levels_fixed(self) -> bool:
        """True if the level of every quasi-identifier is given, and none is searched for."""
        options = self.anonymize
        return options.recoding == "global" and set(self.schema.quasi_identifiers) <= set(options.levels)

    def domains_listed(self, names: Sequence[str]) -> dict[str, bool]:
        """The condition on domains, unmet by these columns."""
        if not names:
            return {"the values that a column can have are listed beforehand in a hierarchy file": True}
        return {sentence("explained.domains", names=", ".join(map(repr, names))): False}


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
    guarantees: tuple[Guarantee, ...]
    """Empty unless it holds."""
    text: str
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


def not_met(missing: Iterable[str]) -> str:
    """The conditions that are not met, in a sentence."""
    return sentence("explained.unmet", missing=tuple(missing))


def combined_explanation(explanations: Sequence[Explanation]) -> Explanation:
    """Combined statement of several mechanisms of one run; one may hold although another does not."""
    return Explanation(
        any(one.is_private for one in explanations),
        tuple(condition for one in explanations for condition in one.conditions),
        tuple(point for one in explanations for point in one.guarantees),
        sentences(*(one.text for one in explanations)),
    )


def stated_budget(config: RunConfig) -> tuple[float, float] | None:
    """Epsilon and delta of one training by the generator's own options; None for one without a budget.

    A budget that is given as rho is converted at its delta.
    """
    if config.synthesize.is_off:
        return None
    options = config.synthesize.resolve()
    epsilon, delta = getattr(options, "epsilon", None), getattr(options, "delta", 0.0)
    if epsilon is None:
        return None
    rho = getattr(options, "rho", None)
    return (epsilon if rho is None else epsilon_of(rho, delta)), delta


def explain_generator(basis: StatementBasis, listed: Container[str]) -> Explanation | None:
    """Check if the generator's own differential privacy holds for the synthetic table; None without a budget.

    ``listed`` are columns whose values hierarchy files list. A stage before the generator that looks at the records
    voids it: with it, one record more or less can change many others.
    """
    config = basis.config
    budget = stated_budget(config)
    if budget is None:
        return None
    (epsilon, delta), name = budget, config.synthesize.generator
    made = engine(name, config.synthesize.resolve())
    secure_noise, bypassed = made.secure_noise, made.bypasses_noise
    looked_at = basis.protected or config.anonymize is not None or config.sample.method == "stratified"
    looked_at |= any(constraint.learns != "nothing" for constraint in config.constraints)
    post = config.transition is not None and config.transition.order == "post"
    checks = {
        sentence("explained.noise", generator=name): True,
        "its noise comes from a secure source that no seed repeats": secure_noise,
        "no stage before the generator looks at the records": not looked_at,
        **basis.domains_listed([column for column in basis.schema.names if post or column not in listed]),
    }
    seldom = {
        "the noise covers all that its library takes from the records": bypassed,
        ONE_ROW: basis.several_rows,
        NOT_CALIBRATED: basis.calibrated,
        NOT_COUNTED: config.synthesize.chooses,
        NO_FILTER: basis.filtered,
    }
    checks |= {text: False for text, broken in seldom.items() if broken}
    conditions = conditions_of(checks)
    missing = unmet(conditions)
    spent = {"generator": name, "epsilon": at_most(epsilon, 6)}
    delta_too = sentence("explained.trained.delta", **spent, delta=at_most(delta, 6))
    trained = sentence("explained.trained", **spent) if bypassed else delta_too
    if missing:
        left = sentence("explained.trained.left") if secure_noise else ""
        text = sentences(sentence("explained.trained.not_claimed", trained=trained), not_met(missing), left)
        return Explanation(False, conditions, (), text)
    return Explanation(True, conditions, (), sentence("explained.trained.claimed", trained=trained))


GENERALIZED = "all quasi-identifiers are generalized, and nothing else is done to them (anonymize.technique)"
"""Condition that no other technique meets: the theorem on sampling is about counts of labels."""


def explain_masking(basis: StatementBasis) -> Explanation:
    """Explain a list of techniques that is not generalization alone: the promise of the weakest."""
    steps = assigned(basis.anonymize, basis.schema)
    done = (step.words(", ".join(columns), {}) for step, columns in steps)
    left = [sentence("explained.no_groups")]
    if gives_k(steps, basis.schema.quasi_identifiers):
        shared = sentence("explained.shared.masked", k=basis.anonymize.k, unit=basis.unit)
        left = [shared, sentence("explained.group")]
        if basis.config.sample.effective.method != "none" and basis.config.sample.effective.order != "pre":
            left.append(sentence("explained.before_sampling"))
    text = sentences(sentence("explained.not_claimed"), *done, *left, sentence("explained.remains"))
    return Explanation(False, (Condition(GENERALIZED, False),), (), text)


METHOD = "noisy"


def explain_noisy(basis: StatementBasis) -> Explanation | None:
    """Explain the epsilon of the transition ``noisy``; None for other transitions.

    Two tables are neighbours if they differ in the quasi-identifiers of one record, within its labels: Blowfish
    privacy with the labels as partition of the values (He, Machanavajjhala and Ding 2014). Labels, suppression, sample
    and other columns are then those of the neighbour, and the noisy tables are all that can differ.
    """
    config = basis.config
    if config.transition is None or config.transition.method != METHOD:
        return None
    epsilon, sample = float(getattr(config.transition, "epsilon", 0)), config.sample.effective
    strata = sample.by if sample.method == "stratified" and isinstance(sample.by, list) else []
    checks = {
        "the noise is that of whole numbers (mechanism: geometric)": (
            getattr(config.transition, "mechanism", None) == "geometric"
        ),
        "the noise is secret: its seed is drawn anew (none in the configuration, no --seed)": not basis.seeded,
        **basis.domains_listed(basis.from_records),
        NOT_PROTECTED: not basis.protected,
        ONE_ROW: not basis.several_rows,
        "no other table is linked to the records, whose generator could learn their exact values": not basis.linked,
        "no record's side of the split depends on its values (split.stable is off)": not config.split.stable,
        "no record is sampled by its quasi-identifiers": not set(strata) & set(basis.schema.quasi_identifiers),
        "no constraint between columns is learned from the records": all(
            constraint.learns == "nothing" for constraint in config.constraints
        ),
        NOT_COUNTED: not config.synthesize.chooses,
        NO_FILTER: not basis.filtered,
        NOT_CALIBRATED: not basis.calibrated,
    }
    conditions = conditions_of(
        {sentence("explained.noisy.condition", condition=text): met for text, met in checks.items()}
    )
    missing = [text for text, met in checks.items() if not met]
    amount = f"{epsilon:g}"
    if missing:
        text = sentences(sentence("explained.noisy.not_claimed", epsilon=amount), not_met(missing))
        return Explanation(False, conditions, (), text, of_values=True)
    text = sentences(
        sentence("explained.noisy", epsilon=amount),
        "" if basis.levels_fixed else sentence("explained.noisy.searched"),
        sentence("explained.noisy.means"),
    )
    return Explanation(True, conditions, (), text, of_values=True)
