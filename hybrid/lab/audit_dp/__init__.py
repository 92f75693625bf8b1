"""Audit of a stated differential privacy by attacks.

The attacks try to refute it, over the whole walk and part by part. Their tables hold canaries; no real record is at
stake.
"""

from __future__ import annotations

from pathlib import Path

from hybrid.base.atomic import write_json
from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.jobs.places import staged
from hybrid.lab.audit_dp.attack import BudgetAttack, PrivacyAudit
from hybrid.lab.audit_dp.labels import attack_labels
from hybrid.lab.audit_dp.parts import attack_parts
from hybrid.lab.audit_dp.walk import attack_walk, walk_of
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.private_mode import refuse_undeclared
from hybrid.pipeline.table_run import TableRun

RESULT = "audit-dp.json"
_OF_PARTS = 0.5
"""Share of the error probability for the attacks on parts."""


def audit_privacy(
    config: RunConfig,
    *,
    canaries: int = 500,
    runs: int = 200,
    draws: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> PrivacyAudit:
    """Attack the walk of a configuration that states differential privacy, whose records are read for columns alone.

    ``canaries``: most of the one run, 10 or more. ``runs`` of the whole walk on each table of a game, 20 or more, of
    which the first half chooses the event. ``draws``: plays on each part of an account, 1000 or more; 1/25 of it where
    a play is a call of its own. ``confidence`` of all bounds together. No ``seed`` repeats the walk's noise.
    """
    if canaries < 10 or runs < 20 or draws < 1000 or not 0 < confidence < 1:
        raise ConfigError(
            f"{canaries} canaries, {runs} runs, {draws} draws or confidence {confidence:g} are too few",
            hint="use 10 canaries, 20 runs, 1000 draws and a confidence below 1, or more",
        )
    pipeline = TableRun(config, judge_power=False)
    _refuse_unstated(pipeline)
    rng, error = rng_for(seed, "audit-dp"), 1 - confidence
    found: list[BudgetAttack] = []
    if config.anonymize is not None:
        found += attack_labels(pipeline, config.anonymize, canaries, runs, confidence, rng, progress)
    else:
        walk = walk_of(pipeline)
        found += attack_parts(walk, draws, 1 - _OF_PARTS * error, rng, progress)
        found += attack_walk(walk, canaries, runs, 1 - (1 - _OF_PARTS) * error, rng, progress)
    return PrivacyAudit(tuple(found), confidence)


def _refuse_unstated(pipeline: TableRun) -> None:
    if not pipeline.promises.is_private:
        missing = "; ".join(one.text for one in pipeline.promises.explanation.conditions if not one.met)
        raise ConfigError(
            f"the configuration states no differential privacy that could be audited; not met: {missing}",
            hint="hybrid explain has all conditions",
        )
    refuse_undeclared(pipeline.config, pipeline.table.schema)


def write_privacy_audit(audit: PrivacyAudit, folder: Path) -> None:
    """Write the result as JSON."""
    with staged(folder) as temporary:
        write_json(temporary / RESULT, audit.to_json())
