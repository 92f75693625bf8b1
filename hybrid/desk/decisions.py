"""Decision about a run: what people see before it, accept, publish, send back, sign, or change and run again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.errors import ApprovalNeeded, ConfigError, HybridError, Problem
from hybrid.base.regular_file import LARGEST, read_regular
from hybrid.desk.desk import Desk, command, form_fields, known_name, run_folder, segment
from hybrid.desk.editor import state_of
from hybrid.desk.under_way import start_run
from hybrid.jobs.release import read_candidate
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.draft import Draft
from hybrid.publication.actions import Action, yaml_value
from hybrid.publication.approvals import (
    SignedStatement,
    accepted,
    blocking_runs,
    send_back,
    since_last_release,
    statement_of,
)
from hybrid.publication.certificate import Acceptance
from hybrid.publication.difference import verdict_of
from hybrid.publication.draws import check_seal
from hybrid.publication.finished_run import DETAILS, REPORT, FinishedRun, read_run
from hybrid.publication.key import release_key, release_tag
from hybrid.publication.ledger import Ledger
from hybrid.publication.publish import publish, release_contents
from hybrid.publication.signing.keyring import signing_keys
from hybrid.publication.verdict import Check, Verdict
from hybrid.report.run.render import page_language, section_of
from hybrid.report.run.sections import content, rows

SEEN = content.SECTION.anchor, rows.ANCHOR
"""Sections of a report that the page of a run shows before the decision."""


def routes(desk: Desk) -> list[Route]:

    def seen(request: Request) -> FinishedRun:
        """The run of the address, which must be the very one that the page showed."""
        run = read_run(run_folder(desk, request))
        (shown,) = form_fields(request, "run")
        known_name([run.id], shown, "run")
        return run

    def decide(request: Request) -> Response:
        run = seen(request)
        verdict = verdict_of(run)
        if verdict.status == "review" or _stands(desk, run):
            (by,) = form_fields(request, "by")
            return _accept(desk, request, run, by, _reasons(request, verdict), None)
        published = read_candidate(run.folder, desk.places).publish()
        return desk.done(request, f"/releases/{published.name}", command("release", *_zones(desk, run, "--out")))

    def back(request: Request) -> Response:
        run = seen(request)
        by, reason = form_fields(request, "by", "reason")
        send_back(run.folder, desk.places.releases, desk.places.work, by, reason)
        said = command("send-back", *_arguments_by(desk, run, by, reason))
        return desk.done(request, _page(run), said)

    def state(request: Request) -> Response:
        run = seen(request)
        (by,) = form_fields(request, "by")
        reason = _reasons(request, verdict_of(run))
        desk.statements[run.id] = statement_of(run, by, reason, datetime.now(UTC))
        said = command("approve", run.folder, "--by", by, "--reason", reason, "--statement", _file(run))
        return desk.done(request, f"{_page(run)}/statement", said)

    def stated(request: Request) -> Response:
        run = read_run(run_folder(desk, request))
        if run.id not in desk.statements:
            return RedirectResponse(_page(run), 303)
        return desk.page(
            request,
            "statement.html",
            name=run.folder.name,
            run_id=run.id,
            statement=desk.statements[run.id],
            sign=f"ssh-keygen -Y sign -n hybrid-approval -f KEY {_file(run)}",
            command=command("approve", *_zones(desk, run), "--signed", _file(run)),
        )

    def statement_file(request: Request) -> Response:
        run = read_run(run_folder(desk, request))
        name = f'attachment; filename="{_file(run)}"'
        return Response(desk.statements.get(run.id, ""), media_type="application/json",
                        headers={"Content-Disposition": name})  # fmt: skip

    def signed(request: Request) -> Response:
        run = seen(request)
        (signature,) = form_fields(request, "signature")
        if run.id not in desk.statements:
            raise ConfigError("there is no statement to sign", hint="write it on the page of the run")
        given = SignedStatement(desk.statements[run.id], signature.replace("\r\n", "\n").strip() + "\n")
        return _accept(desk, request, run, "", "", given)

    def remedy(request: Request) -> Response:
        """Change the setting that a button names, and start a run with it."""
        run = seen(request)
        editor = desk.own_editor
        state, wanted = form_fields(request, "state", "remedy")
        config = editor.read().config
        offered = remedies(run, verdict_of(run), config).values()
        known = {one.line: one for each in offered for one in each}
        chosen = known[known_name(list(known), wanted, "action")]

        def action(draft: Draft) -> None:
            draft[chosen.key] = chosen.value

        editor.change(state, action)
        desk.clicks.note(
            "POST", request.url.path, command("edit", editor.path, f"{chosen.key}={yaml_value(chosen.value)}")
        )
        return start_run(desk, request)

    return [
        Route("/runs/{name}/decide", decide, methods=["POST"]),
        Route("/runs/{name}/remedy", remedy, methods=["POST"]),
        Route("/runs/{name}/back", back, methods=["POST"]),
        Route("/runs/{name}/statement", state, methods=["POST"]),
        Route("/runs/{name}/statement", stated),
        Route("/runs/{name}/statement.json", statement_file),
        Route("/runs/{name}/signed", signed, methods=["POST"]),
    ]


def decision(desk: Desk, run: FinishedRun, verdict: Verdict, language: str) -> dict[str, Any]:
    """Content of the screen of a run beside its verdict: what the table keeps, actions, files, approvals, reasons."""
    now, work = datetime.now(UTC), desk.places.work
    keys = signing_keys(work)
    stands = blocking_runs(run, work, now)
    asks = verdict.status == "review" or bool(stands)
    words = _arguments_by(desk, run, "NAME", "TEXT")
    actions, state = _actions(desk, run, verdict)
    return {
        "preview": preview(desk, run, language),
        "levels": other_levels(desk, run),
        "remedies": actions,
        "state": state,
        "contents": release_contents(run),
        "signer": keys[-1].keyid[:16] if keys else "",
        "given": _given(desk, run),
        "sent_back": since_last_release(run.data_set, work),
        "stands": stands,
        "is_out": _is_out(run, work),
        "asks": asks,
        "accept_command": command("approve", *words) if asks else command("release", *_zones(desk, run, "--out")),
        "back_command": command("send-back", *words),
        "statement_command": command("approve", *words, "--statement", _file(run)),
    }


def remedies(run: FinishedRun, verdict: Verdict, config: RunConfig) -> dict[str, list[Action]]:
    """Actions on the unmet checks of a run, by rule; none for a run of other data."""
    if config.name != run.data_set:
        return {}
    return {check.rule: remedies_of(check, config) for check in verdict.open_checks}


def remedies_of(check: Check, config: RunConfig) -> list[Action]:
    """Actions of a check that change the configuration as it is now, which people may have edited since the run.

    Only settings that protect people no less become buttons. What protects less, such as a smaller k, a person changes
    by hand.
    """
    return [one for one in check.actions if one.known and one.protects and _changes(config, one)]


def _changes(config: RunConfig, action: Action) -> bool:
    """True where a configuration differs once the action is taken, and is still one."""
    try:
        changed = config.with_values({action.key: action.value})
    except ConfigError:
        return False
    return changed.model_dump(mode="json") != config.model_dump(mode="json")


def _actions(desk: Desk, run: FinishedRun, verdict: Verdict) -> tuple[dict[str, list[Action]], str]:
    """Actions, and the state of the configuration they change; none where that is wrong at the moment."""
    if desk.editor is None:
        return {}, ""
    try:
        draft = desk.editor.read()
        return remedies(run, verdict, draft.config), state_of(draft)
    except HybridError:
        return {}, ""


def _reasons(request: Request, verdict: Verdict) -> str:
    """Reason of an approval: each unmet check with its own, where there are some."""
    form: dict[str, str] = request.state.form
    if verdict.status != "review" or not verdict.open_checks:
        return form_fields(request, "reason")[0]
    given = {at: form.get(f"reason-{at}", "").strip() for at, _ in enumerate(verdict.open_checks)}
    open_ = [one.rule for at, one in enumerate(verdict.open_checks) if form.get(f"tick-{at}") != "yes" or not given[at]]
    if open_:
        hint = "tick each and say why, or send the run back"
        raise ConfigError([Problem(f"{rule}: it is not accepted, or the reason is missing", hint) for rule in open_])
    return "; ".join(f"{check.rule}: {given[at]}" for at, check in enumerate(verdict.open_checks))


def preview(desk: Desk, run: FinishedRun, language: str) -> list[tuple[str, Markup]]:
    """Losses of the table, and ten rows of it, from the report of a run that this installation sealed.

    Each with the code of its language: the wanted one, if the report is written in it.
    """
    try:
        check_seal(run, desk.places.work)
        pages = [name for name in run.payload if Path(name).suffix == Path(REPORT).suffix and name != DETAILS]
        texts = [read_regular(run.folder / run.page(name, language), LARGEST).decode() for name in pages]
    except (HybridError, OSError, UnicodeDecodeError):
        return []
    sections = [(page_language(text), section_of(text, anchor)) for text in texts for anchor in SEEN]
    return [(code, part) for code, part in sections if part]


def other_levels(desk: Desk, run: FinishedRun) -> list[tuple[str, int, int]]:
    """Quasi-identifiers whose level is another one than the desk showed at the start: name, level then, level now."""
    started = desk.runner.started.get(run.folder.name)
    found = None if run.anonymization is None else run.anonymization.levels
    before = {} if started is None or found is None else started.plan.levels
    return [(name, level, found[name]) for name, level in before.items() if found and found.get(name, level) != level]


def _is_out(run: FinishedRun, work: Path) -> str:
    """Latest release of the run's source and method; empty without one."""
    entries = Ledger(work).entries(run.data_set)
    tag = release_tag(release_key(work), run.manifest) if entries else ""
    return next((entry.release for entry in reversed(entries) if entry.release_tag == tag), "")


