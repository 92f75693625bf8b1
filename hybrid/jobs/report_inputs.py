"""Inputs of the report, collected from the stages of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import yaml

from hybrid.base.arrays import Array
from hybrid.base.hashing import library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.trust import TrustLeague
from hybrid.jobs.earlier_releases import changes_since, tracks
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.records import stage_records
from hybrid.pipeline.stages import libraries
from hybrid.publication.asked import not_asked
from hybrid.publication.gate import verdicts_by_stage
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.ledger import LedgerEntry
from hybrid.publication.redact import public_config
from hybrid.publication.verdict import Verdict
from hybrid.report import LossCurve, ReportedStage, ReportInputs, TradeOffPoint, compare_tables, describe
from hybrid.report.run.sections import collect_sections
from hybrid.synthesize import availability
from hybrid.table import Table
from hybrid.table.cells import LEAST_CELL, least_cell
from hybrid.table.holders import holders, row_persons, sharing

LIMITS = (
    "k-anonymity holds for the intermediate table, not for the synthetic one; "
    "what the synthetic table discloses is measured, not proven.",
    "Attacks that were not run may succeed where these did not.",
    "Each release adds to what earlier releases of the same people give away.",
)
LIMITS_OF_SAMPLE = (
    "k was counted on all rows in the warehouse; among the drawn ones a combination of labels can be that of fewer "
    "people.",
    "The levels were chosen on all rows in the warehouse, none kept apart, while protection, generator and evaluation "
    "saw the drawn ones alone: what the choice of levels gives away is not measured.",
    "Privacy, utility and fidelity were measured on the drawn records: a leak too small for so many to show passes "
    "unnoticed. Suppressed records were never drawn, so which groups lost most of them is not known here.",
)
"""Of a table that stayed in a warehouse, but for a random sample."""
PERMISSIVE = "permissive (BSD, MIT, Apache-2.0)"


def run_report(pipeline: Pipeline, created: datetime, earlier: Sequence[LedgerEntry] = ()) -> ReportInputs:
    """The inputs of ``render_report`` for a finished pipeline.

    No seed, no path, no record: the report is published.
    """
    config, anonymized = pipeline.config, pipeline.anonymized
    result = None if anonymized is None else anonymized.result
    compared, control = pipeline.charted
    smallest = least_cell(0 if result is None else result.k)
    before, after = _sharing(pipeline)
    method = config.model_copy(update={"seed": None})
    return ReportInputs(
        name=config.name,
        created=created,
        guarantee=guarantee_sentence(
            result,
            method.model_dump(mode="json"),
            pipeline.evaluation,
            private=pipeline.is_private,
        ),
        verdict=pipeline.verdict,
        draw="" if pipeline.draw is None else pipeline.draw.words,
        steps=tuple(ReportedStage(*step) for step in stage_records(pipeline)),
        anonymization=None if result is None else result.to_json(),
        top_levels={name: tree.n_levels - 1 for name, tree in pipeline.hierarchies.items()},
        sharing_before=before,
        sharing_after=after,
        trade_off=tuple(_trade_off(pipeline)),
        losses=tuple(LossCurve(name, tuple(points)) for name, points in _losses(pipeline).items()),
        fallbacks=dict(pipeline.generated.fallbacks),
        give_away=None if pipeline.give_away is None else pipeline.give_away.to_json(),
        comparison=compare_tables(compared, pipeline.generated.table, control, smallest),
        evaluation=pipeline.evaluation,
        stage_verdicts=verdicts_by_stage(pipeline.policy, pipeline.evaluation),
        metric_texts=describe(REGISTRY.values()),
        limits=tuple(_limits(pipeline)),
        licences=licences(config.synthesize.generator),
        versions=library_versions(PACKAGE, *libraries()),
        facts=dict(_group_shares(pipeline, smallest)),
        config=_public_yaml(pipeline),
        changes=changes_since(earlier, pipeline.verdict),
        history=tracks(pipeline.policy, pipeline.evaluation, earlier, created),
        collected=collect_sections(pipeline, smallest),
    )


def audit_report(
    tables: tuple[Table, Table | None, Table],
    evaluation: Evaluation,
    verdict: Verdict,
    name: str,
    created: datetime,
    notes: tuple[str, ...] = (),
    league: TrustLeague | None = None,
    left_out: str = "",
) -> ReportInputs:
    """The inputs of ``render_report`` for files that were audited.

    ``notes`` are about the files, ``league`` about the metrics, ``left_out`` about metrics that were not asked for.
    """
    train, control, synthetic = tables
    return ReportInputs(
        name=name,
        created=created,
        guarantee=guarantee_sentence(None, {}, evaluation),
        verdict=verdict,
        steps=(ReportedStage("train", len(train)), ReportedStage("synthetic", len(synthetic))),
        comparison=compare_tables(train, synthetic, control, LEAST_CELL),
        evaluation=evaluation,
        league=league,
        metric_texts=describe(REGISTRY.values()),
        limits=tuple(filter(None, (*notes, *LIMITS[1:], left_out))),
        versions=library_versions(PACKAGE, *libraries()),
    )


def _limits(pipeline: Pipeline) -> Iterator[str]:
    """Limits of the evaluation."""
    yield from LIMITS[pipeline.anonymized is None :]
    yield from () if pipeline.inputs.whole is None else LIMITS_OF_SAMPLE
    if left_out := not_asked(pipeline.judged_by, pipeline.measured_alone, pipeline.train):
        yield left_out
    found = pipeline.all_rows
    if found is not None:
        yield (
            f"All figures but those of exact copies among all rows are of {found.judged:,} of {found.rows:,} rows, "
            "drawn at random: what someone learns who has all of them was not measured."
        )


def _losses(pipeline: Pipeline) -> dict[str, list[tuple[int, float]]]:
    """Curve of every loss that the generator reported: step or epoch, value."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for point in pipeline.generated.losses:
        for name, value in point.losses.items():
            curves.setdefault(name, []).append((point.done, value))
    return curves


