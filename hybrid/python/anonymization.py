"""k-anonymous labels of a table in one call, and the way back to specific values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError
from hybrid.base.notebook import NotebookResult
from hybrid.base.progress import Progress
from hybrid.python.drafts import Guessed, Wishes, guessed
from hybrid.python.frames import AnyTable, is_several, like
from hybrid.python.status import stated, status_of, warn

if TYPE_CHECKING:
    from hybrid.anonymize.result import AnonymizationResult
    from hybrid.hierarchy import Hierarchy
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.table import Table

ALL_ROWS: Mapping[str, Any] = {"split.control": 0.0, "split.release": 0.0, "sample": {"method": "none"}}
"""Settings under which all records are anonymized, none kept apart and none left to chance."""


class Anonymized(NotebookResult):
    """A k-anonymous table of labels. Holds the original records: private.

    ``run`` has the first stage computed; ``notes`` say what was guessed, and what was changed beside quasi-identifiers;
    ``draft`` is the guessed configuration.
    """

    def __init__(
        self, run: Pipeline, give: Callable[[Table], Any], notes: tuple[str, ...] = (), draft: Draft | None = None
    ) -> None:
        self.run = run
        self.notes = notes
        self.draft = draft
        self._give = give

    @property
    def table(self) -> Any:
        """Labels in place of the quasi-identifiers, as the kind that came in; rows in the order of their content.

        Identifiers and undecided columns are left out.
        """
        from hybrid.jobs.run import ordered_labels

        assert self.run.person.anonymization is not None
        return stated(self._give(ordered_labels(self.run.person.anonymization)), status_of(None))

    @property
    def result(self) -> AnonymizationResult:
        """Aggregates: classes, suppressed records, loss, levels, and the check that was made of the finished table."""
        assert self.run.anonymized is not None
        return self.run.anonymized.result

    @property
    def k(self) -> int:
        """People of the smallest class, counted in the finished table."""
        return self.result.smallest

    @property
    def levels(self) -> dict[str, str]:
        """Words for the level of each quasi-identifier, such as "groups of 10"; "by record" where levels differ."""
        names = self.run.table.schema.quasi_identifiers
        return words_of_levels(self.run.person.hierarchies, self.result.levels, names)

    def restore(self, transition: str = "tree", *, seed: int | None = None, **options: Any) -> Any:
        """Table with specific values below the labels again.

        It is not k-anonymous: a value below a label may be that of a person. It has as many rows as :attr:`table`, in
        the same order, and is of the kind that came in.

        Parameters
        ----------
        transition, options
            Name of a strategy of :mod:`hybrid.transitions`, and its options.
        seed : int, optional
            Repeats the draws; by default a fresh one.
        """
        from hybrid.base.rng import fresh_seed, rng_for
        from hybrid.jobs.run import label_order

        anonymization = self.run.person.anonymization
        assert anonymization is not None
        values = {"transition.method": transition} | {f"transition.{name}": one for name, one in options.items()}
        own = anonymization.with_transition(values)
        rng = rng_for(fresh_seed() if seed is None else seed, "transition")
        found = own.restore(own.sampled.anonymized.labels, rng).table
        return stated(self._give(found.take(label_order(own))), status_of(None))

    def save(self, folder: Path | str) -> Path:
        """Write labels, aggregates and manifest, as ``hybrid anonymize --out`` does; raises as the command does."""
        from hybrid.jobs.run import write_anonymized

        write_anonymized(self.run, Path(folder))
        return Path(folder)

    def __repr__(self) -> str:
        found = self.result
        names = ", ".join(f"{name} ({words})" for name, words in self.levels.items())
        kept = found.records - found.suppressed
        lines = [
            f"Anonymized: {kept:,} of {found.records:,} records in {found.classes:,} classes",
            f"  k = {self.k} {found.unit} at least on: {names}",
            "  not judged by a policy: k says nothing about the other columns",
        ]
        lines += [f"  {note}" for note in self.notes if note.startswith(("guessed: ", "changed: "))]
        return "\n".join([*lines, "  .table  .restore()  .result  .levels  .save(folder)  .notes  .draft"])


def anonymize(
    data: AnyTable,
    *,
    quasi_identifiers: Sequence[str] = (),
    k: int | None = None,
    sensitive: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    models: Sequence[Mapping[str, Any]] = (),
    hierarchies: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    config: Any = None,
    seed: int | None = None,
    progress: Progress | bool = True,
) -> Anonymized:
    """Generalize the columns that others know about people until k of them share every combination.

    The labels are verified in the finished table. Columns that look like names or numbers of people are left out, and
    so are those whose role is unclear; rare values of all other columns are replaced
    (``settings={"protect": "off"}`` keeps them). Nothing is written.

    Parameters
    ----------
    data : table or path
        As for :func:`hybrid.synthesize`: one table.
    quasi_identifiers : sequence of str
        Columns that others know about a person. Those that look like it are generalized, too, unless ``roles`` says
        ``{"COLUMN": "insensitive"}``: what is guessed is in ``result.notes``.
    k : int, optional
        People who share every combination of labels, 2 or more; 5 by default. Rows are people, unless ``person`` names
        a column.
    sensitive : sequence of str
        Columns that an attacker wants to learn.
    roles, person, hierarchies, settings, config, seed, progress
        As for :func:`hybrid.synthesize`.
    models : sequence of mapping
        Privacy models beside k, such as ``{"model": "l_diversity", "l": 2, "attribute": "illness"}``
        (:mod:`hybrid.privacy_models`).

    Returns
    -------
    Anonymized
        ``.table`` is of the kind that came in, ``.k`` what was reached.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        An argument, the table or a hierarchy is wrong; no column is known to others.
    InfeasibleError
        No generalization meets the models within the suppression limit.

    Examples
    --------
    >>> hybrid.anonymize(frame, quasi_identifiers=["age", "sex", "postcode"], k=5).table  # doctest: +SKIP
    """
    from hybrid.pipeline.identifying_texts import refuse_identifying

    with shown(progress) as told:
        told("guess", 0)
        if config is None:
            chosen = {"anonymize.models": [dict(one) for one in models]} if models else {}
            about = {"k": k, "person": person, "hierarchies": hierarchies, "settings": chosen | dict(settings or {})}
            found = single(data, Wishes.of(quasi_identifiers, sensitive, (), roles, **about))
        else:
            from hybrid.python.synthesis import decided

            found = decided(config, data, dict(settings or {}))
        run = anonymizing(found, seed, told)
        refuse_identifying(run.config, run.table)
        _ = run.anonymized
    protected = () if run.person.protected is None else run.person.protected.result.columns
    others = set(run.table.schema.names) - set(run.table.schema.quasi_identifiers)
    changed = [f"changed: {one.sentence}" for one in protected if one.column in others and one.changed != 0]
    result = Anonymized(run, like(data), (*found.notes, *changed), found.draft)
    if config is None:
        warn(
            status_of(None),
            "k-anonymous on guessed roles, and not to be shared: no policy judged it (print the result)",
        )
    return result


def words_of_levels(
    trees: Mapping[str, Hierarchy], levels: Mapping[str, int] | None, names: Sequence[str]
) -> dict[str, str]:
    """Words for the level of each column; "by record" where levels differ."""
    from hybrid.hierarchy.labels import level_words

    return {name: "by record" if levels is None else level_words(trees[name], levels[name]) for name in names}


def single(data: AnyTable, wishes: Wishes) -> Guessed:
    """As :func:`~hybrid.python.drafts.guessed`, for one table."""
    if is_several(data):
        raise ConfigError("linked tables are not anonymized alone", hint="hybrid.synthesize(tables), or one table")
    return guessed(data, wishes)


def anonymizing(found: Guessed, seed: int | None, progress: Progress) -> Pipeline:
    """Run of a single table of which all records are anonymized."""
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.pipeline.sources import read_sources

    config = found.config
    if config.is_linked:
        raise ConfigError("linked tables are not anonymized alone", hint="hybrid.synthesize(tables), or one table")
    if config.anonymize is None or config.privacy is not None:
        raise ConfigError(
            "no column looks known to others, so that there is nothing to generalize",
            hint='name those that are: quasi_identifiers=["age", "sex"]',
        )
    config = config.with_values(ALL_ROWS)
    return Pipeline(config, seed, progress=progress, given=read_sources(config))
