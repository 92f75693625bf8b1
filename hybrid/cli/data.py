"""Commands about data and configuration: demo, init, check, trade-off, tune, mock, hierarchy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid.cli import console
from hybrid.cli.arguments import AsJson, CommandGroup, ConfigPath, Out, Seed, Settings, StorePath, Work, overrides

if TYPE_CHECKING:
    import pandas as pd

    from hybrid.anonymize.search.tradeoff import TradeoffPoint
    from hybrid.base.errors import Finding
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.draft_column import DraftColumn
    from hybrid.pipeline.starter import GuessedConfig, GuessedLinks
    from hybrid.store import Store
    from hybrid.table import Column, Table


Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Trials at a time on this machine.")]
Write = Annotated[
    bool | None, typer.Option("--write/--no-write", help="Write the choice into CONFIG. Default: ask on a terminal.")
]


def tune(
    config: ConfigPath,
    write: Write = None,
    seed: Seed = None,
    out: Out = None,
    jobs: Jobs = 1,
    work: Work = Path("work"),
) -> None:
    """Choose settings by use and by attack, on the training people alone.

    The most useful setting that is expected to pass the policy goes into CONFIG, with the reason as a comment.
    """
    if tune_file(config, write, seed=seed, out=out, jobs=jobs, work=work):
        _next(config)


def tune_file(config: Path, write: bool | None, *, seed: int | None, out: Path | None, jobs: int, work: Path) -> bool:
    """True if the file has the choice now."""
    with console.progress() as progress:
        from hybrid.base.atomic import write_text
        from hybrid.jobs.start import configuration
        from hybrid.pipeline.draft import Draft
        from hybrid.tuning import tune as tuned
        from hybrid.tuning.page import HEAD, PAGE, key, legend, row, sentences

        loaded = configuration(config)
        folder = out or work / "tune" / loaded.name
        found = tuned(loaded, out=folder, seed=seed, work=work, jobs=jobs, progress=progress)
    grid = console.grid(*HEAD)
    for one in found.rounds[-1]:
        grid.add_row(*map(console.said, row(one)))
    console.out.print(grid)
    for words in [*legend(found), key(found)]:
        console.show(words)
    for sentence in sentences(found):
        console.line("note", sentence)
    console.show("\n{n:number} CPU seconds", n=f"{found.cpu_seconds:,.0f}")
    console.show("picture  {path}", path=folder / PAGE)
    draft = Draft.read(config)
    found.apply(draft)
    if not draft.difference:
        console.line("ok", "{path}: nothing to change", path=config)
        return True
    console.out.print(draft.difference)
    if write is None:
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        write = asks and typer.confirm(console.said("write this?"), default=True, err=True)
    if write:
        write_text(config, draft.text)
        console.line("ok", "{path}: written", path=config)
    else:
        console.line("note", "{path}: left as it is, so a run does not use the choice", path=config)
        console.show("\nnext: hybrid tune {path} --write   # nothing is tried again", path=config)
    return write


def _next(config: Path) -> None:
    console.show("\nnext: hybrid check {path}", path=config)
    console.show("      hybrid run {path}", path=config)


ColumnName = Annotated[str, typer.Argument(metavar="COLUMN", help="A column with a hierarchy.")]
_LOOK = (
    "look at: the roles in config.yaml; the verdict that the run prints, and report.html in its folder; "
    "hybrid desk shows both on a page, hybrid tour walks through all steps"
)
hierarchy_app = typer.Typer(no_args_is_help=True, help="Show, check, make and edit the coarser levels of a column.")


def hierarchy_show(config: ConfigPath, column: ColumnName) -> None:
    """Show what each level of a column's hierarchy makes of the data."""
    from hybrid.hierarchy.doctor import summarize
    from hybrid.hierarchy.load import load_hierarchy
    from hybrid.pipeline.draft import Draft

    found, table = _column(Draft.read(config), column)
    path, described, values = _hierarchy(config, column)
    grid = console.grid("level", "labels", "mean share", "people of the rarest", "median", "alone", "such as")
    for level in summarize(load_hierarchy(path, described, values), table, found.path[-1]):
        share = console.figure(f"{level.share:.4f}")
        numbers = (level.level, level.labels, share, level.smallest, level.median, level.alone)
        examples = ", ".join(level.examples) if level.level and console.shows_values() else ""
        grid.add_row(*map(str, numbers), examples)
    console.out.print(grid)


