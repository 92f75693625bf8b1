"""Commands of the pipeline or a part: run, sample, anonymize, audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid.cli import console
from hybrid.cli.arguments import (
    AsJson,
    CommandGroup,
    ConfigPath,
    Control,
    Names,
    Out,
    QuasiIdentifiers,
    Secrets,
    Seed,
    Settings,
    StorePath,
    Targets,
    Work,
    overrides,
)

if TYPE_CHECKING:
    from hybrid.anonymize.result import AnonymizationResult
    from hybrid.jobs.impute import Completed
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.publication.verdict import Verdict

REPORT = "report.html"


def run(
    config: ConfigPath,
    out: Out = None,
    seed: Seed = None,
    set_: Settings = None,
    store: StorePath = None,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Run the whole pipeline: anonymize, sample, restore, synthesize, evaluate, judge, report."""
    with console.progress() as progress:
        from hybrid.jobs.places import new_folder
        from hybrid.jobs.start import configuration
        from hybrid.jobs.start import run as run_pipeline

        loaded = configuration(config, overrides=overrides(set_))
        folder = out or new_folder(loaded.name)
        done = run_pipeline(loaded, out=folder, seed=seed, store=store, work=work, progress=progress)
    if as_json:
        draw = None if done.draw is None else done.draw.words
        console.print_json(_judged(done.verdict, folder) | {"draw": draw, "tables": _tables(done, folder)})
        return
    _show_verdict(done)
    console.out.print()
    _show_results(done, folder)


