"""Commands about releases and the decision on a run, about signing keys and policies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid

from hybrid.base.errors import ConfigError, VerificationError
from hybrid.cli import console
from hybrid.cli.arguments import AsJson, CommandGroup, Releases, Runs, Seed, Settings, Work, overrides

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

    from hybrid.jobs.finished_runs import Finished
    from hybrid.publication.privacy_account import SpentBudget
    from hybrid.publication.signing.keyring import SigningKey


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]


def difference(
    run: RunFolder, releases: Releases = Path("releases"), work: Work = Path("work"), as_json: AsJson = False
) -> None:
    """Show what changed since the last release of the data set.

    Policy, settings, columns, counts, and metrics that moved beyond their intervals.
    """
    from hybrid.publication.difference import difference_to_last
    from hybrid.publication.finished_run import read_whole_run

    found = difference_to_last(read_whole_run(run), releases, work)
    if as_json:
        console.print_json(None if found is None else found.to_json())
        return
    if found is None:
        console.line("note", "there is no earlier release of this data set to compare with")
        return
    source = "the same records" if found.same_source else "other records"
    of = {"name": found.release, "day": found.created[:10]}
    console.line("ok", f"compared with {{name}} of {{day:date}}, made from {source}", **of)
    grid = console.grid("changed", "", "before", "now")
    for title in ("policy", "settings", "roles", "counts"):
        for one in getattr(found, title):
            grid.add_row(console.said(title), one.what, one.before, one.now)
    for word, names in (("column added", found.added), ("column removed", found.removed)):
        for name in names:
            grid.add_row(console.said(word), name)
    for moved in found.moved:
        word = {True: "better", False: "worse", None: "moved"}[moved.better]
        grid.add_row(console.said(f"metric {word}"), f"{moved.metric} {moved.about}".strip(), moved.before, moved.now)
    if grid.row_count:
        console.out.print(grid)
    else:
        console.line("ok", "nothing changed in policy, settings, columns and counts, and no metric moved")
    console.line("note", "{n:number} metrics have an interval in both", n=found.compared)


def side_by_side(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of 2 to 8 finished runs.")],
    as_json: AsJson = False,
) -> None:
    """Show runs in columns: verdicts, settings that differ, metrics."""
    from hybrid.publication.difference import side_by_side as compared
    from hybrid.publication.finished_run import read_run

    found = compared([read_run(run) for run in runs])
    if as_json:
        console.print_json(found.to_json())
        return
    grid = Grid("", *found.runs)
    grid.add_row(console.said("verdict"), *map(console.said, found.verdicts))
    for row in (*found.risks, *found.settings, *found.metrics):
        what = f"{console.said(row.what)} ({console.said('apart')})" if row.apart else console.said(row.what)
        grid.add_row(what, *(console.figure(console.said(value)) for value in row.values))
    console.out.print(grid)


def send_back(
    run: RunFolder,
    by: Annotated[str, typer.Option("--by", help="Who sends it back.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; the next person reads it, readers do not.")],
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
) -> None:
    """Send a run back instead of approving it.

    This blocks publication of this data, method and policy, until whoever sent it back approves.
    """
    from hybrid.publication.approvals import send_back as give_back

    given = give_back(run, releases, work, by, reason)
    console.line("ok", given.words, "change the method or the data, and run again")


KeySource = Annotated[
    str | None,
    typer.Option("--from", metavar="PLACE", help="An existing key: file:PATH, env:NAME or hsm:ID?label=TOKEN."),
]
keys_app = typer.Typer(no_args_is_help=True, help="Keys that sign releases: make, show the public half, rotate.")


def keys_make(source: KeySource = None, work: Work = Path("work")) -> None:
    """Make the signing key of this installation, or name an existing one.

    Without --from: an Ed25519 key in the private zone. The first release makes one, too.
    """
    from hybrid.publication.signing.keyring import make_key

    _announce_key(make_key(work, source))


def keys_rotate(source: KeySource = None, work: Work = Path("work")) -> None:
    """Sign later releases by a new key.

    The earlier public keys stay known; an earlier private key that this program made is removed.
    """
    from hybrid.publication.signing.keyring import rotate_key

    _announce_key(rotate_key(work, source))


def keys_show(
    every: Annotated[bool, typer.Option("--all", help="Earlier keys, too.")] = False,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Print the public key (PEM), to give to the readers of releases."""
    from hybrid.publication.signing.keyring import public_pem, signing_keys

    keys = signing_keys(work)
    if not keys:
        raise ConfigError(f"{work}: there is no signing key yet", hint="hybrid keys make")
    chosen = keys if every else keys[-1:]
    if as_json:
        console.print_json([_about_key(key) | {"public": public_pem(key.public)} for key in chosen])
    else:
        typer.echo("".join(public_pem(key.public) for key in chosen), nl=False)


