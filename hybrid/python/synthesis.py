"""Synthetic table in one call, and what can be done with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError
from hybrid.base.notebook import NotebookResult, Page
from hybrid.base.progress import Progress
from hybrid.python.drafts import Guessed, Wishes, guessed
from hybrid.python.frames import AnyTables, like, several_in_memory
from hybrid.python.status import stated, status_of, warn, words_of

if TYPE_CHECKING:
    from hybrid.evaluation import Evaluation
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.publication.verdict import Verdict
    from hybrid.report.charts.svg import Figure
    from hybrid.table import Table


class Synthesis(NotebookResult):
    """A synthetic table with its verdict. Holds the original records: private.

    ``run`` is the run behind it, ``notes`` say what was guessed, and ``draft`` is the guessed configuration.
    """

    def __init__(
        self,
        run: Pipeline,
        give: Mapping[str, Callable[[Table], Any]],
        notes: tuple[str, ...] = (),
        draft: Draft | None = None,
    ) -> None:
        self.run = run
        self.notes = notes
        self.draft = draft
        self._give, self._judged = give, False
        self._further, self._rows = 0, Counter[str]()

    @property
    def table(self) -> Any:
        """The synthetic table, as the kind that came in; of linked tables a dict of them.

        A table of pandas says in ``table.attrs["hybrid"]``, and one of Arrow in its metadata, what the verdict is.
        """
        from hybrid.pipeline.config import SINGLE

        status = self._status()
        found = self._tables()
        given = {name: stated(self._give[name](table), status) for name, table in found.items()}
        return given.get(SINGLE, given)

    @property
    def verdict(self) -> Verdict:
        """Verdict of the policy on the table; what is not measured yet is measured here, which can take minutes."""
        found = self.run.verdict
        self._judged = True
        return found

    @property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity; ``.to_frame()`` has a row per metric."""
        _ = self.verdict
        return self.run.evaluation

    def sample(self, n: int, where: str | None = None, *, progress: Progress | bool = True) -> Any:
        """Draw further rows from the same model.

        Every further draw discloses more about the people in the data, and no verdict is about it: they are marked as
        not judged. A table of so many rows to be released is made by ``rows=n`` in :func:`hybrid.synthesize`.

        Parameters
        ----------
        n : int
            Rows, 1 or more; of persons with several rows, about so many. Of linked tables: people, with their rows in
            all tables.
        where : str, optional
            What every row meets, such as ``"ward = 'ICU' and age >= 60"``; of linked tables, what every person meets,
            by the columns of the person table. A condition that few people meet is refused.
        """
        from hybrid.pipeline.config import SINGLE
        from hybrid.pipeline.further_draw import further_tables

        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigError("n is no whole number of 1 or more", hint="result.sample(100)")
        self._further += 1
        before = Counter({name: len(table) for name, table in self.run.released.items()}) + self._rows
        with shown(progress) as told:
            for table in self.run.tables.values():
                table.progress = told
            drawn = further_tables(self.run, n, self._further, before, where)
        self._rows += Counter({name: len(table) for name, table in drawn.items()})
        tables = {**drawn, **self.run.sources.public}
        given = {name: stated(self._give[name](table), status_of(None)) for name, table in tables.items()}
        return given.get(SINGLE, given)

    def report(self, *, details: bool = False) -> Page:
        """Report of the run, shown inline by a notebook; aggregates, and ten rows of the synthetic table.

        With ``details`` its second page: every check and every figure, each explained.
        """
        from hybrid.jobs.report_inputs import report_pages, shown_page

        _ = self.verdict
        pages = report_pages(self.run, datetime.now(UTC))
        return shown_page(f"report of {self.run.config.name}", pages, details=details)

    def plot(self, *columns: str) -> Figure:
        """Draw columns, by default all, real beside synthetic, without small groups; of linked tables TABLE.COLUMN.

        A notebook shows the figure, and its ``.write(FILE)`` keeps it. Aggregates only.
        """
        return self.run.plot(*columns)

    def save(self, folder: Path | str, work: Path | str = "work") -> Path:
        """Write tables, evaluation, report and manifest, as ``hybrid run --out`` does; gives the folder.

        Nothing else of this class writes anything. An earlier run in the folder is replaced, other files are refused.
        The private zone ``work`` counts the draw.
        """
        from hybrid.jobs.run import write_draw

        write_draw(self.run, Path(folder), Path(work))
        return Path(folder)

    def _tables(self) -> Mapping[str, Table]:
        return {**self.run.released, **self.run.sources.public}

    def _status(self) -> dict[str, Any]:
        return status_of(self.run.verdict if self._judged else None)

    def __repr__(self) -> str:
        tables = [f"{name or 'table'}: {len(table):,} rows" for name, table in self._tables().items()]
        lines = [f"Synthesis of {', '.join(tables)}", f"  {words_of(self._status())}"]
        lines += [f"  {note}" for note in self.notes if note.startswith("guessed: ")]
        return "\n".join([*lines, "  .table  .verdict  .sample(n)  .plot()  .report()  .save(folder)  .notes  .draft"])

    def _repr_html_(self) -> str:
        return super()._repr_html_() + (self.run.verdict._repr_html_() if self._judged else "")