def hierarchy_check(config: ConfigPath, column: ColumnName) -> None:
    """List every error and every useless level of a column's hierarchy."""
    from hybrid.hierarchy.doctor import examine

    path, described, values = _hierarchy(config, column)
    _report(examine(path, described, values))


def hierarchy_make(config: ConfigPath) -> None:
    """Make a hierarchy to start from, as init does, for each quasi-identifier that has none."""
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.hierarchy_draft import FOLDER, starter_file
    from hybrid.pipeline.sources import all_columns
    from hybrid.table import Role

    draft = Draft.read(config)
    lacking = [one for one in draft.columns.values() if one.role == Role.QUASI_IDENTIFIER and one.hierarchy is None]
    for one in lacking:
        one.hierarchy = f"{FOLDER}/{one.path[-1]}"  # so that the configuration can be read
    loaded = draft.config
    tables = {name: all_columns(loaded, name) for name in {one.table for one in lacking}}
    for one in lacking:
        made = starter_file(one, tables[one.table])
        one.hierarchy = made.relative
        made.write()
        said = "{path}: written for {column}; hybrid hierarchy show prints what it does"
        console.line("ok", said, path=made.path, column=one.name)
    draft.write(config, force=True)
    if not lacking:
        console.line("ok", "{path}: every quasi-identifier has a hierarchy", path=config)


def hierarchy_extend(
    config: ConfigPath,
    column: ColumnName,
    values: Annotated[list[str] | None, typer.Option("--value", help="A value to add; default: all missing.")] = None,
    like: Annotated[str | None, typer.Option("--like", help="Copy the labels of this value of the file.")] = None,
) -> None:
    """Add values to a column's CSV hierarchy.

    Those the data has and the file lacks, or the given ones.
    """
    from hybrid.base.ownership import own_path
    from hybrid.hierarchy.doctor import extend, uncovered

    path, described, data = _hierarchy(config, column)
    own_path(config.absolute().parent, path.absolute())
    added = extend(path, described, values or uncovered(path, described, data), like)
    said = "{path}: {n:number} values added; put them into the right groups"
    console.line("ok", said, path=path, n=f"{added:,}")


def hierarchy_set(
    config: ConfigPath,
    column: ColumnName,
    options: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Such as type=intervals widths=[5,10].")],
) -> None:
    """Describe a column's hierarchy anew: intervals, quantiles, dates, masks.

    Nothing is written if it does not fit the data. Quantiles are written as intervals with edges.
    """
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.hierarchy_draft import checked_file, description

    draft = Draft.read(config)
    found, table = _column(draft, column)
    hierarchy = checked_file(found, table, description(found, table, overrides(options)), ".yaml")
    if found.hierarchy != hierarchy.relative:
        found.hierarchy = hierarchy.relative
    hierarchy.write()
    draft.write(config, force=True)
    said = "{path}: written; hybrid hierarchy show prints what it does"
    console.line("ok", said, path=hierarchy.path)


def _hierarchy(config: Path, column: str) -> tuple[Path, Column, pd.Series]:
    from hybrid.pipeline.draft import Draft

    draft = Draft.read(config)
    found, table = _column(draft, column)
    own = found.path[-1]
    return draft.folder / str(found.hierarchy), table.schema[own], table.frame[own]


def _column(draft: Draft, name: str) -> tuple[DraftColumn, Table]:
    from hybrid.base.errors import ConfigError
    from hybrid.pipeline.sources import all_columns

    config = draft.config
    having = {one: column for one, column in draft.columns.items() if column.hierarchy is not None}
    if name not in having:
        hint = f"columns with one: {', '.join(having) or 'none'}"
        raise ConfigError(f"{draft.path}: the column {name!r} has no hierarchy", hint=hint)
    return having[name], all_columns(config, having[name].table)