def _given(desk: Desk, run: FinishedRun) -> tuple[Acceptance, ...]:
    """Approvals of a run that count."""
    return accepted(run, Ledger(desk.places.work), datetime.now(UTC))


def _stands(desk: Desk, run: FinishedRun) -> bool:
    return bool(blocking_runs(run, desk.places.work, datetime.now(UTC)))


def _accept(
    desk: Desk, request: Request, run: FinishedRun, by: str, reason: str, signed: SignedStatement | None
) -> Response:
    """Keep an approval, which stays also where others must follow, and publish."""
    said = command("approve", *(_zones(desk, run) if signed else _arguments_by(desk, run, by, reason)))
    desk.clicks.note("POST", request.url.path, f"{said} --signed {_file(run)}" if signed else said)
    zones = desk.places.releases, desk.places.work
    before = _given(desk, run)
    try:
        published = publish(run.folder, *zones, accept_review=True, by=by, reason=reason, signed=signed)
    except ApprovalNeeded:
        if len(_given(desk, run)) == len(before):
            raise ConfigError(
                "the same person approved this run already",
                hint=f"the policy wants {run.policy.approvals} different people: another one must decide",
            ) from None
        desk.statements.pop(run.id, None)
        return RedirectResponse(_page(run), 303)
    desk.statements.pop(run.id, None)
    return desk.done(request, f"/releases/{published.name}", "")


def _page(run: FinishedRun) -> str:
    return f"/runs/{segment(run.folder.name)}"


def _file(run: FinishedRun) -> str:
    return f"{run.id[:12]}.json"


def _arguments_by(desk: Desk, run: FinishedRun, by: str, reason: str) -> list[str | Path]:
    """Arguments of the commands that name a person and a reason."""
    folder, *zones = _zones(desk, run)
    return [folder, "--by", by, "--reason", reason, *zones]


def _zones(desk: Desk, run: FinishedRun, releases: str = "--releases") -> list[str | Path]:
    return [run.folder, releases, desk.places.releases, "--work", desk.places.work]
