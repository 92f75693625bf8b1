"""Privacy statement of techniques of anonymization that are no generalization alone."""

from __future__ import annotations

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.techniques.registry import assigned, gives_k
from hybrid.pipeline.explanation import Condition, Explanation
from hybrid.sample import SampleOptions
from hybrid.table import Schema

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
    sample : SampleOptions
        Whether k is counted before sampling.
    schema : Schema
        The columns, without identifiers.
    several_rows : bool
        Whether a person may have several records; then k counts persons.

    Raises
    ------
    ConfigError
        Steps and columns do not fit together.
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