def _report(findings: list[Finding]) -> None:
    """Print findings; exit code 2 if there is an error among them."""
    for finding in findings:
        console.line(finding.level, finding.message, finding.hint)
        if finding.values and console.shows_values():
            console.out.print(f"        {console.said('values:')} {finding.values}")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(2)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for data, hierarchies and config.")],
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Number of admissions.")] = 30_000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="The same seed, the same files.")] = 20240501,
    format: Annotated[Literal["csv", "parquet"], typer.Option("--format", help="Of the data file.")] = "csv",
    several: Annotated[
        bool, typer.Option("--several/--single", help="Several admissions per patient, or one each.")
    ] = True,
    linked: Annotated[
        bool, typer.Option("--linked", help="Patients, admissions, prescriptions and hospitals in a table each.")
    ] = False,
) -> None:
    """Write simulated hospital admissions with hierarchies and a config.

    To try everything on.
    """
    from hybrid.demo import write_demo, write_linked_demo

    if linked:
        if not several:
            raise typer.BadParameter("--linked has several admissions per patient", param_hint="--single")
        counts = write_linked_demo(folder, rows, seed, format)
        written = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        console.line("ok", "{tables}, simulated, in {folder}", tables=written, folder=folder)
        _next(folder / "config.yaml")
        console.show(_LOOK)
        return
    config = write_demo(folder, rows, seed, format, several=several)
    console.line("ok", "{n:number} simulated admissions in {folder}", n=f"{rows:,}", folder=folder)
    _next(config)
    console.show(_LOOK)


def init(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A data file, or a folder of linked tables."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="CONFIG", help="Default: config.yaml beside it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    url_env: Annotated[
        str | None,
        typer.Option("--url-env", metavar="NAME", help="Linked tables of a database: the variable with its URL."),
    ] = None,
    schema: Annotated[str | None, typer.Option("--schema", help="Of the database; default: its own default.")] = None,
    tables: Annotated[
        list[str] | None, typer.Option("--table", metavar="TABLE", help="Only these linked tables; default: all.")
    ] = None,
    sheet: Annotated[str | None, typer.Option("--sheet", help="Of a workbook; default: its first.")] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose the settings at once, as hybrid tune does.")] = False,
    work: Work = Path("work"),
) -> None:
    """Create a first configuration from a table or linked tables. You review every guess.

    Every guess is marked for review.
    """
    from hybrid.pipeline.json_schema import refer_to_schema
    from hybrid.pipeline.starter import guess_config, guess_links, read_database, read_folder

    if (data is None) == (url_env is None):
        raise typer.BadParameter("give a file, a folder, or --url-env, and one of them", param_hint="DATA")
    if data is None:
        guessed: GuessedConfig | GuessedLinks = guess_links(read_database(url_env or "", schema, tables or ()))
    else:
        guessed = guess_links(read_folder(data, tables or ())) if data.is_dir() else guess_config(data, sheet)
    folder = Path() if data is None else data if data.is_dir() else data.parent
    target = out or folder / "config.yaml"
    guessed.write(target, force=force)
    schema_file = refer_to_schema(target)
    for note in guessed.notes:
        console.line("note", note)
    if tune:
        tune_file(target, write=True, seed=None, out=None, jobs=1, work=work)
    console.line("ok", "{path}: read it, and decide every line marked 'review'", path=target)
    console.line("ok", "{path}: editors complete and check the keys by it", path=schema_file)
    console.show("\nnext: hybrid check {path}", path=target)


