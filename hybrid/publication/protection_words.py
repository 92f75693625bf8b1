"""Protection of a run's people in plain sentences, one per step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.words import named, text_of
from hybrid.constraints.registry import learns_values
from hybrid.protect.protect_table import BELOW_LABELS
from hybrid.publication.guarantee import (
    declared_constraints,
    draws_persons,
    has_person_number,
    is_linked,
    makes_labels,
    masks_values,
    row_that_meets,
    technique_sentences,
    where_of,
)
from hybrid.publication.private_words import is_dp, steps
from hybrid.publication.table_facts import ROUNDED_TO, TableFacts, rounded
from hybrid.sample import SampleOptions
from hybrid.transition import reads_originals


def protection(
    table: TableFacts,
    config: Mapping[str, Any],
    anonymization: AnonymizationResult | None,
    private: bool,
    protected: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """State each step from the source to the released rows.

    ``config`` (as resolved) and ``protected`` (result of the protection of values) are of JSON types; ``private``:
    whether differential privacy is claimed.
    """
    yield _identifiers(table, config)
    if is_dp(config):
        yield from steps(config)
        return
    elsewhere = anonymization is not None and anonymization.drawn is not None
    yield from () if elsewhere else _protected(protected)
    several = is_linked(config) or (anonymization is not None and not anonymization.rows_are_persons)
    sample = SampleOptions.model_validate(config.get("sample") or {})
    unit = "person" if several else "record"
    drawn = _drawn_there(anonymization) if anonymization is not None and elsewhere else _sampled(sample, unit)
    both = [*_anonymized(table, anonymization), drawn]
    yield from both if sample.effective.order == "post" else [both[-1], *both[:-1]]
    yield from _protected(protected) if elsewhere else ()
    if is_linked(config):
        yield "Released rows that are linked by their keys are those of one made-up person."
    elif draws_persons(config):
        yield f"A person may have several records. {_drawn(config)}"
    elif several:
        yield f"A person may have several records. {_single(config)}"
    yield from _written(config, anonymization)
    yield from _left(table, protected)
    yield _promised(anonymization, private)


def _drawn_there(anonymization: AnonymizationResult) -> str:
    people = "records" if anonymization.rows_are_persons else "people"
    share = _percent(anonymization.drawn_share)
    return (
        "The coarser columns were chosen and checked in the warehouse, on all of about "
        f"{text_of(rounded(anonymization.records))} records. Of the {people} that remained, about {share} were then "
        "drawn at random. Only these came out, and all that follows saw these alone. Among them fewer may look alike. "
        "How coarse the columns are was decided with all records, none kept apart."
    )


def _drawn(config: Mapping[str, Any]) -> str:
    if has_person_number(config):
        return "Released rows with the same person number are those of one made-up person."
    return "The released rows of each made-up person follow one another, without a person number."


def _single(config: Mapping[str, Any]) -> str:
    if has_person_number(config):
        return "Each released row has a person number of its own."
    return "No released row has a person number."


def _identifiers(table: TableFacts, config: Mapping[str, Any]) -> str:
    if not table.identifiers:
        return "No column is marked as the name or number of a person."
    names = named(table.identifiers)
    if (config.get("output") or {}).get("identifiers") == "drop":
        return f"Columns that name a person were left out: {names}."
    return f"Columns that name a person hold made-up values: {names}."


def _protected(protected: Mapping[str, Any] | None) -> Iterator[str]:
    changed, below = _changed(protected), _changed(protected, below_labels=True)
    others = [name for name in changed if name not in below]
    if protected is not None and others:
        yield f"Values that fewer than {protected['min_count']} people have were replaced in {named(others)}."
    if protected is not None and below:
        yield (
            f"{named(below)}: made coarser as they are. Exact values that fewer than {protected['min_count']} people "
            "have were then written as a group that enough people share, such as “Other”; numbers and dates became "
            "others of the same group."
        )


def _changed(protected: Mapping[str, Any] | None, *, below_labels: bool = False) -> list[str]:
    """Columns whose rare values were looked for and replaced: all, or those alone where it was done below labels."""
    columns = [column for column in (protected or {}).get("columns", ()) if column["method"] != "keep"]
    return [one["column"] for one in columns if not below_labels or one["method"] == BELOW_LABELS]


def _anonymized(table: TableFacts, anonymization: AnonymizationResult | None) -> Iterator[str]:
    if anonymization is None:
        yield "No column was made coarser."
        return
    below = tuple(f"{name}.{column}" for name, one in anonymization.below.items() for column in one.columns)
    yield _alike(tuple(name for name in table.generalized if name not in below), anonymization)
    yield from technique_sentences(anonymization)
    models = [str(model["attribute"]) for model in anonymization.models if "attribute" in model]
    if models:
        names = named(list(dict.fromkeys(models)))
        yield f"Each group of look-alikes also had to meet a rule about {names}."
    if not anonymization.suppressed and not makes_labels(anonymization):
        yield "No record was left out for them."
    elif anonymization.suppressed < ROUNDED_TO:
        yield f"Fewer than {ROUNDED_TO} records had to be left out, because too few others look like them."
    else:
        share = _percent(anonymization.suppressed / anonymization.records)
        yield f"About {share} of the records were left out, because too few others look like them."
    if not anonymization.rows_are_persons:
        if anonymization.lost_people < ROUNDED_TO:
            yield f"Fewer than {ROUNDED_TO} people lost all their records."
        else:
            share = _percent(anonymization.lost_people / anonymization.people)
            yield f"About {share} of the people lost all their records."
    for name, one in anonymization.below.items():
        yield from _alike_below(name, one)


def _percent(share: float) -> str:
    """Share in two digits, such as "1.5 %"."""
    return f"{text_of(float(f'{100 * share:.2g}'))} %"


def _alike_below(name: str, found: AnonymizationResult) -> Iterator[str]:
    yield (
        f"In {name}, {named(found.columns)}: made coarser until each row, with the coarse columns of the rows above "
        f"it, looks like rows of at least {found.smallest} people."
    )
    if found.suppressed < ROUNDED_TO:
        yield f"Fewer than {ROUNDED_TO} rows of {name} had to be left out for that."
    else:
        share = _percent(found.suppressed / found.records)
        yield f"About {share} of the rows of {name} were left out for that."
    several = "Two" if found.known_rows == 1 else "Three"
    yield f"{several} rows of a person in {name} can still be unlike those of all other people."


def _alike(generalized: tuple[str, ...], anonymization: AnonymizationResult) -> str:
    if not anonymization.k_anonymous:
        return f"Values of these columns were changed, and no groups of people look alike: {named(generalized)}."
    size = text_of(anonymization.smallest)
    people = "records" if anonymization.rows_are_persons else "people"
    if anonymization.smallest < 2:
        return f"Single {people} stay alone in these columns, coarse as they are: {named(generalized)}."
    how = "changed" if masks_values(anonymization) else "made coarser"
    return f"These columns were {how} until at least {size} {people} look alike in them: {named(generalized)}."


def _sampled(sample: SampleOptions, unit: str) -> str:
    share = f"{text_of(100 * sample.beta)} %"
    if sample.method == "none" or sample.effective.method == "none":
        return "All records that remained were used."
    remained = " that remained" if sample.order == "post" else ""
    match sample.method:
        case "beta":
            return f"Each {unit}{remained} was used with a chance of {share}."
        case "simple":
            return f"Of the {unit}s{remained}, {share} were drawn at random and used."
        case _:
            groups = "look-alikes" if sample.by == "equivalence_class" else f"equal {named(sample.by)}"
            least = f", but at least {sample.minimum} of each group (or all of a smaller one)" if sample.minimum else ""
            return f"In each group of {groups}, {share} of the {unit}s were drawn at random and used{least}."


def _written(config: Mapping[str, Any], anonymization: AnonymizationResult | None) -> Iterator[str]:
    transition = config.get("transition") or {}
    off = (config.get("synthesize") or {}).get("generator") == "none"
    declared, where = declared_constraints(config), where_of(config)
    last = [_rows_written(off)]
    if transition:
        drawn = _values_drawn(transition, anonymization, learned=learns_values(declared))
        last.insert(1 if transition.get("order") == "post" else 0, drawn)
    yield from last
    if where is not None:
        unit = f"people {row_that_meets(config)}" if draws_persons(config) else "rows that meet"
        yield f"Only made-up {unit} a condition were kept: {where}."
    balance = (config.get("synthesize") or {}).get("balance")
    if balance is not None:
        yield f"The values of {balance['column']} were given other shares than real people have."
    if declared:
        rules = "a rule" if len(declared) == 1 else f"one of {len(declared)} rules"
        yield f"Rows that broke {rules} between columns were {'left out' if off else 'drawn again'}."


def _values_drawn(transition: Mapping[str, Any], anonymization: AnonymizationResult | None, *, learned: bool) -> str:
    masked = masks_values(anonymization)
    if transition.get("method") == "original" and transition.get("order") != "post":
        return "The real values then took the place of the coarse ones."
    if reads_originals(transition):
        what = "changed" if masked else "coarse"
        return f"Exact values were then drawn for the {what} ones. The draw follows the real values."
    if masked and not makes_labels(anonymization):
        return "The changed values were then used as they are."
    if learned:
        return (
            "Exact values were then drawn for the coarse ones. "
            "The draw looks at the real values only to see which of them occur together."
        )
    return "Exact values were then drawn for the coarse ones. The draw does not look at the real values."


def _rows_written(off: bool) -> str:
    if off:
        return "No program wrote new rows: each released row stands for one real record."
    return "A program learned from these records, and wrote every released row."


def _left(table: TableFacts, protected: Mapping[str, Any] | None) -> Iterator[str]:
    left = [name for name in table.as_they_are if name not in _changed(protected)]
    if left:
        yield f"Left as they are, so that real values can come out: {named(left)}."
    else:
        yield "No column was left as it is."


def _promised(anonymization: AnonymizationResult | None, private: bool) -> str:
    if private:
        return "Differential privacy is claimed for the released rows. The terms are in the details."
    if anonymization is not None and anonymization.k_anonymous:
        table = "changed" if masks_values(anonymization) else "coarse"
        return f"The groups of look-alikes are proven for the {table} table. They are not proven for the released rows."
    return "Nothing is proven about the released rows."
