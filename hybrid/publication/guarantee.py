"""Technical guarantee of a release: what its readers may rely on, and what not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from hybrid.anonymize.models import describe
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.techniques.protocol import LabelTechnique
from hybrid.anonymize.techniques.registry import technique_of
from hybrid.base.sentence import sentences
from hybrid.constraints.registry import learns_values
from hybrid.evaluation.measure import Evaluation, Measure, NotComputable
from hybrid.protect import ProtectOptions
from hybrid.publication import private_words
from hybrid.publication.gate import folds_of, measured_sentence
from hybrid.publication.table_facts import few, public_household, public_risk
from hybrid.sample import SampleOptions
from hybrid.synthesize import registry
from hybrid.table.data_options import EACH_ROW
from hybrid.transition import reads_originals

UNKNOWN = "A step of the anonymization is unknown to this version, so nothing is promised for it."
NOTHING_TOGETHER = (
    "The intermediate table has no k-anonymity: no step made groups of records that are equal in all "
    "quasi-identifiers, so that someone who knows the quasi-identifiers of a person may single out a record."
)


def technique_sentences(result: AnonymizationResult) -> Iterator[str]:
    """Sentence of each step: its work and its promise."""
    for step in result.steps or ():
        columns = ", ".join(map(str, step.get("columns") or ()))
        try:
            yield technique_of(step["options"]).words(columns, step.get("facts") or {})
        except (ValidationError, KeyError, TypeError):
            yield UNKNOWN


def loss_sentence(loss: Mapping[str, Any]) -> str:
    """Public sentence on how :attr:`AnonymizationResult.loss` weighs the quasi-identifiers; empty for masked values."""
    match loss.get("name"):
        case "masking" | None:
            return ""
        case "aecs" | "discernibility":
            return "The loss looks at the sizes of groups and weighs no column."
        case "association":
            declared = ", ".join(map(str, loss.get("use") or ()))
            what = f"with {declared}, which the table is for" if declared else "with all other columns"
            why = "" if declared else ", since no target is declared"
            known = f"Half of the loss is what a label loses of its column's association {what}{why}."
        case _:
            known = ""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in (loss.get("weights") or {}).items())
    equal = "" if known else "The loss weighs all columns alike."
    return " ".join(filter(None, (known, f"The loss weighs columns: {weights}; others 1." if weights else equal)))


def masks_values(result: AnonymizationResult | None) -> bool:
    """True if a step put other values in place, or is unknown."""
    return result is not None and not all(_labels(step) for step in result.steps or ())


def makes_labels(result: AnonymizationResult | None) -> bool:
    """True if some quasi-identifiers have labels of hierarchies."""
    return result is not None and (result.steps is None or any(_labels(step) for step in result.steps))


def has_local_privacy(result: AnonymizationResult) -> bool:
    """True if the sentence of a step claims local differential privacy."""
    return any((step.get("facts") or {}).get("epsilon") for step in result.steps or ())


def _labels(step: Mapping[str, Any]) -> bool:
    try:
        return isinstance(technique_of(step["options"]), LabelTechnique)
    except (ValidationError, KeyError, TypeError):
        return False


NOT_LINKED = (
    "Persons had several records, and no published row is linked to another: each has a person number of its own."
)
NOT_LINKED_WITHOUT_NUMBER = (
    "Persons had several records, and no published row is linked to another: none has a person number."
)
PERSONS_DRAWN = (
    "Persons had several records, and the published table holds synthetic persons: rows with the same person number "
    "are those of one synthetic person, drawn together, and belong to no real person."
)
PERSONS_DRAWN_WITHOUT_NUMBER = (
    "Persons had several records, and the published table holds synthetic persons: the rows of each were drawn "
    "together and follow one another without a person number, and belong to no real person."
)
LINKED_TABLES = (
    "The published tables hold synthetic persons: rows that are linked by their keys are those of one synthetic "
    "person, drawn together, and belong to no real person."
)
BELOW_THE_LABELS = (
    "Quasi-identifiers were made coarser with their true values, which were protected so only afterwards, each by "
    "another value below the same label."
)
"""What protection does to columns that are generalized."""
WHITE_BOX = "membership_whitebox"
"""The metric of an attacker who holds the model."""
NO_HOUSEHOLDS = "Persons had households, and no published persons are linked as one."
NO_CLAIM = "No differential privacy is claimed."
NO_CLAIM_BEYOND = "Beyond that, no differential privacy is claimed, and none for the published rows."


def guarantee_sentence(
    anonymization: AnonymizationResult | None,
    config: Mapping[str, Any],
    evaluation: Evaluation,
    *,
    private: bool = False,
) -> str:
    """Guarantee of a release to its readers, in a few sentences without cell value, seed or path.

    Parameters
    ----------
    anonymization : AnonymizationResult or None
        None if nothing was anonymized.
    config : mapping
        The run's configuration as resolved (JSON types).
    evaluation : Evaluation
        Which privacy metrics were measured on the synthetic table.
    private : bool
        Whether the run's explanation claims differential privacy.
    """
    if private and private_words.is_dp(config):
        return " ".join(private_words.guarantee(config))
    if anonymization is None:
        start = ["Nothing was anonymized: the published table carries no k-anonymity and no other formal guarantee."]
    else:
        start = [*_anonymity(anonymization), *_searched(config, anonymization)]
        start += [*_person_table(config, anonymization), *_restored(config, anonymization)]
    start += [*_taken(config), *_constrained(config), *_conditional(config), *_filtered(config), *_raked(config)]
    k = 0 if anonymization is None else anonymization.k
    several = _several_rows(config)
    tables = [config.get("data") or {}, *(config.get("tables") or {}).values()]
    households = any(table.get("household") for table in tables)
    holders = "training households" if households else "persons" if several else "training records"
    start.append(_protected(config.get("protect"), k, holders, labelled=makes_labels(anonymization)))
    if several:
        start.append(_linked(config))
    if households:
        start.append(NO_HOUSEHOLDS)
    unit = "persons" if several else "records"
    before = anonymization is None or _sampled_first(config)
    records = f"training {unit}" if before else f"{unit} of the intermediate table"
    claim = "Differential privacy is claimed for the synthetic table, as the explanation says." if private else NO_CLAIM
    if not private and anonymization is not None and has_local_privacy(anonymization):
        claim = NO_CLAIM_BEYOND
    folds = folds_of(config)
    measured = [*_measured(evaluation), *([] if folds is None else [measured_sentence(folds)])]
    end = [_sampled(config, records, anonymization), claim, *measured]
    return sentences(*start, *end)


def _anonymity(result: AnonymizationResult) -> Iterator[str]:
    if not result.k_anonymous:
        yield NOTHING_TOGETHER
        yield f"{few(result.suppressed).capitalize()} of {few(result.records)} records were suppressed."
        yield from technique_sentences(result)
        yield "All other columns are not masked, and the published rows themselves carry no formal guarantee."
        return
    models = "".join(f", {describe(model)}" for model in result.models)
    checked = " (checked again on the finished table)" if result.verified else ""
    if result.drawn is not None:
        checked = " (counted again there by queries on all of its rows)"
    yield (
        f"The intermediate table{_elsewhere(result)} has k-anonymity with k = {result.k}{models} on the "
        f"quasi-identifiers{checked}: "
        f"its smallest class has {result.smallest} {result.unit}, and {few(result.suppressed)} of "
        f"{few(result.records)} records were suppressed{_persons_left_out(result)}."
    )
    yield from _drawn(result)
    if result.coarsened:
        yield (
            f"Instead of being left out, {few(result.coarsened)} records have coarser labels than the others, in "
            "classes of their own; their own quasi-identifiers were not learned by the transition."
        )
    yield from technique_sentences(result)
    if result.population_risk is not None:
        risk = public_risk(result.population_risk)
        yield (
            "Estimated from the sampling weights, a person of that table is recognized in the population by the "
            f"quasi-identifiers with a probability of at most {risk['risk_mean']:g} on average, and of at most "
            f"{risk['risk_max']:g} in any class (Benedetti and Franconi)."
        )
    if result.household is not None:
        yield household_sentence(result.household)
    how = "masked" if masks_values(result) else "generalized"
    yield (
        f"This holds for the {how} quasi-identifiers of that table and for nothing else: all other columns"
        f"{' of it' if result.below else ''} are not {how}, and the published rows themselves are not k-anonymous."
    )


def _searched(config: Mapping[str, Any], result: AnonymizationResult) -> Iterator[str]:
    given = (config.get("anonymize") or {}).get("levels") or {}
    if result.steps is not None or (result.levels is not None and set(result.levels) <= set(given)):
        return
    yield (
        "Its labels were chosen by a search for little generalization, which depends on the records: who saw that "
        "table and knows the algorithm may infer values below the labels, and sensitive values, beyond what the "
        "models say (minimality attack, downcoding)."
    )


def household_sentence(found: Mapping[str, float]) -> str:
    """Statement of the risk of households, in rounded numbers."""
    public = public_household(found)
    return (
        f"Of {few(int(found['households']))} households, the probability that at least one member is recognized by the "
        "quasi-identifiers (1 minus the product over the members of 1 - 1/persons in the class) is "
        f"{public['risk_mean']:g} on average and at most {public['risk_max']:g}."
    )


def _elsewhere(result: AnonymizationResult) -> str:
    return "" if result.drawn is None else ", which stayed in its warehouse with all records,"


def _drawn(result: AnonymizationResult) -> Iterator[str]:
    if result.drawn is None:
        return
    whose = "" if result.rows_are_persons else f" of {few(result.drawn_persons)} persons"
    yield (
        f"Of the records that were not suppressed, {few(result.drawn)}{whose} were drawn at random "
        "and came out: protection, generator and measurements saw these alone, and what was measured holds for so many "
        f"records. Each combination of their labels is one that at least {result.k} {result.unit} of the whole table "
        "have; among those drawn it can be that of fewer, down to a single one. The levels were chosen on all records, "
        "none kept apart: control records do not show what this choice gives away, and it was not measured."
    )


def _persons_left_out(result: AnonymizationResult) -> str:
    if result.rows_are_persons:
        return ""
    known = "one row" if result.known_rows == 1 else f"{result.known_rows} rows"
    return (
        f", and with them all records of {few(result.lost_people)} of {few(result.people)} persons; "
        f"k counts persons, for attackers who know {known} of each"
    )


def _protected(protect: Any, k: int, holders: str, *, labelled: bool) -> str:
    # Nothing is known of an audited file.
    if not isinstance(protect, Mapping):
        return "Values of single people were not protected."
    options = ProtectOptions.model_validate(protect)
    kept = sorted(name for name, choice in options.columns.items() if choice == "keep")
    but = f" (but for {', '.join(kept)}, left as they are by decision)" if kept else ""
    least = options.least_holders(k)
    one_by_one = (
        f"Before anything was learned, categories that fewer than {least} {holders} hold were replaced, numbers "
        f"and dates beyond the {least} smallest and largest were coded, and exact numbers and dates that fewer than "
        f"{least} {holders.removeprefix('training ')} hold were drawn anew{but}."
    )
    if not labelled:
        return one_by_one
    return f"{one_by_one} {BELOW_THE_LABELS}"


def _restored(config: Mapping[str, Any], anonymization: AnonymizationResult) -> Iterator[str]:
    transition = config.get("transition") or {}
    if not transition:
        return
    table = "k-anonymous" if anonymization.k_anonymous else "intermediate"
    if transition.get("method") == "original" and transition.get("order") != "post":
        yield (
            "The records that were not suppressed were learned with the values they had before anonymization, which "
            f"only decided who is left out: the published table is not a function of the {table} table alone."
        )
        return
    masked, labels = masks_values(anonymization), makes_labels(anonymization)
    what = "generalized or masked" if masked and labels else "masked" if masked else "generalized"
    back = f"Values were put back in place of {what} ones by the method {transition.get('method')}"
    if reads_originals(transition):
        yield (
            f"{back}, whose distributions are estimated on the original records, so the published table is not a "
            f"function of the {table} table alone."
        )
        return
    if masked:
        yield f"Masked values were kept as they are (method {transition.get('method')})."
    if labels:
        back = f"Values were put back in place of generalized ones by the method {transition.get('method')}"
        yield (
            f"{back}, which reads no original value beyond its domain: the values that the file of a hierarchy lists, "
            "and where the file describes masks, intervals, periods or other values, the values and the bounds that "
            "the records in use have."
        )


def _constrained(config: Mapping[str, Any]) -> Iterator[str]:
    declared = declared_constraints(config)
    if not declared:
        return
    known = learns_values(declared)
    learned = "; which values may occur together was learned from the original records" if known else ""
    what = "left out" if (config.get("synthesize") or {}).get("generator") == "none" else "drawn again"
    yield f"Rows that broke a declared constraint between columns were {what}{learned}."


def _conditional(config: Mapping[str, Any]) -> Iterator[str]:
    balance = (config.get("synthesize") or {}).get("balance")
    if balance is not None:
        yield (
            f"The values of {balance['column']} were given shares (synthesize.balance), which are not those of real "
            "people; utility and fidelity compare with a sample of the records that has these shares, privacy is "
            "measured for all training records."
        )
    if where_of(config) is None:
        return
    unit = f"synthetic persons {row_that_meets(config)}" if draws_persons(config) else "rows that meet"
    yield (
        f"Only {unit} a condition, which the configuration states (synthesize.where), were kept of those drawn; "
        "utility and fidelity compare with the records that meet it, privacy is measured for all training records."
    )


def _raked(config: Mapping[str, Any]) -> Iterator[str]:
    margins = config.get("margins")
    if margins:
        yield (
            f"Sampling weights were raked to published totals of {', '.join(margins['totals'])}, which are no records: "
            f"no weighted total differs from them by more than {100 * margins['most']:g} %."
        )


def row_that_meets(config: Mapping[str, Any]) -> str:
    """Row of a drawn person that meets the condition, in words."""
    return f"whose row in {config['person']} meets" if is_linked(config) else "with a row that meets"


def where_of(config: Mapping[str, Any]) -> str | None:
    """Condition on drawn rows of a configuration; None without one."""
    where = (config.get("synthesize") or {}).get("where")
    return None if where is None else str(where)


def _filtered(config: Mapping[str, Any]) -> Iterator[str]:
    options = (config.get("synthesize") or {}).get("filter")
    if not options:
        return
    done = "left out" if options.get("action") == "drop" else "replaced by further draws"
    drawn = f"Drawn persons whose row in {config['person']} lies" if is_linked(config) else "Drawn rows that lie"
    yield (
        f"{drawn} near an original record (by the score {options.get('score')}) were {done}: the published "
        "table depends on the original records once more, and rows that keep away from them reveal them, too. Half of "
        "the control records served the filter, and the table was measured by the other half."
    )


def _sampled(config: Mapping[str, Any], records: str, anonymization: AnonymizationResult | None) -> str:
    sample = SampleOptions.model_validate(config.get("sample") or {})
    generator = (config.get("synthesize") or {}).get("generator")
    trained = "no generator was trained" if generator == "none" else f"the generator was {generator}"
    first = ", before it was anonymized" if _sampled_first(config) else ""
    if anonymization is not None and anonymization.drawn is not None:
        apart = "those kept apart as control, and those that protection moved to a combination that was not verified"
        return f"All drawn records were used but {apart}; {trained}."
    return f"{_used(sample, records)}{first}; {trained}."


def _sampled_first(config: Mapping[str, Any]) -> bool:
    return SampleOptions.model_validate(config.get("sample") or {}).effective.order == "pre"


def _taken(config: Mapping[str, Any]) -> Iterator[str]:
    used = (config.get("split") or {}).get("rows")
    if used is not None:
        what = "people, with all of their rows," if is_linked(config) else "records"
        yield f"At most {used:,} {what} were drawn at random from the source, and nothing was learned from others."


def is_linked(config: Mapping[str, Any]) -> bool:
    """True if the configuration is about linked tables."""
    return bool(config.get("tables"))


def declared_constraints(config: Mapping[str, Any]) -> list[Any]:
    """Constraints between columns of the table, or of all linked tables."""
    tables = (config.get("tables") or {}).values()
    return [*(config.get("constraints") or ()), *(one for table in tables for one in table.get("constraints") or ())]


def _person_table(config: Mapping[str, Any], result: AnonymizationResult) -> Iterator[str]:
    if not is_linked(config):
        return
    if not result.below:
        yield (
            f"The intermediate table is that of {config['person']}; the other tables about people have no generalized "
            "or masked columns, and only rows of the persons that it keeps were learned from."
        )
        return
    yield (
        f"The intermediate table is that of {config['person']}; of the other tables about people, "
        f"{', '.join(result.below)} alone {'has' if len(result.below) == 1 else 'have'} generalized columns, and only "
        "rows of the persons that it keeps were learned from."
    )
    for name, one in result.below.items():
        yield (
            f"In {name}, {', '.join(one.columns)} were generalized: every row that was not suppressed has, in these "
            "columns and in the generalized columns of the rows above it together, the labels of rows of at least "
            f"{one.smallest} persons (checked again on the finished table); {few(one.suppressed)} of "
            f"{few(one.records)} rows were suppressed, and with them all rows of {few(one.lost_people)} of "
            f"{few(one.people)} persons who have any."
        )
        several = "Two rows" if one.known_rows == 1 else "Three rows"
        yield (
            f"{several} of a person in {name}, and the number of rows of a person there, can be those of a single "
            "person: k-anonymity of whole histories is not promised."
        )


def _several_rows(config: Mapping[str, Any]) -> bool:
    return is_linked(config) or (config.get("data") or {}).get("person") not in (None, EACH_ROW)


def draws_persons(config: Mapping[str, Any]) -> bool:
    """True if the generator drew persons with all their rows."""
    if is_linked(config):
        return True
    data, synthesize = config.get("data") or {}, config.get("synthesize") or {}
    able = registry.draws_persons(str(synthesize.get("generator")), synthesize.get("options") or {})
    return _several_rows(config) and data.get("max_rows") != 1 and able


def has_person_number(config: Mapping[str, Any]) -> bool:
    """True if the published rows have identifiers."""
    return (config.get("output") or {}).get("identifiers") != "drop"


def _linked(config: Mapping[str, Any]) -> str:
    if is_linked(config):
        return LINKED_TABLES
    if not draws_persons(config):
        return NOT_LINKED if has_person_number(config) else NOT_LINKED_WITHOUT_NUMBER
    return PERSONS_DRAWN if has_person_number(config) else PERSONS_DRAWN_WITHOUT_NUMBER


def _used(sample: SampleOptions, records: str) -> str:
    share = f"{sample.beta:g}"
    if sample.method == "none" or sample.beta == 1:
        return f"All {records} were used"
    if sample.method == "beta":
        return f"Each of the {records} was used with probability {share}"
    if sample.method == "simple":
        return f"A random share of {share} of the {records} was used, rounded to whole records"
    strata = "equivalence class" if sample.by == "equivalence_class" else f"combination of {', '.join(sample.by)}"
    least = f", and at least {sample.minimum} of every stratum (all where it has fewer)" if sample.minimum else ""
    if sample.allocation == "proportional":
        return (
            f"Of the {records} a random share of {share} was used within every stratum ({strata}), rounded to whole "
            f"records{least}"
        )
    probability = f"at least {share}{least}" if sample.minimum else share
    return f"Each of the {records} was used within its stratum ({strata}) with probability {probability}"


def _kept_model(evaluation: Evaluation) -> Iterator[str]:
    found = evaluation.find(WHITE_BOX, "synthetic")
    if found is None:
        return
    outcome = found.outcome
    if isinstance(outcome, NotComputable):
        told = f"how well whoever holds it finds training people was not tried ({outcome.reason})"
    else:
        ends = "" if outcome.low is None else f" ({outcome.low:.2f} to {outcome.high:.2f})"
        told = (
            "whoever holds it, and knows all values of a person, tells training people from people never seen with an "
            f"AUC of {outcome.value:.2f}{ends}, where 0.5 is guessing"
        )
    yield f"The run keeps its trained model, which no release contains: {told}."


def _measured(evaluation: Evaluation) -> Iterator[str]:
    privacy = [metric for metric in evaluation.metrics if (metric.family, metric.stage) == ("privacy", "synthetic")]
    done = list(dict.fromkeys(metric.name for metric in privacy if isinstance(metric.outcome, Measure)))
    failed = [name for name in dict.fromkeys(metric.name for metric in privacy) if name not in done]
    if done:
        yield f"Privacy was measured empirically by {', '.join(done)}; an attack that is not listed was not tried."
    else:
        yield "No attack on the published table was measured."
    if failed:
        yield f"Not computable: {', '.join(failed)}."
    yield from _kept_model(evaluation)
    if evaluation.all_rows is not None:
        found = evaluation.all_rows
        yield (
            f"Measured were {found.judged:,} of the {found.rows:,} rows, drawn at random; only which records are "
            "repeated exactly was counted on all rows, and what all rows disclose together was not measured."
        )
