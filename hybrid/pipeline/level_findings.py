"""Findings about the cost of k and other rules, effects of roles, and steps of an anonymization, before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from hybrid.anonymize import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.problem import prepare
from hybrid.anonymize.search.tradeoff import CLEARLY, RuleCosts, TradeoffPoint, rule_costs, tradeoff, words_of
from hybrid.anonymize.techniques.registry import assigned, gives_k
from hybrid.base.errors import Finding, HybridError
from hybrid.base.manifest import Recorder
from hybrid.base.progress import silent
from hybrid.base.rng import rng_for
from hybrid.base.sentence import sentence
from hybrid.constraints.registry import learns_values
from hybrid.hierarchy import LabelTable
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.level_costs import LevelWords, amount, column_words, percent, rule_sentences
from hybrid.pipeline.starter.column_names import ages_among
from hybrid.pipeline.table_run import TableRun
from hybrid.protect import Protection
from hybrid.protect.protect_table import BELOW_LABELS
from hybrid.publication.guarantee import declared_constraints
from hybrid.store import Store
from hybrid.table import Kind, Schema, Table
from hybrid.table.dependencies import small_share, unique_share
from hybrid.table.split import split
from hybrid.transition import reads_originals

MOST_SEARCHED = 200_000
"""Combinations of levels up to which a check searches all suppression limits; beyond, the configured one alone."""
_KEEP = (
    "a smaller k, a larger anonymize.suppression_limit, coarser hierarchies or fewer quasi-identifiers may keep some "
    "of it: hybrid trade-off"
)
_KEEP_MORE = "a smaller k, finer levels in its hierarchy or fewer quasi-identifiers may keep more of it"
_RULE = "leave this rule out of anonymize.models, or put it on another column"
_PATIENCE = 10.0
"""Seconds for each search of more combinations."""


def trial_seed(configured: int | None, store: Store | None) -> int | None:
    """Seed of a search before any run.

    The configured one, the same at every call. Without one that which a kept store has for the run; without a store 0.
    """
    return 0 if configured is None and store is None else configured


def level_findings(config: RunConfig, table: Table, store: Store | None = None) -> Iterator[Finding]:
    """Findings about each column after splitting, protecting and searching as a run does.

    ``table`` is the whole one, without undecided columns. Stages of the run are taken from ``store``, and left there
    for it; without one the split is that of the configuration's seed, or of seed 0.
    """
    inputs = Inputs(config, Recorder(), silent, table)
    tables = TableRun(config, trial_seed(config.seed, store), store, given=inputs, judge_power=False)
    found = tables.anonymization
    assert found is not None
    options, train = found.options, found.coarsened
    prepare(train, found.hierarchies, options, found.population)
    nodes = prod(found.hierarchies[name].n_levels for name in train.schema.quasi_identifiers)
    yield Finding("ok", sentence("level.combinations", n=nodes))
    back = put_back(config)
    if options.recoding == "local":
        yield from _mixed_levels(tables.train, found, back)
    if not config.has_tradeoff:
        return
    if nodes <= MOST_SEARCHED:
        points = found.trade_off
    else:
        options = options.model_copy(update={"time_limit": min(options.time_limit, _PATIENCE)})
        known = train, found.hierarchies, options, (options.k,), (options.suppression_limit,)
        points = tradeoff(*known, population=found.population)
    yield _price(options, points)
    here = next(point for point in points if point.suppression_limit == options.suppression_limit)
    if here.loss is None:
        return
    costs = rule_costs(train, found.hierarchies, options, found.population, here)
    yield from _columns(tables.train, found, costs, back)


def put_back(config: RunConfig) -> str:
    """Values that the transition writes where labels were, and so those of the released table, in words."""
    transition = config.required_transition.model_dump(mode="json")
    if transition["method"] == "single":
        return "one exact value for each group"
    if transition["method"] == "original" and transition["order"] == "pre":
        return "the real values again"
    if reads_originals(transition):
        return "exact values again, which follow the real ones"
    if learns_values(declared_constraints(config.model_dump(mode="json"))):
        return "exact values again; the real ones decide only which of them occur together"
    return "exact values again, drawn without a look at the real ones"


def _columns(people: Table, found: Anonymization, costs: RuleCosts, back: str) -> Iterator[Finding]:
    words = LevelWords.named(found.hierarchies, ages_among(found.hierarchies))
    hint = _KEEP
    for name, level in (costs.chosen.levels or {}).items():
        before = int(people.frame[name].nunique())
        nodes = found.hierarchies[name].node_at(found.coarsened.frame[name].dropna(), level)
        after, said = len(set(nodes.tolist())), column_words(costs, words, name)
        counted = (level == 0 and after == before) or said.startswith(f"{after:,} group")
        gone = level == words.roots[name]
        lost = gone and not costs.causes(name)
        shown = _protected(name, before, said, back, after=None if counted or gone else after, changed=level > 0)
        yield Finding("note", shown, hint if lost else "")
        hint = "" if lost else hint
    if costs.chosen.gap > 0:
        yield Finding("note", sentence("level.patience", s=_PATIENCE))
    if found.protection is not None:
        yield from _rare(people, found.protection)
    yield from (Finding("note", said, _RULE) for said in rule_sentences(costs, words, found.options.loss.name))


def _protected(column: str, values: int, how: str, back: str, *, after: int | None = None, changed: bool) -> str:
    """A column with its number of values, and how many are left while it is protected, where that says more."""
    if not changed and after is None:
        return sentence("level.kept", column=column, n=values, how=how)
    if not changed:
        return sentence("level.kept.counted", column=column, n=values, after=after or 0, how=how)
    if after is None:
        return sentence("level.protected", column=column, n=values, how=how, back=back)
    return sentence("level.protected.counted", column=column, n=values, after=after, how=how, back=back)


def _mixed_levels(people: Table, found: Anonymization, back: str) -> Iterator[Finding]:
    labels, lost = found.anonymized.labels, _amount_lost(found.options, found.anonymized)
    yield Finding("note", sentence("price.local", k=found.options.k, loss=lost))
    yield from columns_of(labels, people, back)
    if found.protection is not None:
        yield from _rare(people, found.protection)
    if found.options.models:
        alone = found.options.model_copy(update={"models": ()})
        price = anonymize(found.coarsened, found.hierarchies, alone, population=found.population)
        without = _amount_lost(alone, price)
        if found.anonymized.result.loss["value"] > (1 + CLEARLY) * price.result.loss["value"] and without != lost:
            rules = tuple(words_of(model) for model in found.options.models)
            yield Finding("note", sentence("price.rules", rules=rules, loss=lost, alone=without), _RULE)


def columns_of(labels: LabelTable, people: Table, back: str, table: str = "") -> Iterator[Finding]:
    """Finding on the levels of each column, which may differ from row to row; ``table``: before its name."""
    words = LevelWords.named(labels.hierarchies, ages_among(labels.hierarchies))
    for at, name in enumerate(labels.quasi_identifiers):
        levels = labels.hierarchies[name].level_of()[labels.nodes[:, at]]
        shares = np.bincount(levels, minlength=labels.hierarchies[name].n_levels) / len(levels)
        each = [(words.of[name][level], float(share)) for level, share in enumerate(shares) if share]
        parts = tuple(sentence("level.share", level=level, share=percent(share)) for level, share in each)
        said = sentence("level.shares", parts=parts) if len(parts) > 1 else words.of[name][int(levels[0])]
        values, mostly_gone = int(people.frame[name].nunique()), shares[words.roots[name]] > 0.5
        shown = _protected(f"{table}{name}", values, said, back, changed=bool(levels.any()))
        yield Finding("note", shown, _KEEP_MORE if mostly_gone else "")


def _amount_lost(options: AnonymizeOptions, found: AnonymizedTable) -> str:
    return amount(float(found.result.loss["value"]), options.loss.name)


def _rare(people: Table, protection: Protection) -> Iterator[Finding]:
    schema, least = people.schema, protection.min_count
    rare = [
        one for one in protection.columns if one.rare and schema[one.column].kind in (Kind.CATEGORICAL, Kind.BOOLEAN)
    ]
    for below, template, hint in (
        (
            False,
            "rare.replaced",
            "group rare values in the file, or say under protect.columns what takes their place",
        ),
        (
            True,
            "rare.grouped",
            "smaller groups in the hierarchy file of the column, such as the county of a town, keep more of it",
        ),
    ):
        of = [one for one in rare if (one.method == BELOW_LABELS) is below]
        shares = [percent(small_share(people, [one.column], least)) for one in of]
        lost = tuple(
            sentence("rare.column", column=one.column, n=one.rare or 0, of=one.values, share=share)
            for one, share in zip(of, shares, strict=True)
        )
        if lost:
            yield Finding("note", sentence(template, n=least, parts=lost), hint)


def _price(options: AnonymizeOptions, points: list[TradeoffPoint]) -> Finding:
    here = next(point for point in points if point.suppression_limit == options.suppression_limit)
    if here.loss is None:
        return Finding(
            "error",
            sentence("price.none", n=100 * options.suppression_limit),
            "raise anonymize.suppression_limit, or use a smaller k or weaker models",
        )
    costs = tuple(
        _cost(one.suppression_limit, amount(one.loss, options.loss.name)) for one in points if one.loss is not None
    )
    return Finding("note", sentence("price", k=options.k, parts=costs))


def _cost(limit: float, loss: str) -> str:
    return sentence("price.limit", n=100 * limit, loss=loss) if limit else sentence("price.all", loss=loss)


@dataclass(frozen=True)
class RoleEffect:
    """Effect of the quasi-identifiers of a configuration on its table."""

    k: int
    """Persons who must share every combination of labels."""
    unique: float
    """Share of rows, 0..1, of a person who is alone with their quasi-identifiers as they are."""
    small: float
    """Share of rows, 0..1, whose values fewer than k persons have, before anything is generalized."""
    combinations: int = 0
    """Combinations of levels that the search chooses from."""
    records: int = 0
    """Training records, which are anonymized."""
    price: TradeoffPoint | None = None
    """Loss at k and the suppression limit, from the real search; None where it was not searched. Without levels under
    local recoding, where they differ from record to record."""
    loss: str = "loss"
    """Name of the loss that the price is in; ``loss`` is a share of information, 0..1."""
    coarsest: Mapping[str, int] = field(default_factory=dict)
    """Last level of each quasi-identifier, which says nothing."""
    problem: str = ""
    """Why it was not searched; empty if there are only too many combinations. No cell value."""


def role_effect(config: RunConfig, whole: Table, most: int) -> RoleEffect:
    """Measure the effect of the roles on a table.

    Up to ``most`` combinations of levels the least loss is searched for.
    """
    table = whole.without_left_out()
    names = table.schema.quasi_identifiers
    found = RoleEffect(config.k, unique_share(table, names), small_share(table, names, config.k))
    if config.anonymize is None or not config.anonymize.generalizes or not names:
        return found
    try:
        return _priced(config, table, found, most)
    except HybridError as error:
        return RoleEffect(found.k, found.unique, found.small, problem=error.problems[0].message)


def _priced(config: RunConfig, table: Table, found: RoleEffect, most: int) -> RoleEffect:
    options = config.anonymize
    assert options is not None
    hierarchies = load_hierarchies(table, config.hierarchy_sources, config.unlabelled)
    parts = split(table, config.split, rng_for(0, "split"), config.data.person_columns, config.data.household_columns)
    people = parts.train.without_identifiers()
    combinations = prod(one.n_levels for one in hierarchies.values())
    exact = options.engine == "exact" and options.population is None
    price = None
    if exact and options.recoding == "local":
        result = anonymize(people, hierarchies, options).result
        price = TradeoffPoint(
            options.k, options.suppression_limit, result.loss["value"], None, 0, result.classes, result.gap
        )
    elif exact and combinations <= most:
        price = tradeoff(people, hierarchies, options, (options.k,), (options.suppression_limit,))[0]
    coarsest = {name: one.n_levels - 1 for name, one in hierarchies.items()}
    return RoleEffect(found.k, found.unique, found.small, combinations, len(people), price, options.loss.name, coarsest)


def technique_findings(options: AnonymizeOptions, schema: Schema) -> list[Finding]:
    """Steps of an anonymization with their columns, and whether they give k-anonymity."""
    steps = assigned(options, schema)
    said = "; ".join(f"{step.name} ({', '.join(columns)})" for step, columns in steps)
    if gives_k(steps, schema.quasi_identifiers):
        return [Finding("ok", sentence("check.steps", steps=said, k=options.k))]
    note = Finding(
        "note",
        "no k-anonymity is promised: no step makes groups that are equal in all quasi-identifiers",
        "mask all of them in one step of generalization, suppression or microaggregation",
    )
    return [Finding("ok", said), note]
