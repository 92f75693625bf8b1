"""Privacy statement of a generator with a budget of its own."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid.pipeline.explanation import NO_FILTER, NOT_COUNTED, ONE_ROW, Explanation, conditions_of, not_so, unmet
from hybrid.privacy.accounting import at_most


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
    name : str
        The generator.
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
        f"the values that a column can have are listed beforehand in a hierarchy file{not_so(from_records)}": (
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
