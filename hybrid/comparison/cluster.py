"""Trials on an existing Dask cluster, with results of stages in a store that every worker reaches."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hybrid.base.errors import ConfigError, HybridError, MissingExtraError
from hybrid.base.hashing import code_version
from hybrid.comparison.local import Result
from hybrid.comparison.schedule import Planned
from hybrid.comparison.trial import EndedTrial, Trial, Workplace, failed, run_trial
from hybrid.pipeline.pipeline import stage_of
from hybrid.pipeline.stages import needed_by

RETRIES = 3
"""How often a task may lose its worker before it counts as failed."""
CONNECT_SECONDS = 20


def run_on_cluster(place: Workplace, todo: Sequence[Planned], address: str) -> Iterator[Result]:
    """Run the trials on the workers of a Dask scheduler.

    Stages that several trials share are tasks of their own, so that each is computed once although there are no locks
    between machines. A task whose worker dies runs again on another; what it had finished is in the store.

    ``place`` has paths as the workers see them. Configurations travel with the trials; data files must be reachable.
    ``address`` is such as ``tcp://127.0.0.1:8786``.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise MissingExtraError(
            "the engine dask needs the package distributed", hint="pip install 'hybrid-release[dask]'"
        ) from None
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError):
        raise ConfigError(f"{address}: no Dask scheduler answers there", hint="start dask scheduler") from None
    with client:
        _check_versions(client)
        futures = _submitted(client, place, todo)
        for future in as_completed(list(futures), loop=client.loop):  # type: ignore[no-untyped-call]
            planned = futures.pop(future)
            yield planned, _outcome(planned, future)


def compute_stage(place: Workplace, trial: Trial, stage: str, *_: Any) -> None:
    """Put one stage's result into the store; the trials that need it report its failure."""
    if trial.config is None:
        return
    try:
        trial.run(place.store.open()).compute(stage)
    except Exception:  # noqa: BLE001 - the trial itself fails in the same way, and reports it
        return


def run_after(place: Workplace, trial: Trial, *_: Any) -> EndedTrial:
    """Run a trial once the shared stages (further arguments) are there."""
    return run_trial(place, trial)


def _submitted(client: Any, place: Workplace, todo: Sequence[Planned]) -> dict[Any, Planned]:
    """One future per trial; shared stages come first."""
    run = secrets.token_hex(4)
    uses = Counter(key for planned in todo for key in planned.stages.values())
    stages: dict[str, Any] = {}
    futures = {}
    for at, planned in enumerate(todo):
        for stage, key in planned.stages.items():
            if uses[key] < 2 or key in stages:
                continue
            before = [stages[planned.stages[need]] for need in _needs(planned, stage) if _shared(planned, need, stages)]
            # Task names appear in the cluster's logs: a number says nothing of the data, a fingerprint would.
            name = f"hybrid-{run}-{stage}-{len(stages)}"
            stages[key] = client.submit(
                compute_stage, place, planned.trial, stage, *before, key=name, retries=RETRIES, pure=False
            )
        ready = [stages[key] for key in planned.stages.values() if key in stages]
        name = f"hybrid-{run}-trial-{at}"
        future = client.submit(run_after, place, planned.trial, *ready, key=name, retries=RETRIES, pure=False)
        futures[future] = planned
    return futures


def _needs(planned: Planned, step: str) -> Iterator[str]:
    """Steps that a step may depend on: those of its table, and of the tables above it."""
    needed = {*needed_by(stage_of(step)), stage_of(step)}
    for other in planned.stages:
        if other == step:
            return
        if stage_of(other) in needed:
            yield other


def _shared(planned: Planned, stage: str, stages: dict[str, Any]) -> bool:
    return planned.stages.get(stage) in stages


def _outcome(planned: Planned, future: Any) -> EndedTrial:
    try:
        ended: EndedTrial = future.result()
    except HybridError as error:
        return EndedTrial(failed(planned.trial, str(error)))
    except Exception as error:  # noqa: BLE001 - such as KilledWorker; the text may hold anything
        return EndedTrial(failed(planned.trial, f"{type(error).__name__}: its workers died"))
    return ended


def _check_versions(client: Any) -> None:
    mine = code_version()
    try:
        others = client.run(code_version)
    except Exception as error:  # noqa: BLE001 - whatever a foreign worker answers
        raise ConfigError(
            f"the workers cannot run this package ({type(error).__name__})", hint="install it on every worker"
        ) from None
    if not others:
        raise ConfigError("the Dask scheduler has no workers", hint="start dask worker on the machines")
    if any(version != mine for version in others.values()):
        raise ConfigError("workers run another version of this package", hint="install the same version everywhere")