def synthesize(
    data: AnyTables,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    targets: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    k: int | None = None,
    person: str | None = None,
    rows: int | None = None,
    generator: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    config: Any = None,
    judge: bool = True,
    seed: int | None = None,
    progress: Progress | bool = True,
) -> Synthesis:
    """Make a synthetic table: anonymize, learn, draw, attack, judge.

    What is not said is guessed, and every guess is named. Nothing is written, and nothing is released: that needs roles
    which a person has decided and signed, and the gate (:func:`hybrid.release`). A NotReleasableWarning says so
    whenever the verdict is no pass.

    Parameters
    ----------
    data : table, path, or mapping of str to tables
        A DataFrame of pandas or polars, an Arrow table, a relation of DuckDB or the path of a file, one record per row;
        linked tables by their names, or the path of their folder.
    quasi_identifiers : sequence of str
        Columns that others know about a person. They are generalized, beside those that are guessed; ``roles`` takes a
        guess back.
    sensitive : sequence of str
        Columns that an attacker wants to learn.
    targets : sequence of str
        Columns that users will predict.
    roles : mapping of str to str, optional
        Role of single columns: identifier, quasi_identifier, sensitive, insensitive, weight, or excluded. Of linked
        tables, columns are called TABLE.COLUMN, here as above.
    k : int, optional
        People who share every combination of labels, 2 or more; 5 by default.
    person : str, optional
        The column that says whose a row is, where people have several rows. k and attacks then count people.
    rows : int, optional
        Rows to draw, 1 or more; by default as many as training records, in tens.
    generator : str, optional
        ``cart`` by default; ``hybrid generators`` lists the others.
    hierarchies : mapping of str to object, optional
        Hierarchy of single columns: a file, the content of a YAML description, a table of labels, or a description of
        :mod:`hybrid.hierarchies`.
    settings : mapping of str to object, optional
        Values for any dotted key of a configuration, such as ``{"protect.min_count": 10}``.
    config : Draft, RunConfig, mapping, Path or str, optional
        A decided configuration in the place of guesses; of the arguments above only ``rows``, ``generator`` and
        ``settings`` then count.
    judge : bool
        Whether attacks are tried and the policy judges. False: the table is there at once, marked as not judged, and
        ``result.verdict`` judges it later.
    seed : int, optional
        Repeats every draw; by default a fresh one that cannot be guessed.
    progress : callable or bool
        True: a bar on a terminal or in a notebook. False: none. Or a function of one's own
        (:class:`hybrid.base.progress.Progress`).

    Returns
    -------
    Synthesis
        ``.table`` is of the kind that came in.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        An argument, the table or a hierarchy is wrong; all problems at once.
    InfeasibleError
        No generalization meets the privacy models.

    Examples
    --------
    >>> result = hybrid.synthesize(frame)  # doctest: +SKIP
    >>> result.table, result.verdict  # doctest: +SKIP
    """
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ConfigError("rows is no whole number of 1 or more", hint="rows=1000, or none for as many as came in")
    with shown(progress) as told:
        wished = {"synthesize.generator": generator, "synthesize.rows": rows}
        chosen = {key: value for key, value in wished.items() if value is not None} | dict(settings or {})
        if config is None:
            about = {"k": k, "person": person, "hierarchies": hierarchies, "settings": chosen}
            told("guess", 0)
            found = guessed(data, Wishes.of(quasi_identifiers, sensitive, targets, roles, **about))
        else:
            found = decided(config, data, chosen)
        result = _started(found, data, seed, told)
        result._tables()
        if judge:
            _ = result.verdict
    warn(result._status())
    return result


def decided(config: Any, data: AnyTables, settings: Mapping[str, Any]) -> Guessed:
    """A configuration that a caller gives, with its tables; errors as :func:`hybrid.jobs.start.configuration`."""
    from hybrid.jobs.start import configuration

    loaded = configuration(config, several_in_memory(data))
    return Guessed(config, loaded.with_values(settings) if settings else loaded, ())


def _started(found: Guessed, data: AnyTables, seed: int | None, progress: Progress) -> Synthesis:
    from hybrid.pipeline.pipeline import Pipeline

    run = Pipeline(found.config, seed, progress=progress, ledger_dir=Path("work"))
    run.refuse_spent()
    for table in run.tables.values():
        table.keeps_model = True
    run.check()
    return Synthesis(run, _givers(data, run), found.notes, found.draft)


def _givers(data: AnyTables, run: Pipeline) -> dict[str, Callable[[Table], Any]]:
    """Function for each table that makes it one of the kind that came in; files come back as pandas."""
    names = [*run.config.views, *run.config.public]
    given = data if isinstance(data, Mapping) else dict.fromkeys(names, data)
    return {name: like(given.get(name, Path())) for name in names}
