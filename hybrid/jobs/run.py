"""Folder of a run, written as a whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.anonymize.result import AnonymizationResult, json_with_left_out
from hybrid.base.arrays import Rows
from hybrid.base.atomic import make_private, write_json, write_text
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST, build_manifest
from hybrid.base.os_account import account
from hybrid.base.ownership import check_replaceable
from hybrid.base.sentence import stated
from hybrid.jobs.places import labels_file, staged
from hybrid.jobs.report_inputs import keep_source_statistics, report_pages
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.config import SINGLE
from hybrid.pipeline.facts import file_of, joint_facts, joint_protection, stated_tables
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.released_rows import write_released
from hybrid.pipeline.stages import libraries
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.approvals import RAN_BY
from hybrid.publication.composition import Membership, membership
from hybrid.publication.draws import count_draw, sealed
from hybrid.publication.facts import write_facts
from hybrid.publication.finished_run import (
    ANONYMIZATION,
    EVALUATION,
    POLICY,
    PROTECTION,
    FinishedRun,
    joint_sha256,
    read_run,
    refuse_known_leak,
)
from hybrid.publication.first_page import promise
from hybrid.publication.key import record_secret, release_key
from hybrid.publication.lamps import lamps
from hybrid.publication.ledger import Ledger, LedgerEntry
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.power import accepted_sentences, not_tried
from hybrid.publication.rare_values import RareValues
from hybrid.publication.verdict import folded
from hybrid.store import Store, StorePlace, keep_private
from hybrid.table import Table
from hybrid.table.arrow import content_order, to_arrow
from hybrid.table.cells import least_cell
from hybrid.table.file_formats import OFFICE_SUFFIXES
from hybrid.table.write import layout_of, write_table

ORIGINS = "origins"
"""Folder of notes on kept models in the private zone, one for each run."""
KEPT_DAYS = 30
"""Longest time between a run and a further draw from its model."""


@dataclass(frozen=True)
class KeptOrigin:
    """Note of a run for further draws from its model: where paths start, the store, and the seed of the split."""

    folder: str
    """Base folder of relative paths of its configuration."""
    store: str
    """Folder or address of the store that keeps its model."""
    encrypted: bool
    split_seed: int
    """Seed of the split into training and control records."""

    def open_store(self) -> Store:
        """The store, with the key of the environment if it is encrypted."""
        return StorePlace(self.store).open() if self.encrypted else Store(Path(self.store))


def keep_origin(private_dir: Path, run_id: str, run: Pipeline) -> None:
    """Keep the note of a run (mode 0600), if its store keeps the model."""
    pipeline = run.person
    store = pipeline.store
    if store.place is None or pipeline.is_unsynthesized:
        return
    folder = str(pipeline.config.folder.resolve())
    kept = KeptOrigin(folder, store.place, store.cipher is not None, pipeline.split_seed)
    keep_private(_note(private_dir, run_id), json.dumps(asdict(kept)).encode(), KEPT_DAYS)


def read_origin(private_dir: Path, run_id: str) -> KeptOrigin:
    """Read the note of a run."""
    try:
        return KeptOrigin(**json.loads(_note(private_dir, run_id).read_bytes()))
    except (OSError, ValueError, TypeError):
        raise ConfigError(
            f"{private_dir}: no model of this run is kept in this private zone",
            hint=f"a run keeps its model for {KEPT_DAYS} days if it has a store and a generator: "
            f"hybrid run CONFIG --store {private_dir}/store, or hybrid release CONFIG",
        ) from None


def _note(private_dir: Path, run_id: str) -> Path:
    return private_dir / ORIGINS / f"{run_id}.json"


def write_draw(run: Pipeline, folder: Path, private_dir: Path) -> None:
    """Write a run's folder and count its draw; what the gate and later nights need goes to the private zone.

    An earlier run in the folder is replaced as a whole; its draw stays counted. The private zone gets the count of the
    draw in its ledger, the membership in equivalence classes, and the statistics of the sources. After an error of any
    stage there is no folder.
    """
    write_run(run, folder, Ledger(private_dir).entries(run.config.name), private_dir)
    run_id = read_run(folder).id
    keep_origin(private_dir, run_id, run)
    person = run.person
    if person.anonymized is not None and person.inputs.whole is None:
        found = membership_of(person, record_secret(release_key(private_dir)))
        keep_membership(private_dir, run_id, found)
    keep_source_statistics(run, private_dir)


def membership_of(person: TableRun, secret: bytes) -> Membership:
    """Equivalence class of each training record, by keyed hashes that only the secret can repeat."""
    before = person.anonymization
    if before is None:
        raise ConfigError("without anonymization there are no equivalence classes", hint="add an anonymize section")
    train, learned = person.inputs.split(person.split_seed).train, person.labelled
    if before.drawn is not None:
        kept = before.drawn.kept
        train, learned = train.take(kept), learned.take(kept)
    return membership(train, learned, before.anonymized, secret, person.config.record_key)


def write_run(
    run: Pipeline, folder: Path, earlier: Sequence[LedgerEntry] = (), private_dir: Path | None = None
) -> None:
    """Compute every stage and write the run's folder: tables, evaluation, report, policy, manifest.

    An earlier run in the folder is replaced as a whole. ``earlier`` are releases of the data set, oldest first, which
    the report shows beside this run. The ledger of the private zone counts the draw, once all stages are computed, and
    its key seals the run; without a private zone the run is a trial of a comparison, judged as a first draw: it is not
    counted and cannot be published. After an error of any stage there is no folder.
    """
    check_replaceable(folder)
    refuse_known_leak(run.config.model_dump(mode="json"))
    run.refuse_spent()
    run.check()
    created = datetime.now(UTC)
    _ = run.evaluation
    with staged(folder) as temporary:
        digest = _write_tables(run, temporary)
        if private_dir is not None:
            run.draw = count_draw(
                private_dir, run.config.name, run.data_fingerprint, run.policy, digest, run.evaluation
            )
        write_labels(run, temporary)
        _write_protection(run.tables, temporary)
        if private_dir is not None and run.config.privacy is None:
            least, secret = least_cell(run.config.k), record_secret(release_key(private_dir))
            RareValues.of(run.sources.tables, least, secret).write(temporary)
        write_json(temporary / EVALUATION, _results(run))
        for name, page in report_pages(run, created, earlier):
            write_text(temporary / name, page)
        write_json(temporary / POLICY, run.policy.model_dump(mode="json"))
        _write_manifest(run, temporary, created, private_dir=private_dir)


def _write_tables(run: Pipeline, folder: Path) -> str:
    for name, table in run.released.items():
        write_released(run.tables[name], table, folder / file_of(name, run.config.views[name]))
    for name, table in run.sources.public.items():
        config = run.config.public[name]
        file, data, where = config.data_file, config.data, folder / file_of(name, config)
        # Files of other programs hold notes, and labels of what does not occur: they are written anew.
        is_plain = file is not None and file.suffix not in OFFICE_SUFFIXES
        if file is not None and is_plain and run.config.output.format == "same":
            with file.open() as source, where.open("wb") as target:
                shutil.copyfileobj(source, target)
        else:
            layout = None if file is None else layout_of(file, data.separator, data.encoding, data.sheet)
            write_table(table, where, data.separator, data.encoding, layout)
    return joint_sha256({table.file: file_sha256(folder / table.file) for table in stated_tables(run)})


def write_anonymized(run: Pipeline, folder: Path) -> AnonymizationResult:
    """Write the results of the first stage alone; of linked tables, those of all that have quasi-identifiers."""
    check_replaceable(folder)
    result = run.anonymization
    if result is None:
        raise ConfigError("the config has no anonymize section", hint="add one, with k and the quasi-identifiers")
    with staged(folder) as temporary:
        write_labels(run, temporary)
        _write_protection(_labelled(run), temporary)
        _write_manifest(run, temporary, datetime.now(UTC), "anonymization")
    return result


def summary(run: Pipeline) -> str:
    """Verdict and open checks as Markdown, for orchestrators."""
    verdict = run.verdict
    lines = [f"# {verdict.status.upper()}: {run.config.name}", *(f"\n{said}" for said in promise_of(run))]
    lines += ["", "| | check | |", "|---|---|---|"]
    lines += [f"| {check.status} | {check.rule} | {check.message} |" for check in verdict.open_checks]
    lines += [
        "",
        folded(verdict),
        *(f"\n{said}" for said in (*accepted_sentences(verdict.checks), not_tried(verdict.checks)) if said),
    ]
    lines += ["", "| | risk | |", "|---|---|---|"]
    lines += [f"| {lamp.status} | {lamp.question} | {lamp.sentence} |" for lamp in lamps(verdict)]
    return "\n".join(lines)


def promise_of(run: Pipeline) -> tuple[str, ...]:
    """Terms of differential privacy of a run; empty without ``privacy.mode: dp``."""
    return promise(run.config.model_dump(mode="json"), run.person.is_private)


def keep_private_details(error: HybridError, private: Path) -> None:
    """Write an error with its cell values, which help to fix it, into the private zone; file mode 0600."""
    details = [f"{problem}\nvalues: {problem.values}" for problem in error.problems if problem.values]
    if not details:
        return
    make_private(private)
    path = private / f"error-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n\n".join(details))


def _results(run: Pipeline) -> dict[str, Any]:
    give_away = None if run.give_away is None else run.give_away.to_json()
    power = None if run.power is None else run.power.to_json()
    judged = {"power": power, "verdict": run.verdict.to_json(), "draw": _number(run)}
    return stated(run.evaluation.to_json() | {"give_away": give_away} | judged)


def _number(run: Pipeline) -> int | None:
    return None if run.draw is None else run.draw.number


def _write_protection(tables: Mapping[str, TableRun], folder: Path) -> None:
    protected = {name: table.protected for name, table in tables.items()}
    found = {name: one.result.to_json() for name, one in protected.items() if one is not None}
    if found:
        write_json(folder / PROTECTION, found.get(SINGLE, found))


def _labelled(run: Pipeline) -> dict[str, TableRun]:
    """Tables with labels: the only one, or the person table, and those below it that have quasi-identifiers."""
    return {name: one for name, one in run.tables.items() if one.anonymization is not None}


def write_labels(run: Pipeline, folder: Path) -> None:
    """Write the labels of all tables in the order of their content, and how they were reached.

    Dates that are tied to a quasi-identifier are times from it: the date itself would show what the label hides.
    """
    for name, table in _labelled(run).items():
        assert table.anonymization is not None
        below = "" if table is run.person else name
        write_table(ordered_labels(table.anonymization), folder / labels_file(below))
    whole, found, result = run.person.inputs.whole, run.anonymized, run.anonymization
    if found is None or result is None:
        return
    joint = replace(found, result=result)
    content = json_with_left_out(joint) if whole is None else result.to_json() | {"warehouse": whole.to_json()}
    write_json(folder / ANONYMIZATION, content)


def ordered_labels(anonymization: Anonymization) -> Table:
    """Labels in the order of their content, in which dates that are tied to a quasi-identifier are times from it."""
    labels = _labels(anonymization)
    return labels.take(_order(labels, anonymization))


def label_order(anonymization: Anonymization) -> Rows:
    """Positions of the anonymized records in the order of :func:`ordered_labels`; shape (n_records,), int64."""
    return _order(_labels(anonymization), anonymization)


def _labels(anonymization: Anonymization) -> Table:
    labels = anonymization.with_gaps(anonymization.anonymized).to_table()
    # Zero has one sign: rows that differ in nothing else would keep the order of the source.
    zeros = {name: column + 0.0 for name, column in labels.frame.items() if column.dtype == "float64"}
    return replace(labels, frame=labels.frame.assign(**zeros))


def _order(labels: Table, anonymization: Anonymization) -> Rows:
    return content_order(to_arrow(labels), anonymization.anonymized.quasi_identifiers)


def _write_manifest(
    run: Pipeline, folder: Path, created: datetime, kind: str = "run", private_dir: Path | None = None
) -> None:
    manifest = build_manifest(
        name=run.config.name,
        config=run.config.model_dump(mode="json"),
        seed=run.seed,
        data_fingerprint=run.data_fingerprint,
        folder=folder,
        libraries=libraries(),
        stages=run.stages,
        created=created,
        kind=kind,
    )
    person = run.person
    said: dict[str, Any] = {
        "draw": _number(run),
        RAN_BY: account(),
        "roles": run.roles.to_json(),
        "explanation": person.promises.text,
        "differential_privacy": person.is_private,
    }
    if kind == "run":
        tables = stated_tables(run)
        budget = {} if person.budget is None else {"privacy_budget": person.budget.to_json()}
        several = {} if SINGLE in run.tables else {"tables": [table.to_json() for table in tables]}
        said |= {**budget, "table": joint_facts(run).to_json(), "protection": joint_protection(run)}
        said |= {"columns": list(tables[0].columns), **several}
    whole = manifest | said
    if kind == "run":
        result = run.anonymization
        finished = FinishedRun(folder, whole, run.evaluation, result, {}, run.policy, "", run.power)
        whole["files"] |= write_facts(finished, run.verdict)
    write_json(folder / MANIFEST, whole if private_dir is None else sealed(whole, private_dir))
