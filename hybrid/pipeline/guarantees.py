"""Privacy statements of a configuration, one per mechanism: sampling with k-anonymity, noise, a private generator."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from hybrid import transition
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.privacy_statements import Explanation, explain_generator, explain_masking, explain_noisy
from hybrid.pipeline.sampled_labels import StatementBasis, explain
from hybrid.privacy.accounting import at_most, epsilon_of
from hybrid.sample import SampleOptions
from hybrid.synthesize.registry import engine
from hybrid.table import Role, Schema

NOTHING = "no proven promise"


def promise(config: RunConfig, explanations: Sequence[Explanation]) -> str:
    """Name the formal promises of a configuration.

    Parameters
    ----------
    explanations : sequence of Explanation
        Of every mechanism of the configuration, with a secret seed.

    Returns
    -------
    str
        Each with its numbers, the strongest first; :data:`NOTHING` where there is none.
    """
    return "; ".join(_promises(config, explanations)) or NOTHING


def _promises(config: RunConfig, explanations: Sequence[Explanation]) -> Iterator[str]:
    for explanation in explanations:
        if explanation.is_private:
            yield f"differential privacy, {_budget(config, explanation)}"
    if config.anonymize is not None:
        yield f"k-anonymous labels, k = {config.anonymize.k}"
    if any(explanation.of_values and explanation.holds for explanation in explanations):
        yield f"exact values below labels hidden, epsilon = {getattr(config.transition, 'epsilon', 0):g}"
    if config.protection is not None:
        yield f"values of fewer than {config.protection.least_holders(config.k)} people replaced"


def _budget(config: RunConfig, explanation: Explanation) -> str:
    if explanation.guarantees:
        first = explanation.guarantees[0]
        return f"epsilon = {at_most(first.epsilon, 3)} and delta <= {at_most(first.delta, 2)}"
    if config.privacy is not None:
        return _both(config.privacy.epsilon, config.privacy.delta)
    budget = stated_budget(config)
    assert budget is not None
    return _both(*budget)


def _both(epsilon: float, delta: float) -> str:
    return f"epsilon = {at_most(epsilon, 6)} and delta = {at_most(delta, 6)}"


def promises(
    config: RunConfig,
    schema: Schema,
    listed: Container[str],
    derived: Sequence[str],
    *,
    nameless: bool,
    seeded: bool,
    linked: bool = False,
    drawn: float = 1.0,
) -> tuple[Explanation, ...]:
    """Explain each mechanism that a configuration uses.

    Parameters
    ----------
    schema : Schema
        The columns, without identifiers.
    listed : container of str
        Columns whose values hierarchy files list, so that a generator does not take them from the records.
    derived : sequence of str
        Quasi-identifiers whose hierarchy has values or bounds that are taken from the records.
    nameless : bool
        Whether a record has no person, where others have one.
    linked : bool
        Whether other tables, linked to this one, are learned from, too.
    drawn : float
        Share of the records with labels, in (0, 1], that were drawn from a table that stayed in a warehouse.

    Returns
    -------
    tuple of Explanation
        Empty where nothing is anonymized and the generator has no budget.
    """
    found = (
        explain_sampling(config, schema, derived, nameless=nameless, seeded=seeded, drawn=drawn),
        explain_noisy(config, schema, derived, seeded=seeded, linked=linked),
        _of_generator(config, schema, listed),
    )
    return tuple(explanation for explanation in found if explanation is not None)


def explain_sampling(
    config: RunConfig,
    schema: Schema,
    derived: Sequence[str],
    *,
    nameless: bool,
    seeded: bool,
    drawn: float = 1.0,
) -> Explanation | None:
    """Explain anonymization with sampling; None without anonymization. Arguments as for :func:`promises`."""
    if config.anonymize is None or config.transition is None:
        return None
    if not config.anonymize.generalizes:
        several = config.data.several_rows
        return explain_masking(config.anonymize, config.sample, schema, several_rows=several)
    reads = transition.REGISTRY[config.transition.method].reads_originals(config.transition)
    allowed = any(constraint.learns == "values" for constraint in config.constraints)
    return explain(
        StatementBasis(
            config.anonymize,
            config.sample if drawn == 1 else SampleOptions(method="simple", beta=drawn),
            schema,
            reads_originals=reads or allowed,
            from_records=derived,
            seeded=seeded,
            rows_of_records=not config.synthesize.is_off and isinstance(config.synthesize.rows, str),
            protected=config.protection is not None,
            several_rows=config.data.several_rows,
            nameless=nameless,
            households=bool(config.data.household_columns),
            counted=config.synthesize.chooses,
            filtered=config.synthesize.filter is not None,
            fitted=any(constraint.learns == "form" for constraint in config.constraints),
            generated=not config.synthesize.is_off,
        )
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


def _of_generator(config: RunConfig, schema: Schema, listed: Container[str]) -> Explanation | None:
    budget = stated_budget(config)
    if budget is None:
        return None
    protected = config.protection is not None
    looked_at = protected or config.anonymize is not None or config.sample.method == "stratified"
    looked_at |= any(constraint.learns != "nothing" for constraint in config.constraints)
    post = config.transition is not None and config.transition.order == "post"
    found = [name for name in schema.names if post or name not in listed]
    generator = engine(config.synthesize.generator, config.synthesize.resolve())
    return explain_generator(
        config.synthesize.generator,
        *budget,
        looked_at_before=looked_at,
        from_records=found,
        secure_noise=getattr(generator, "secure_noise", False),
        bypassed=getattr(generator, "bypasses_noise", False),
        several_rows=config.data.several_rows,
        calibrated=bool(schema.having(Role.WEIGHT)),
        counted=config.synthesize.chooses,
        filtered=config.synthesize.filter is not None,
    )