def sample(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run whose store keeps its model.")],
    where: Annotated[
        str | None, typer.Option("--where", help="What every row meets, such as \"ward = 'ICU'\".")
    ] = None,
    balance: Annotated[
        Names,
        typer.Option(
            "--balance",
            metavar="COLUMN[=VALUE:SHARE]",
            help="Each value of a column equally often, or one of them as often as said. Repeatable.",
        ),
    ] = None,
    impute: Annotated[
        Path | None,
        typer.Option("--impute", metavar="FILE", help="Rows of yours, whose empty cells are completed from the draw."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", min=1, help="Default: as many as real records meet it."),
    ] = None,
    out: Out = None,
    work: Work = Path("work"),
) -> None:
    """Draw rows under a condition, or with other shares of values, from the model of a run.

    They are a new run, which has an evaluation and a verdict of its own, and is counted as a draw.
    """
    with console.progress() as progress:
        from hybrid.jobs.impute import impute_run
        from hybrid.jobs.places import new_folder
        from hybrid.jobs.sample_run import sample_run

        folder = out or new_folder("sample", run.resolve().parent)
        about: dict[str, Any] = {"balance": _balance(balance or []), "rows": rows, "work": work, "progress": progress}
        if impute is None:
            pipeline, done, target = sample_run(run, where, out=folder, **about), None, folder
        else:
            pipeline, done, target = impute_run(run, impute, out=folder, where=where, **about)
    chosen, redrawn = pipeline.person.selection, pipeline.person.redrawn
    _show_verdict(pipeline)
    if chosen is not None and redrawn is not None:
        kept = "\nshares           kept are {share:text} of what the generator drew"
        met = "\ncondition        met by {share:text} of what the generator drew"
        console.show(met if chosen.shares is None else kept, share=chosen.rate(redrawn))
    _show_results(pipeline, folder)
    if impute is not None:
        _show_completed(done, target, folder)


def _show_completed(done: Completed | None, target: Path, folder: Path) -> None:
    from hybrid.jobs.impute import NOT_JUDGED

    if done is None:
        console.line("error", "nothing was completed: the policy blocks the draw that the cells would come from")
        raise typer.Exit(3)
    console.show("completed rows   {path}  ({words:text})", path=target, words=done.words)
    console.line("note", "they may leave once the draw is released", "hybrid release {path}", path=folder)
    console.line("note", NOT_JUDGED)


def _balance(given: list[str]) -> dict[str, Any] | None:
    """Section ``synthesize.balance`` of ``--balance`` arguments; None without any."""
    from hybrid.base.errors import ConfigError

    shares: dict[str, float] = {}
    columns = {text.partition("=")[0] for text in given}
    for text in given:
        value, separator, share = text.partition("=")[2].rpartition(":")
        if "=" not in text:
            continue
        try:
            shares[value] = float(share)
        except ValueError:
            separator = ""
        if not separator or not value:
            raise ConfigError(f"--balance {text}: COLUMN=VALUE:SHARE was expected", hint="--balance died=yes:0.5")
    if not given:
        return None
    if len(columns) > 1 or (shares and len(shares) < len(given)):
        raise ConfigError("--balance: shares are for values of one column", hint="--balance died=yes:0.3")
    return {"column": columns.pop()} | ({"shares": shares} if shares else {})


def _show_verdict(run: Pipeline) -> None:
    from hybrid.base.language import language_of
    from hybrid.jobs.run import promise_of

    language = language_of(run.config.publish.language)
    console.print_verdict(run.verdict, "" if run.draw is None else run.draw.words, promise_of(run), language)


def _show_results(run: Pipeline, folder: Path) -> None:
    for table in _tables(run, folder):
        said = f"{table['kind']} table  {{path}}  ({{n:number}} rows)"
        console.show(said, path=table["path"], n=f"{table['rows']:,}")
    console.show("report           {path}", path=folder / REPORT)


def _tables(run: Pipeline, folder: Path) -> list[dict[str, Any]]:
    """Kind, path and number of rows of each table of a run."""
    from hybrid.pipeline.facts import stated_tables

    return [
        {"kind": "public" if table.public else "synthetic", "path": str(folder / table.file), "rows": table.rows}
        for table in stated_tables(run)
    ]


def _judged(verdict: Verdict, folder: Path) -> dict[str, Any]:
    """Verdict and paths of a judged folder, for ``--json``."""
    return {"verdict": verdict.to_json(), "folder": str(folder), "report": str(folder / REPORT)}


def anonymize(config: ConfigPath, out: Out = None, set_: Settings = None, seed: Seed = None) -> None:
    """Run the first stage alone.

    A k-anonymous table of labels, and how it was reached. Files may be larger than memory; the rows of a warehouse may
    stay there.
    """
    from hybrid.base.ownership import check_replaceable
    from hybrid.jobs.anonymize_file import is_for_duckdb, write_from_files, write_in_warehouse
    from hybrid.jobs.places import labels_file, new_folder
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.placement import placed

    loaded = placed(load_config(config, overrides(set_)))
    folder = out or new_folder(f"{loaded.name}-anonymized")
    check_replaceable(folder)
    labels, person, done = str(folder / labels_file()), loaded, None
    with console.progress() as progress:
        in_warehouse = person.rows_stay and person.data_file is None
        if in_warehouse:
            done = write_in_warehouse(person, folder, progress)
            labels = console.said("{table} (a table of the warehouse)", table=done.labels)
        elif not loaded.is_linked and is_for_duckdb(person):
            done = write_from_files(person, folder, seed, progress)
        if done is not None:
            result = done.result
        else:  # The pipeline takes a quarter of a second to load, and rows outside memory need none of it.
            from hybrid.jobs.run import write_anonymized
            from hybrid.pipeline.pipeline import Pipeline

            result = write_anonymized(Pipeline(loaded, seed, progress=progress), folder)
    if loaded.is_linked:
        others = [name for name in loaded.views if name not in {loaded.links.person, *result.below}]
        console.line("note", "first the labels of the person table, {table}", table=loaded.links.person)
        if others:
            console.line("note", "no quasi-identifiers, so no labels: {tables:items}", tables=", ".join(others))
    if done is not None:
        place = "stayed there" if in_warehouse else "were not read into memory"
        console.line(
            "ok",
            f"{{engine}}: {{n:number}} rows {place}, {{combinations:number}} combinations",
            engine=done.engine,
            n=f"{result.records:,}",
            combinations=f"{done.combinations:,}",
        )
    if done is not None and in_warehouse:
        for transfer in done.transfers:
            console.show(f"        {transfer.words}")
    if not result.k_anonymous:
        console.line("note", "no k-anonymity: no step made groups that are equal in all quasi-identifiers")
    _show_labels(result)
    for name, one in result.below.items():
        console.line("note", "then those of {table}: a class has equal labels in the rows above, too", table=name)
        _show_labels(one)
    console.show("\nlabels  {place}", place=labels)
    for name in result.below:
        console.show("labels  {place}", place=folder / labels_file(name))


def _show_labels(result: AnonymizationResult) -> None:
    levels = "" if result.levels is None else "  ".join(f"{name} {level}" for name, level in result.levels.items())
    console.line(
        "ok",
        "{n:number} records, {classes:number} classes, smallest {least:number} {unit}",
        n=f"{result.records:,}",
        classes=f"{result.classes:,}",
        least=f"{result.smallest:,}",
        unit=console.said(result.unit),
    )
    console.line(
        "ok",
        "suppressed {n:number}   loss {loss:form}   {levels}",
        n=f"{result.suppressed:,}",
        loss=f"{result.loss['value']:.4f}",
        levels=levels,
    )


def audit(
    train: Annotated[
        Path, typer.Option("--train", help="Records the generator learned from: a file, or a folder of linked tables.")
    ],
    synthetic: Annotated[Path, typer.Option("--synthetic", help="Records it made.")],
    control: Control = None,
    target: Targets = None,
    secret: Secrets = None,
    quasi_identifier: QuasiIdentifiers = None,
    config: Annotated[Path | None, typer.Option("--config", help="Roles, metrics and policy (YAML).")] = None,
    trust: Annotated[
        Path | None, typer.Option("--trust", metavar="LEAGUE", help="Say how far each metric can be trusted.")
    ] = None,
    out: Out = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate any synthetic table, ours or not: privacy, utility, fidelity.

    CSV or Parquet, with the same columns in any order. Linked tables: folders of them, and --config.
    """
    with console.progress() as progress:
        from hybrid.base.language import language_of
        from hybrid.base.ownership import check_replaceable
        from hybrid.evaluation.trust import load_trust
        from hybrid.jobs.audit import audit_config, judge_tables, read_audit
        from hybrid.jobs.places import new_folder

        league = None if trust is None else load_trust(trust)
        folder = out or new_folder("audit")
        check_replaceable(folder)
        roles = target or (), secret or (), quasi_identifier or ()
        loaded = audit_config(config, train, *roles, beside=(control, synthetic))
        audited = read_audit(train, control, synthetic, loaded)
        judged = judge_tables(audited, loaded, seed, progress, league)
        judged.save(folder)
    notes, verdict = judged.notes, judged.verdict
    if as_json:
        console.print_json(_judged(verdict, folder) | {"notes": notes})
        return
    for note in notes:
        console.line("note", note)
    console.print_verdict(verdict, language=language_of(loaded.publish.language))
    if league is not None:
        said = "the report has the verdicts of the laboratory {name} beside the numbers"
        console.line("note", said, name=league.name)
    console.show("\nreport  {path}", path=folder / REPORT)


def audit_dp(
    config: ConfigPath,
    set_: Settings = None,
    canaries: Annotated[int, typer.Option("--canaries", metavar="N", help="Most canaries of the one run.")] = 500,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Runs on each table of a game.")] = 200,
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Plays on each part of the account.")] = 100_000,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="C", help="Of all lower bounds together.")
    ] = 0.95,
    out: Out = None,
    seed: Seed = None,
) -> None:
    """Attack a configuration to test its claimed privacy budget.

    Attacks on the whole pipeline, on tables of canaries.
    """
    from hybrid.base.ownership import check_replaceable
    from hybrid.base.rng import fresh_seed
    from hybrid.jobs.places import new_folder
    from hybrid.lab.audit_dp import RESULT, audit_privacy, write_privacy_audit
    from hybrid.pipeline.config import load_config, refuse_linked

    folder = out or new_folder("audit-dp")
    check_replaceable(folder)
    loaded, chosen = load_config(config, overrides(set_)), fresh_seed() if seed is None else seed
    refuse_linked(loaded, str(config))
    with console.progress() as progress:
        found = audit_privacy(
            loaded, canaries=canaries, runs=runs, draws=draws, confidence=confidence, seed=chosen, progress=progress
        )
    write_privacy_audit(found, folder)
    for attack in found.attacks:
        console.line(
            "error" if attack.refutes else "ok",
            "{attack}: {quantity} is at least {lower:form}; stated {quantity} {stated:form} at delta {delta:form} "
            "({detail})",
            attack=console.said(attack.name),
            quantity=attack.quantity,
            lower=f"{attack.lower:.4g}",
            stated=f"{attack.stated:.4g}",
            delta=f"{attack.delta:g}",
            detail=console.said(attack.detail),
        )
    console.show("\nresult  {path}", path=folder / RESULT)
    if found.refuted:
        console.show("REFUTED: the pipeline is not as private as the configuration states; release nothing of it")
        raise typer.Exit(1)


GROUP = CommandGroup("Run", (run, sample, anonymize, audit, audit_dp))