def check(
    config: ConfigPath,
    set_: Settings = None,
    show: Annotated[bool, typer.Option("--show", help="Print the config with every default.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that can be checked without running.

    List all problems at once, and what becomes of each column.
    """
    from hybrid.pipeline.check import diagnose
    from hybrid.pipeline.config import load_config

    if as_json:
        _print_findings(config, set_, store)
        return
    loaded = load_config(config, overrides(set_))
    if show:
        console.out.print(loaded.to_yaml())
    else:
        _report(diagnose(loaded, _opened(store)))


def _print_findings(config: Path, set_: list[str] | None, store: str | None) -> None:
    """Print findings as JSON, those that end the check among them; exit code 2 if there is an error."""
    from hybrid.base.errors import Finding, HybridError
    from hybrid.pipeline.check import diagnose
    from hybrid.pipeline.config import load_config

    try:
        findings, code = diagnose(load_config(config, overrides(set_)), _opened(store)), 0
    except HybridError as error:
        findings, code = [Finding.error(problem) for problem in error.problems], int(error.exit_code)
    said = [{"level": one.level, "message": one.message, "hint": one.hint} for one in findings]
    wrong = any(one.level == "error" for one in findings)
    console.print_json({"config": str(config), "verdict": "error" if wrong else "ok", "findings": said})
    if wrong:
        raise typer.Exit(code or 2)


def trade_off(
    config: ConfigPath,
    k: Annotated[list[int] | None, typer.Option("--k", min=1, help="Class size to compare. Repeatable.")] = None,
    limit: Annotated[
        list[float] | None, typer.Option("--limit", min=0, max=1, help="Suppression limit to compare. Repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the points as JSON.")] = None,
    set_: Settings = None,
    store: StorePath = None,
) -> None:
    """Show what k, the suppression limit and each rule cost every column.

    The least loss at each pair, by the exact search.
    """
    from hybrid.base.atomic import write_json
    from hybrid.jobs.trade_off import KS, LIMITS, trade_off_of
    from hybrid.pipeline.config import load_config

    with console.progress() as progress:
        loaded = load_config(config, overrides(set_))
        found = trade_off_of(loaded, k or KS, limit or LIMITS, progress, _opened(store))
    if out is not None:
        write_json(out, found.to_json(), private=True)
    names, figure = list(found.words.of), console.figure

    def at(point: TradeoffPoint, name: str) -> str:
        return console.said(found.words.at(point, name))

    heads = "k", "suppression limit", found.loss, "suppressed", "classes", "levels"
    grid = console.grid(*heads)
    for point in found.points:
        here = (
            f" ({console.said('configured')})" if (point.k, point.suppression_limit) == (found.k, found.limit) else ""
        )
        levels = "" if point.levels is None else "; ".join(f"{name}: {at(point, name)}" for name in names)
        loss = console.said("not possible") if point.loss is None else figure(f"{point.loss:.4f}")
        share = "-" if point.suppressed is None else figure(f"{point.suppressed / found.records:.2%}")
        classes = "-" if point.classes is None else figure(f"{point.classes:,}")
        grid.add_row(f"{point.k}{here}", figure(f"{point.suppression_limit:.1%}"), loss, share, classes, levels)
    console.out.print(grid)
    for said in found.prices:
        console.line("note", ". ".join(map(console.said, said)))


def mock(
    config: ConfigPath,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Rows; of linked tables, persons.")] = 100,
    out: Out = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="Read the records, for noisy counts of each column: 0.1."),
    ] = None,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="Of these counts.")] = 1e-6,
    draft: Annotated[
        bool, typer.Option("--draft", help="Propose the section mock in CONFIG, for you to decide.")
    ] = False,
    seed: Seed = None,
    set_: Settings = None,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Make a table for writing and testing code, without the records.

    Names, kinds and formats of the columns are right, values are made up. Nothing in it can be analysed.
    """
    from hybrid.jobs.mock import mock as make
    from hybrid.jobs.mock import write_mock
    from hybrid.jobs.places import new_folder
    from hybrid.pipeline.config import load_config

    if draft:
        _draft_mock(config)
        return
    loaded = load_config(config, overrides(set_))
    folder = out or new_folder(f"{loaded.name}-mock")
    found = make(loaded, rows=rows, seed=seed, epsilon=epsilon, delta=delta, work=work)
    paths = write_mock(found, folder)
    if as_json:
        console.print_json(found.to_json() | {"folder": str(folder), "files": [str(path) for path in paths.values()]})
        return
    for name, path in paths.items():
        table = found.made.tables[name].table if name in found.made.tables else found.made.public[name]
        console.show("mock table  {path}  ({n:number} rows)", path=path, n=f"{len(table):,}")
    console.line("note", found.mark)
    console.show("\nit discloses:")
    for sentence in found.discloses:
        console.out.print(f"  - {console.said(sentence)}")
    console.line("note" if found.reasons else "ok", found.decision)


def _draft_mock(config: Path) -> None:
    from hybrid.jobs.mock_draft import draft_mock

    written = draft_mock(config)
    for name in written:
        said = "{key}: proposed from the records; read it, and change what is not public"
        console.line("ok", said, key=f"mock.columns.{name}")
    console.line(
        "note", "{path}: the section mock is your decision", "hybrid mock makes the table from it", path=config
    )


def _opened(place: str | None) -> Store | None:
    from hybrid.store import StorePlace

    return None if place is None else StorePlace(place).open()


for _action in (hierarchy_show, hierarchy_check, hierarchy_make, hierarchy_set, hierarchy_extend):
    hierarchy_app.command(name=_action.__name__.removeprefix("hierarchy_"))(_action)
GROUP = CommandGroup("Data", (demo, init, check, tune, trade_off, mock), {"hierarchy": hierarchy_app})
