"""Privacy statement of values that ``noisy`` restores below their labels."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.explanation import (
    NO_FILTER,
    NOT_COUNTED,
    ONE_ROW,
    Explanation,
    conditions_of,
    not_so,
    unmet,
)
from hybrid.pipeline.sampled_labels import levels_fixed
from hybrid.table import Role, Schema

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
    config : RunConfig
        Its section ``transition`` has epsilon and the mechanism.
    schema : Schema
        The columns, without identifiers.
    derived : sequence of str
        Quasi-identifiers whose hierarchy has values or bounds that are taken from the records.
    seeded : bool
        Whether somebody chose the seed.
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
        f"the values that a column can have are listed beforehand in a hierarchy file{not_so(derived)}": not derived,
        "no value is protected by counting the records that hold it": config.protection is None,
        ONE_ROW: not config.data.several_rows,
        "no other table is linked to the records, whose generator could learn their exact values": not linked,
        "no record's side of the split depends on its values (split.stable is off)": not config.split.stable,
        "no record is sampled by its quasi-identifiers": not set(strata) & set(schema.quasi_identifiers),
        "no constraint between columns is learned from the records": all(
            constraint.learns == "nothing" for constraint in config.constraints
        ),
        NOT_COUNTED: config.synthesize.where is None,
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