def _trade_off(pipeline: Pipeline) -> Iterator[TradeOffPoint]:
    before = pipeline.anonymization
    if before is None:
        return
    for point in pipeline.trade_off:
        if point.loss is not None and point.suppressed is not None:
            limit, share = point.suppression_limit, point.suppressed / len(before.coarsened)
            yield TradeOffPoint(limit, share, point.loss, chosen=limit == before.options.suppression_limit)


def _group_shares(pipeline: Pipeline, smallest: int) -> Iterator[tuple[str, str]]:
    """Shares of declared groups before and after sampling.

    Without groups of few people.
    """
    if pipeline.sampled is None:
        return
    for share in pipeline.sampled.shares:
        if share.people >= smallest:
            text = f"{100 * share.before:.1f} % before, {100 * share.after:.1f} % after sampling"
            yield f"group {share.column} = {share.group}", text


def _sharing(pipeline: Pipeline) -> tuple[Array | None, Array | None]:
    """People in the class of each record before and after anonymization.

    Of all rows, wherever they are; none where a warehouse counted the rows of persons.
    """
    anonymized, whole = pipeline.anonymized, pipeline.inputs.whole
    if anonymized is None or (whole is not None and whole.result.persons is not None):
        return None, None
    if whole is not None:
        return np.repeat(whole.sizes_before, whole.sizes_before), np.repeat(whole.sizes_after, whole.sizes_after)
    train, classes = pipeline.train, anonymized.class_ids
    people = holders(classes, int(classes.max(initial=-1)) + 1, row_persons(anonymized.originals))
    return sharing(train, train.schema.quasi_identifiers), people[classes]


def licences(generator: str) -> dict[str, str]:
    """Licences of this package and of a generator."""
    found = {entry.name: entry.licence for entry in availability()}
    return {"this package": "Apache-2.0", f"generator {generator}": found.get(generator, PERMISSIVE)}


def _public_yaml(pipeline: Pipeline) -> str:
    """Method as YAML, without the seed and the path of the source."""
    text: str = yaml.safe_dump(
        public_config(pipeline.config.model_dump(mode="json")), sort_keys=False, allow_unicode=True, width=100
    )
    return text
