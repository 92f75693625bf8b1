"""Refusals: which features a mode does not have, one sentence each.

A mode and a feature are called as a configuration asks for them. The documentation prints :data:`REFUSALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from hybrid.anonymize.techniques.registry import sensible_transitions
from hybrid.base.errors import Problem
from hybrid.constraints.kinds.computed import PERSON, Counter, Derived
from hybrid.evaluation.registry import REGISTRY as METRICS
from hybrid.pipeline.risk import leak_of, removal_of
from hybrid.synthesize.registry import REGISTRY, sequence_generators
from hybrid.table import Role
from hybrid.table.data_options import EACH_ROW
from hybrid.table.file_formats import output_suffix
from hybrid.table.sources.sql import SqlOptions
from hybrid.table.surrogates import TABLE_NUMBER

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

Words: TypeAlias = str | tuple[str, ...]
"""What fills a sentence: the name of a column, for example."""
DP, STAYING = "privacy.mode: dp", "rows that stay in their source"
LABELS, SAMPLED = "hybrid anonymize of rows that stay in a warehouse", "hybrid run with rows that stay in their source"
FILES = "hybrid anonymize of a file larger than anonymize.memory_limit"
RISK, CROSS, FILTER, PARTS = "risk", "split.control: cross", "synthesize.filter", "synthesize.part_rows"
TABLES = "synthesize.tables"
PERSONS, NO_PERSONS, NO_ANONYMIZE = "data.person", "no data.person", "no anonymize"
SAMPLED_FIRST, MASKED, LINKED = "sample.order: pre", "masked values", "tables"
BELOW = "quasi-identifiers of other tables than the person table"


def refused(config: RunConfig, *modes: str) -> Iterator[Problem]:
    """Everything that a configuration asks for and a mode does not have."""
    problems = (
        refusal(mode, feature, *words)
        for mode in modes
        for feature in REFUSALS[mode]
        if feature in FEATURES
        for words in _places(FEATURES[feature](config))
    )
    yield from {problem.message: problem for problem in problems}.values()


def refusal(mode: str, feature: str, *words: str) -> Problem:
    """The problem of a feature that a mode does not have, at the place that the words name."""
    found = REFUSALS[mode][feature]
    return Problem(found.message.format(*words), found.hint.format(*words))


def _places(found: bool | Sequence[Words]) -> Iterator[tuple[str, ...]]:
    for words in ((),) if found is True else found or ():
        yield (words,) if isinstance(words, str) else words


def modes_of(config: RunConfig) -> Collection[str]:
    """Modes that a configuration is in whatever is done with it."""
    has_persons = bool(config.data.person_columns)
    on = {
        RISK: config.risk is not None,
        PERSONS: has_persons,
        NO_PERSONS: not has_persons,
        FILTER: config.synthesize.filter is not None,
        CROSS: config.split.is_crossed,
        PARTS: config.synthesize.part_rows is not None,
        TABLES: config.synthesize.tables > 1,
        DP: config.privacy is not None,
        SAMPLED_FIRST: config.sample.order == "pre",
        NO_ANONYMIZE: config.anonymize is None,
        MASKED: config.anonymize is not None and config.transition is not None and bool(config.unlabelled),
    }
    return [mode for mode, is_on in on.items() if is_on]


def reads_without_noise(config: RunConfig) -> bool:
    """True if a stage beside private domains and generator reads records."""
    return any(FEATURES[feature](config) for feature, found in REFUSALS[DP].items() if _NOISELESS in found.message)


def accountable() -> list[str]:
    """Names of the generators that keep an account of their budget."""
    return [name for name, generator in REGISTRY.items() if "rho" in generator.Options.model_fields]


def _kindless(config: RunConfig) -> list[str]:
    columns = config.data.columns.items()
    return [name for name, one in columns if one.role.is_learned and one.role is not Role.WEIGHT and one.kind is None]


def _generator_without_order(config: RunConfig) -> list[str]:
    options = config.synthesize
    is_wrong = config.data.order is not None and not options.is_off and not options.learns_sequences
    return [options.generator] if is_wrong else []


def _person_counters(config: RunConfig) -> list[str]:
    counters = [(at, one) for at, one in enumerate(config.constraints) if isinstance(one, Counter)]
    return [str(at) for at, one in counters if one.counter.within == PERSON]


def _sql(config: RunConfig, key: str) -> Any:
    """Value of a key of ``data.sql``; None where the table is elsewhere."""
    return getattr(config.data.place, key) if isinstance(config.data.place, SqlOptions) else None


def _writes_no_parquet(config: RunConfig) -> bool:
    return output_suffix(config.data_file, config.output.format) != ".parquet"


def _has_few_rows(config: RunConfig) -> bool:
    options = config.synthesize
    return options.is_off or isinstance(options.rows, str) or options.rows <= (options.part_rows or 0)


def _steps(config: RunConfig) -> str:
    return " and ".join(step.name for step in config.anonymize.technique) if config.anonymize else ""


def _choosing_transition(config: RunConfig) -> list[Words]:
    options, transition = config.anonymize, config.transition
    sensible = None if options is None else sensible_transitions(options)
    if transition is None or sensible is None or transition.method in sensible:
        return []
    return [(transition.method, _steps(config), " or ".join(sorted(sensible)))]


def _retrained_alone(config: RunConfig) -> list[str]:
    """Named metrics that train again and ask about a column of one table."""
    named = [
        name
        for name, one in METRICS.items()
        if "retraining" in one.needs and one.per is not None and name in config.evaluate.named
    ]
    return [", ".join(named)] if named else []


FEATURES: dict[str, Callable[[RunConfig], bool | Sequence[Words]]] = {
    "anonymize": lambda c: c.anonymize is not None,
    "anonymize.engine": lambda c: [c.anonymize.engine] if c.anonymize and c.anonymize.engine != "exact" else [],
    "anonymize.engine: anjana": lambda c: c.anonymize is not None and c.anonymize.engine == "anjana",
    "anonymize.known_rows": lambda c: c.anonymize is not None and c.anonymize.known_rows > 1,
    "anonymize.loss: association": lambda c: c.anonymize is not None and c.anonymize.loss.name == "association",
    "anonymize.recoding: local": lambda c: c.anonymize is not None and c.anonymize.recoding != "global",
    "anonymize.suppressed: coarsen": lambda c: c.anonymize is not None and c.anonymize.suppressed == "coarsen",
    "anonymize.technique": lambda c: c.anonymize is not None and not c.anonymize.generalizes,
    "columns without kind": _kindless,
    "constraints": lambda c: bool(c.constraints),
    "constraints.derived": lambda c: any(isinstance(one, Derived) for one in c.constraints),
    "constraints.counter within persons": _person_counters,
    "data.household": lambda c: bool(c.data.household_columns),
    "data.max_rows": lambda c: c.data.max_rows is not None,
    "data.order": lambda c: c.data.order is not None,
    "data.person without data.max_rows": lambda c: bool(c.data.person_columns) and c.data.max_rows is None,
    STAYING: lambda c: c.rows_stay,
    "evaluate.retrain": lambda c: c.evaluate.retrain is not None,
    "evaluate.retrain.ordinal": lambda c: c.evaluate.retrain is not None and bool(c.evaluate.retrain.ordinal),
    "evaluate.retrain.stages": lambda c: c.evaluate.retrain is not None and c.evaluate.retrain.stages != ("synthetic",),
    "generators of persons": lambda c: c.draws_persons,
    "generators of single rows": lambda c: (
        [] if c.synthesize.learns_sequences or leak_of(c.risk) is not None else [c.synthesize.generator]
    ),
    "generators of single rows with data.order": _generator_without_order,
    "generators without an account": lambda c: (
        [] if c.synthesize.generator in accountable() else [c.synthesize.generator]
    ),
    "metrics that train again": _retrained_alone,
    "no anonymize": lambda c: c.anonymize is None,
    "no data.sql.labels": lambda c: not (_sql(c, "labels") or _sql(c, "push_down")),
    "no data.person": lambda c: c.data.person is None,
    "no generator, or a known leak": lambda c: c.synthesize.is_off or leak_of(c.risk) is not None,
    "no generator beside risk.model: outliers": lambda c: removal_of(c.risk) is not None and c.synthesize.is_off,
    "no split.release beside a known leak": lambda c: leak_of(c.risk) is not None and not c.split.release,
    "output.format: csv": _writes_no_parquet,
    "output.identifiers: drop": lambda c: c.output.identifiers == "drop",
    "output.identifiers: surrogate": lambda c: c.output.identifiers != "drop",
    "privacy": lambda c: c.privacy is not None,
    "protect": lambda c: c.protection is not None,
    "risk": lambda c: c.risk is not None,
    "risk.model but leaky": lambda c: [c.risk.model] if c.risk is not None and c.risk.model != "leaky" else [],
    "role weight": lambda c: c.data.having(Role.WEIGHT),
    "sample": lambda c: c.sample.method != "none",
    "sample of labels": lambda c: c.sample.effective.method != "none",
    "sample.by: equivalence_class": lambda c: c.sample.method == "stratified" and c.sample.by == "equivalence_class",
    "sample.order: pre": lambda c: c.sample.order == "pre",
    "sample.order: pre, also by default": lambda c: c.sample.effective.order == "pre",
    "seed": lambda c: c.seed is not None,
    "split": lambda c: bool(c.split.is_crossed or c.split.share_apart or c.split.rows),
    "split.control: 0": lambda c: c.split.control == 0,
    "split.independent: false, rows, key or release": lambda c: (
        not c.split.independent or c.split.rows is not None or c.split.key is not None or bool(c.split.release)
    ),
    "split.key": lambda c: c.split.key is not None,
    "split.key, split.stable": lambda c: bool(
        c.split.control_share and (c.split.stable or (c.split.key is not None and not c.data.person_columns))
    ),
    "split.rows, split.release, split.independent": lambda c: bool(
        c.split.rows is not None or c.split.release or c.split.independent
    ),
    "split.release": lambda c: bool(c.split.release),
    "split.rows beside data.sql.sample_rows": lambda c: bool(c.split.rows) and _sql(c, "sample_rows") is not None,
    "synthesize.filter": lambda c: c.synthesize.filter is not None,
    "synthesize.options of the budget": lambda c: [
        key for key in ("epsilon", "delta", "rho", "rows_per_person", "bins") if key in c.synthesize.options
    ],
    "synthesize.part_rows": lambda c: c.synthesize.part_rows is not None,
    "synthesize.rows of one part": _has_few_rows,
    "synthesize.where": lambda c: c.synthesize.where is not None,
    "synthesize.balance": lambda c: c.synthesize.balance is not None,
    "transition": lambda c: c.transition is not None,
    "transition.method below labels": _choosing_transition,
    "transition.order: post": lambda c: [_steps(c)] if c.transition and c.transition.order == "post" else [],
}
"""Whether a configuration has a feature: yes or no, or the words for each place that has it."""

_NOISELESS = "is set beside privacy.mode dp, where nothing reads records without noise"
_AS_THEY_ARE = "is set beside risk: the laboratory tries training records as they are"
_WITHOUT_RISK = "set protect: off, anonymize: null and sample: {{method: none}}, or leave risk out"
_APART, _SHARE = "split.control: cross keeps nobody apart for", "set split.control to a share, such as 0.3"
_AT_ONCE = "leave part_rows out: all rows are then drawn and judged at once"
_LEFT_OUT, _ONE_LEFT_OUT = "leave it out", "leave one of them out"
_BY_COLUMNS = "set sample.by to column names, or use sample.method: beta"

_LARGER = "the table is larger than anonymize.memory_limit"
_MORE = "raise anonymize.memory_limit on a machine with more memory"
_STAY = "the rows stay in their source"
_SEARCH = {
    "anonymize.technique": Problem("anonymize.technique looks at all records", "leave technique out"),
    "anonymize.engine": Problem("engine {0} needs the whole table", "use anonymize.engine: exact"),
    "anonymize.loss: association": Problem(
        "the loss association looks at all columns of every row",
        "use another anonymize.loss",
    ),
    "anonymize.known_rows": Problem("anonymize.known_rows compares all rows of a person", "leave known_rows out"),
    "data.household": Problem("data.household compares all rows of a household", "leave data.household out"),
}
"""What the search needs in memory."""
_COPY = {
    "constraints.derived": Problem(
        "a column computed from a quasi-identifier would give its label away",
        "give that column the role excluded, and leave the constraint out",
    ),
    "protect": Problem(
        "protection compares the values of all records",
        "set protect: off: columns that are no quasi-identifiers are then copied as they are",
    ),
    "sample.order: pre, also by default": Problem(
        "sample.order: pre draws from the whole table", "leave sample.order out"
    ),
}
"""What columns beside the labels need in memory."""


def _outside(why: str, features: Mapping[str, Problem], else_: str = "") -> dict[str, Problem]:
    """Refusals of features that need all rows in memory."""
    return {name: Problem(f"{why}: {one.message}", one.hint + else_) for name, one in features.items()}


REFUSALS: dict[str, dict[str, Problem]] = {
    DP: {
        "no data.person": Problem(
            "data.person: privacy.mode dp protects persons, and whose a row is was not said",
            f"name the identifier column, or set {EACH_ROW} where each row is another person",
        ),
        "data.person without data.max_rows": Problem(
            "data.max_rows: the rows of a person need a limit, which the noise grows with",
            "set data.max_rows, such as 1",
        ),
        "data.household": Problem("data.household: members of a household would share a side of the split", _LEFT_OUT),
        "split.independent: false, rows, key or release": Problem(
            "split: one person more or less must not move others between training and control",
            "set split.control alone; rows, key, release and independent: false are not for privacy.mode dp",
        ),
        "protect": Problem(f"protect {_NOISELESS}", "set protect: off; private domains take its place"),
        "anonymize": Problem(f"anonymize {_NOISELESS}", "leave it out; levels and suppression depend on the records"),
        "sample": Problem(f"sample {_NOISELESS}", _LEFT_OUT),
        "constraints": Problem(f"constraints {_NOISELESS}", "leave them out; what holds is counted in the records"),
        "risk": Problem(f"risk {_NOISELESS}", _LEFT_OUT),
        "synthesize.where": Problem(f"synthesize.where {_NOISELESS}", "leave it out; who meets it is counted"),
        "synthesize.balance": Problem(
            f"synthesize.balance {_NOISELESS}", "leave it out; who has each value is counted"
        ),
        "synthesize.filter": Problem(f"synthesize.filter {_NOISELESS}", "leave it out; it reads the records again"),
        "generators without an account": Problem(
            "synthesize.generator {0} keeps no account of a privacy budget",
            f"use {' or '.join(accountable())}",
        ),
        "synthesize.options of the budget": Problem(
            "synthesize.options.{0}: the section privacy decides it", _LEFT_OUT
        ),
        "seed": Problem("seed is set: who knows it can repeat the draws of a private table", "leave seed out"),
        "output.identifiers: surrogate": Problem(
            "output.identifiers: surrogates are values that no record has, which reveals some",
            "set drop",
        ),
        "role weight": Problem("data.columns.{0}: weights are calibrated to margins of the records", _LEFT_OUT),
        "columns without kind": Problem("data.columns.{0}: the kind would be inferred from the records", "set kind"),
    },
    RISK: {
        "protect": Problem(f"protect {_AS_THEY_ARE}", _WITHOUT_RISK),
        "anonymize": Problem(f"anonymize {_AS_THEY_ARE}", _WITHOUT_RISK),
        "sample": Problem(f"sample {_AS_THEY_ARE}", _WITHOUT_RISK),
        "no generator beside risk.model: outliers": Problem(
            "risk.model outliers: no generator learns the others",
            "set synthesize.generator",
        ),
        "no split.release beside a known leak": Problem(
            "risk needs people whom neither training nor control holds",
            "set split.release, such as 0.333",
        ),
        "evaluate.retrain": Problem(
            "evaluate.retrain trains the generator on other records, and risk says what it learns",
            _ONE_LEFT_OUT,
        ),
        "synthesize.where": Problem("synthesize.where is set beside risk, where no rows are drawn", _ONE_LEFT_OUT),
        "synthesize.balance": Problem("synthesize.balance is set beside risk, where no rows are drawn", _ONE_LEFT_OUT),
    },
    FILTER: {
        "split.control: 0": Problem(
            "synthesize.filter measures distances by control records",
            "set split.control, such as 0.3",
        ),
        "no generator, or a known leak": Problem(
            "synthesize.filter is set and no generator runs: every row lies on the record it was made from",
            "choose a generator, or leave filter out",
        ),
        "generators of persons": Problem(
            "synthesize.filter judges single rows, and the generator draws persons with all their rows",
            "choose a generator of single rows, or leave filter out",
        ),
        "role weight": Problem(
            "synthesize.filter leaves out rows after sampling weights were calibrated to margins",
            "leave filter out, or give the weight another role",
        ),
    },
    CROSS: {
        "synthesize.filter": Problem(
            f"{_APART} synthesize.filter, which measures distances by control records", _SHARE
        ),
        "synthesize.part_rows": Problem(
            f"{_APART} synthesize.part_rows, whose parts are counted beside control records",
            _SHARE,
        ),
        "risk": Problem(f"{_APART} risk, which tries a known leak", _SHARE),
        STAYING: Problem(f"{_APART} rows that stay in their source, of which only a sample comes out", _SHARE),
    },
    PARTS: {
        "synthesize.rows of one part": Problem(
            "synthesize.part_rows is for more rows than that",
            "set synthesize.rows to the rows of the table",
        ),
        "synthesize.filter": Problem(
            "synthesize.part_rows: synthesize.filter compares drawn rows with each other", _AT_ONCE
        ),
        "privacy": Problem("synthesize.part_rows: privacy.mode dp draws all rows at once", _AT_ONCE),
        "risk": Problem(
            "synthesize.part_rows is for tables that are released, and risk for known leaks",
            "leave part_rows out",
        ),
        "role weight": Problem("synthesize.part_rows: sampling weights are calibrated on all rows at once", _AT_ONCE),
        "output.format: csv": Problem(
            "synthesize.part_rows writes Parquet, and the table would be of another format",
            "set output.format: parquet",
        ),
    },
    TABLES: {
        "synthesize.part_rows": Problem(
            "synthesize.tables: synthesize.part_rows judges a sample of the rows", _ONE_LEFT_OUT
        ),
        "synthesize.filter": Problem(
            "synthesize.tables: synthesize.filter leaves out rows, and the tables would differ in size",
            _ONE_LEFT_OUT,
        ),
        "privacy": Problem("synthesize.tables: privacy.mode dp pays for one table", "leave tables out"),
        "risk": Problem("synthesize.tables is for releases, and risk for known leaks", "leave tables out"),
        "role weight": Problem(
            "synthesize.tables: the weights of all tables together would add up to the population",
            "leave tables out, or give the weight another role",
        ),
        STAYING: Problem(f"synthesize.tables: {_STAY}, and a sample of them is learned", "leave tables out"),
        "column synthetic_table": Problem(
            f"synthesize.tables: the release numbers its tables in a column {TABLE_NUMBER}, and the source has one",
            "give that column of the source another name",
        ),
    },
    PERSONS: {
        "anonymize.engine: anjana": Problem(
            "engine anjana counts records, and data.person asks for persons",
            "use anonymize.engine: exact",
        ),
        "generators of single rows with data.order": Problem(
            "data.order asks for persons with their rows in order; {0} draws single rows",
            f"use synthesize.generator: {' or '.join(sequence_generators())}, or leave order out: each row then has a "
            "person number of its own",
        ),
    },
    NO_PERSONS: {
        "anonymize.known_rows": Problem(
            "anonymize.known_rows is about rows of one person, and data.person names no column",
            "set data.person, or leave known_rows out",
        ),
        "data.order": Problem(
            "data.order orders the rows of a person, and data.person names no column",
            "set data.person, or leave order out",
        ),
        "constraints.counter within persons": Problem(
            "constraints.{0}.counter counts within persons, and data.person names no column",
            "set data.person, or name the column to count within",
        ),
        "data.max_rows": Problem(
            "data.max_rows limits the rows of a person, and data.person names no column",
            "set data.person, or leave max_rows out",
        ),
    },
    SAMPLED_FIRST: {
        "sample.by: equivalence_class": Problem(
            "sample.by is equivalence_class, and before anonymization (sample.order: pre) there are no classes",
            _BY_COLUMNS,
        ),
    },
    NO_ANONYMIZE: {
        "sample.order: pre": Problem(
            "sample.order is pre, and nothing is anonymized that could be sampled before",
            "leave sample.order out",
        ),
        "transition": Problem(
            "transition is set but anonymize is not: without generalized labels there is nothing to restore",
            "add an anonymize section, or remove transition",
        ),
        "sample.by: equivalence_class": Problem(
            "sample.by is equivalence_class but anonymize is not set, so there are no classes",
            _BY_COLUMNS,
        ),
    },
    MASKED: {
        "transition.method below labels": Problem(
            "transition.method: {0} chooses values below labels, and {1} has masked values",
            "use {2}; single keeps them as they are",
        ),
        "transition.order: post": Problem(
            "transition.order: post has the generator learn labels, and {0} has masked values",
            "leave transition.order out",
        ),
    },
    STAYING: {
        "no anonymize": Problem(
            f"{_STAY}: an anonymize section is needed", "add one, with k and the quasi-identifiers"
        ),
        **_outside(_STAY, _SEARCH, f", or {_MORE}"),
        "privacy": Problem(f"{_STAY}: privacy.mode dp has no labels", "leave privacy out"),
    },
    LABELS: {
        **_outside(_STAY, _COPY),
        "data.max_rows": Problem(f"{_STAY}: data.max_rows compares all rows of a person", "leave data.max_rows out"),
        "data.order": Problem(f"{_STAY}: data.order compares all rows of a person", "leave data.order out"),
        "split": Problem(
            f"{_STAY}: every row of the table is anonymized", "set split.control: 0, and no other key of split"
        ),
        "no data.sql.labels": Problem(
            f"{_STAY}: no table is made in the warehouse that was not asked for",
            f"set data.sql.labels to the name of the new table of labels, or {_MORE}",
        ),
    },
    FILES: {
        **_outside(_LARGER, _SEARCH | _COPY, f", or {_MORE}"),
        "data.order": Problem(
            f"{_LARGER}: data.order sorts all rows before they are split",
            f"leave data.order out, which labels do not need, or {_MORE}",
        ),
        "split.key, split.stable": Problem(
            f"{_LARGER}: split.key and split.stable compare all records",
            f"set split.control: 0, or {_MORE}",
        ),
        "split.rows, split.release, split.independent": Problem(
            f"{_LARGER}: split.rows, split.release and split.independent draw from the whole table",
            f"leave them out, or {_MORE}",
        ),
    },
    SAMPLED: {
        "anonymize.recoding: local": Problem(
            f"{_STAY}: a sample has labels of the levels found, and local recoding has none",
            f"use anonymize.recoding: global, or {_MORE}",
        ),
        "anonymize.suppressed: coarsen": Problem(
            f"{_STAY}: a sample has labels of the levels found, and no coarser ones",
            f"leave suppressed out, or {_MORE}",
        ),
        "split.rows beside data.sql.sample_rows": Problem(
            "split.rows and data.sql.sample_rows both say how many rows are drawn",
            _ONE_LEFT_OUT,
        ),
        "split.release": Problem(f"{_STAY}: fresh people for known leaks are not drawn", "leave split.release out"),
        "sample of labels": Problem(
            f"{_STAY}: the sample is drawn there, from all rows with labels",
            f"set split.rows, and leave the section sample out; or {_MORE}",
        ),
        "role weight": Problem(
            f"{_STAY}: weights of a sample do not add up to the population",
            f"give the column another role, or {_MORE}",
        ),
        "risk": Problem(f"{_STAY}: risk tries metrics on known leaks, and these rows are real", "leave risk out"),
    },
    LINKED: {
        "data beside tables": Problem("data and tables exclude each other", "describe every table under tables"),
        "constraints beside tables": Problem(
            "constraints: of which table?", "write them under tables.NAME.constraints"
        ),
        "risk.model but leaky": Problem(
            "risk.model: {0} is for single tables",
            "use leaky: copied people come with their rows in all tables",
        ),
        "privacy": Problem("privacy.mode: dp is for single tables", "leave privacy out"),
        "a research order": Problem(
            "stages: a research order, which anonymizes what a generator drew, is for single tables",
            "leave stages out",
        ),
        "synthesize.part_rows": Problem(
            "synthesize.part_rows is for single tables: linked tables are read, drawn and judged whole, in memory",
            "leave it out; of people with all of their rows, take as many as memory holds",
        ),
        "generators of single rows": Problem(
            "synthesize.generator: {0} does not draw rows of a parent",
            f"use {' or '.join(sequence_generators())}",
        ),
        "transition.order: post": Problem(
            "transition.order: post is for single tables: rows are drawn given the values of their parents",
            "use order: pre",
        ),
        "metrics that train again": Problem(
            "evaluate: {0}: for single tables",
            "leave it out; others that train again attack people with all of their rows",
        ),
        "evaluate.retrain.stages": Problem(
            "evaluate.retrain.stages: linked tables have one stage that is repeated",
            "use [synthetic]",
        ),
        "evaluate.retrain.ordinal": Problem("evaluate.retrain.ordinal is for single tables", _LEFT_OUT),
        "split.key": Problem("split.key is for single tables: persons are split", "leave it out"),
        "output.identifiers: drop": Problem(
            "output.identifiers: drop would cut the links between the tables",
            "use surrogate",
        ),
        "references protected by the category other": Problem(
            "tables.{0}.references.{1}: protect would replace rare values by the category `other`, which is no key",
            "set protect.columns.{1}: sample",
        ),
        "weights of other tables": Problem(
            "tables.{0}.columns.{1}: the role weight is supported in the person table alone",
            "give it the role sensitive or insensitive, or move what is constant within persons to {2}",
        ),
        "anonymize.models of other tables": Problem(
            "anonymize.models: {0} is not a column of {1}",
            "privacy models are about columns of the person table",
        ),
    },
    BELOW: {
        "anonymize.technique": Problem(
            "anonymize.technique: groups of about k persons hold fewer than k with the same labels in rows below them; "
            "quasi-identifiers of other tables than the person table go with generalization",
            "leave technique out, or give them the role sensitive or insensitive",
        ),
    },
}
"""For each mode the features that it does not have: what is wrong, and what to do."""