def _announce_key(key: SigningKey) -> None:
    about = {"key": key.keyid, "scheme": key.public.scheme, "place": key.source}
    console.line("ok", "releases are signed by key {key} ({scheme}, {place})", **about)
    console.line("note", "give its public half to the readers of your releases: hybrid keys show > publisher.pem")


def _about_key(key: SigningKey) -> dict[str, str | None]:
    scheme = str(key.public.scheme)
    return {"keyid": key.keyid, "scheme": scheme, "source": key.source, "made": key.made, "retired": key.retired}


policies_app = typer.Typer(help="Packaged policies: name, version, owner, what each is for.")


def policies(context: typer.Context) -> None:
    """List the packaged policies: name, version, owner, what each is for."""
    if context.invoked_subcommand is not None:
        return
    from hybrid.publication.policy import load_policy, packaged_policies

    for name, path in packaged_policies().items():
        policy = load_policy(path)
        about = {"name": name, "version": policy.version, "owner": policy.owner}
        console.line("ok", "{name}  version {version}, owner: {owner:own}", **about)
        console.show(f"        {policy.description}")
    console.show(
        "\nuse one by its name (policy: hospital), or write a file of your own that extends it (extends: hospital)"
    )


def policies_show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="One of the listed policies, or the path of a policy file.")
    ],
) -> None:
    """Print a policy with all of its rules, those of the policies that it extends included."""
    import yaml

    from hybrid.publication.policy import load_policy, packaged_policy, read_policy

    path = packaged_policy(name) or Path(name)
    load_policy(path)
    text = yaml.safe_dump(dict(read_policy(path)), sort_keys=False, allow_unicode=True, width=120)
    typer.echo(text, nl=False)


def release(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG|RUN", help="A configuration (YAML), or the folder of a finished run.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of all releases.")] = Path("releases"),
    runs: Runs = Path("runs"),
    seed: Seed = None,
    set_: Settings = None,
    work: Work = Path("work"),
    accept_review: Annotated[
        bool, typer.Option("--accept-review", help="Publish although the policy asks for a review.")
    ] = False,
    by: Annotated[str, typer.Option("--by", help="Who accepts the review.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    anew: Annotated[
        bool, typer.Option("--anew", help="Draw once more although a run is finished; a further draw is counted.")
    ] = False,
) -> None:
    """Publish a configuration's finished run, or run it first.

    A run of the same data, configuration, policy and version in --runs is published as it is: nothing is drawn again.
    Exit code 3: refused; 4: a person must approve it first.
    """
    if accept_review and not (by and reason):
        raise ConfigError("--accept-review needs --by NAME and --reason TEXT", hint="say who accepts it, and why")
    with console.progress() as progress:
        from hybrid.jobs.places import Places
        from hybrid.jobs.release import candidate_of
        from hybrid.publication.certificate import Acceptance
        from hybrid.publication.difference import verdict_of
        from hybrid.publication.facts import promise_of_run
        from hybrid.publication.finished_run import read_run

        settings = overrides(set_)
        candidate, found = candidate_of(config, Places(work, runs, out), None, seed, settings, progress, anew=anew)
    if found is not None:
        _say_whether_drawn(found)
    judged = read_run(candidate.folder)
    before = verdict_of(judged) if config.is_dir() else None
    console.print_verdict(candidate.verdict, candidate.draw.words, promise_of_run(judged), judged.language, before)
    console.show("\nreport   {path}", path=candidate.folder / "report.html")
    published = candidate.publish(Acceptance(by, reason) if accept_review else None)
    console.show("release  {path}", path=published)


def _say_whether_drawn(found: Sequence[Finished]) -> None:
    from hybrid.jobs.finished_runs import only_finished_run

    finished = only_finished_run(found)
    if finished is not None:
        said = "{run} is of this very configuration, and nothing was drawn again"
        console.line("note", said, "--anew draws once more", run=finished.words)
        return
    waiting = [each for each in found if not each.is_out]
    if waiting:
        last = waiting[-1]
        said = "{run} is another one's: its {what:items} differs, so a new table was drawn"
        about = {"run": last.words, "what": " and ".join(last.other), "path": last.run.folder}
        console.line("note", said, "to publish that run: hybrid release {path}", **about)


def approve(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that waits for a decision.")],
    by: Annotated[str, typer.Option("--by", help="Who decides.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; the certificate shows it.")] = "",
    statement: Annotated[
        Path | None, typer.Option("--statement", metavar="FILE", help="Only write what the approver signs.")
    ] = None,
    signed: Annotated[
        Path | None,
        typer.Option("--signed", metavar="FILE", help="A statement; its signature lies beside it as FILE.sig."),
    ] = None,
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
) -> None:
    """Approve a run that needs review, and publish it.

    It is published once enough people have approved. Exit code 4: not yet.
    """
    from hybrid.publication.approvals import read_signed, since_last_release, write_statement
    from hybrid.publication.finished_run import read_run
    from hybrid.publication.publish import publish

    if statement is not None:
        write_statement(statement, run, by, reason, datetime.now(UTC))
        how = "ssh-keygen -Y sign -n hybrid-approval -f KEY FILE"
        console.line("ok", "{path}: to be signed", how, path=statement)
        return
    given = None if signed is None else read_signed(signed)
    for earlier in since_last_release(read_run(run).data_set, work):
        console.line("note", earlier.words)
    published = publish(run, releases, work, accept_review=True, by=by, reason=reason, signed=given)
    if given is None:
        console.line("ok", "accepted by {name}", name=by)
    else:
        console.line("ok", "accepted by the signer of {path}", path=signed)
    console.show("release  {path}", path=published)


def status(
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
    name: Annotated[str | None, typer.Option("--name", help="Only the data set (name of its config).")] = None,
    max_age: Annotated[
        float | None, typer.Option("--max-age", metavar="HOURS", min=0, help="Fail if the last release is older.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show releases, pending approvals and errors.

    Exit codes: 1 a release is damaged, the last one too old or missing, a folder not ours, latest turned elsewhere, or
    a night ended badly; 4 an approval is missing.
    """
    from hybrid.publication.status import releases_state

    state = releases_state(releases, work, name, datetime.now(UTC), max_age)
    if as_json:
        console.print_json(asdict(state))
    else:
        grid = console.grid("release", "data set", "verdict", "policy", "accepted by", "exposed")
        grid.columns[0].no_wrap = True
        for entry in state.releases:
            exposed = "-" if entry.exposure is None else console.figure(f"{entry.exposure.exposed_share:.2%}")
            names = ", ".join(acceptance.by for acceptance in entry.acceptances)
            verdict = console.said(entry.status)
            grid.add_row(entry.release, entry.data_set, verdict, entry.policy, names, exposed)
        console.out.print(grid)
        for budget in state.budgets:
            console.line("note", _SPENT, **_spent(budget))
        for event in state.events:
            outcome, message = console.said(event.outcome), console.said(event.message)
            at = f"{console.figure(event.at[:10])} {event.at[11:19]}"
            console.out.print(f"{at}  {event.data_set}  {f'{outcome} ':<11}{message}")
        for waits in state.waiting:
            console.line("waiting", waits.message, waits.hint)
        for problem in state.problems:
            console.line("error", problem.message, problem.hint)
        if state.releases:
            console.line("note", state.looked)
        if not state.problems and state.latest is not None:
            console.line("ok", "the last release is {name}", name=state.latest)
        if not (state.releases or state.events or state.problems or state.waiting):
            console.line("note", "{path}: nothing is released yet", "hybrid release CONFIG", path=releases)
    if state.problems or state.waiting:
        raise typer.Exit(1 if state.problems else 4)


_SPENT = (
    "privacy budget of {people} ({unit}): {n:number} draws in 365 days spent rho = {rho:form}, "
    "epsilon = {epsilon:form} at delta = {delta:form}; all {draws:number}: rho = {all_rho:form}, "
    "epsilon = {all_epsilon:form} at delta = {all_delta:form}"
)


def _spent(budget: SpentBudget) -> dict[str, str]:
    from hybrid.privacy.accounting import at_most

    return {
        "people": budget.people,
        "unit": console.said(budget.unit),
        "n": f"{budget.draws_of_the_year:,}",
        "rho": at_most(budget.rho_of_the_year, 4),
        "epsilon": at_most(budget.epsilon_of_the_year, 3),
        "delta": at_most(budget.delta_of_the_year, 2),
        "draws": f"{budget.draws:,}",
        "all_rho": at_most(budget.rho, 4),
        "all_epsilon": at_most(budget.epsilon, 3),
        "all_delta": at_most(budget.delta, 2),
    }


def retain(
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="How many of the newest stay.")],
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove all but the newest releases.

    The ledger gives their order. Never the latest, never what was changed or is not ours.
    """
    from hybrid.publication.own_release import shown
    from hybrid.publication.withdraw import Retention
    from hybrid.publication.withdraw import retain as remove

    def agreed(found: Retention) -> bool:
        happens = "would be removed" if dry_run else "are removed"
        names = ", ".join(found.removed)
        console.line("note", f"{{n:number}} releases {happens}: {{names}}", n=len(found.removed), names=names)
        if dry_run or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return not dry_run
        return typer.confirm(console.said("remove them?"), default=False, err=True)

    found = remove(releases, work, keep, agreed)
    for name in found.left:
        said = "{name} is not, or not as, this installation published it; it was left"
        console.line("note", said, "hybrid status", name=shown(name))
    counts = {"n": f"{len(found.removed):,}", "kept": f"{len(found.kept):,}"}
    console.line("ok", "{n:number} releases removed, {kept:number} kept", **counts)


def verify(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A published release.")],
    key: Annotated[
        list[Path] | None,
        typer.Option("--key", metavar="PUBLIC", help="The publisher's public key (PEM). Repeatable; any may fit."),
    ] = None,
) -> None:
    """Check a release against its certificate and signature, offline.

    Every file present, unchanged, and nothing added. With --key: signed by its publisher. Exit code 1 also if it was
    withdrawn.
    """
    from hybrid.publication.folder import read_mark
    from hybrid.publication.signing.keyring import read_public_keys
    from hybrid.publication.verify import verify as check

    keys = read_public_keys(key or [])
    problems = check(release, keys)
    if problems:
        raise VerificationError(problems)
    console.line("ok", "{path}: every file is as it was published", path=release)
    _print_signer(release, keys)
    mark = read_mark(release)
    if mark is not None:
        said = {entry: str(mark.get(entry, "?")) for entry in ("at", "by", "reason")}
        hint = "use the publisher's latest release"
        raise VerificationError(f"withdrawn on {said['at'][:10]} by {said['by']}: {said['reason']}", hint=hint)


def _print_signer(release: Path, keys: list[SSlibKey]) -> None:
    from hybrid.publication.signing.envelope import read_envelope, signers

    signed = read_envelope(release)
    if signed is None:
        console.line("note", "authorship was not checked: the release is unsigned")
        return
    made = signed.certificate["created"]
    about = {"name": signed.certificate["release"], "day": made[:10], "time": made[11:19]}
    if keys:
        names = ", ".join(signers(signed, keys).values())
        said = "signed by key {key}: release {name}, made on {day:date} at {time} UTC"
        console.line("ok", said, **about, key=names)
    else:
        hint = "hybrid verify DIR --key PUBLIC, with a public key that did not come with the release"
        names = ", ".join(signed.keyids)
        said = "authorship was not checked: release {name}, made on {day:date} at {time} UTC, names key {key}"
        console.line("note", said, hint, **about, key=names)


def dossier(
    place: Annotated[Path, typer.Argument(metavar="RELEASE|RUN", help="A published release, or a finished run.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write dossier.md and dossier.html there.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="CODE", help="Of the dossier: en or de. Default: the release's own."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put the facts of a release under the headings that a committee ticks.

    WP29, GDPR, EDPB, EHDS, ISO/IEC 27559, ICO, NIST. It states no legal conclusion.
    """
    from hybrid.base.atomic import write_text
    from hybrid.base.language import language_of, languages
    from hybrid.publication.dossier.dossier import dossier_of
    from hybrid.publication.dossier.render import html, markdown

    if out is not None and out.resolve().is_relative_to(place.resolve()):
        raise ConfigError(f"{out}: this is inside of {place}, whose files are fixed", hint="choose another --out")
    if language is not None and language not in languages():
        raise ConfigError(f"--language {language}: there is no such language", hint=f"one of: {', '.join(languages())}")
    found = dossier_of(place)
    chosen = language_of(language or found.language)
    if out is not None:
        for name, text in {"dossier.md": markdown(found, chosen), "dossier.html": html(found, chosen)}.items():
            write_text(out / name, text)
            console.line("ok", str(out / name))
    if as_json:
        console.print_json(found.to_json())
    elif out is None:
        typer.echo(markdown(found, chosen), nl=False)


def withdraw(
    release: Annotated[str, typer.Argument(metavar="ID", help="Name of the release's folder.")],
    by: Annotated[str, typer.Option("--by", help="Who withdraws it; readers see the name.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; readers see it.")],
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
) -> None:
    """Withdraw a release: marked, no longer the latest, still verifiable.

    Lists the copies that were delivered.
    """
    from hybrid.publication.withdraw import withdraw as take_back

    found = take_back(Path(release).name, releases, work, by, reason)
    given = found.withdrawal
    about = {"name": given.release, "day": given.at[:10], "by": given.by, "reason": given.reason}
    console.line("ok", "{name} is withdrawn since {day:date} by {by}: {reason}", **about)
    if found.latest is None:
        console.line("note", "there is no other release that could be the latest", "hybrid release CONFIG")
    else:
        console.line("ok", "the latest release is {name}", name=found.latest)
    for copy in found.deliveries:
        newer = "" if copy.newest == given.release else ", and {newest} later"
        console.line(
            "note",
            f"delivered to {{place}} on {{day:date}}{newer}",
            "tell who reads it there; hybrid deliver CONFIG replaces it",
            place=copy.target,
            day=copy.at[:10],
            newest=copy.newest,
        )


for _action in (keys_make, keys_show, keys_rotate):
    keys_app.command(name=_action.__name__.removeprefix("keys_"))(_action)
policies_app.callback(invoke_without_command=True)(policies)
policies_app.command(name="show")(policies_show)
GROUP = CommandGroup(
    "Releases",
    (release, approve, verify, dossier, status, withdraw, retain, difference, side_by_side, send_back),
    {"keys": keys_app, "policies": policies_app},
)
