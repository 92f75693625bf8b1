"""Holds a flow's process in the middle of a stage, so that a test can strike there.

Python imports a copy of this file, named ``sitecustomize.py`` and on ``PYTHONPATH``, when it starts. The folder
HYBRID_TEST_HOLD may have a file ``hold`` with the name of a stage; once the flow is in it, there is ``held`` with the
id of its process, and the flow waits until ``hold`` is gone.
"""

import os
import time
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("HYBRID_TEST_HOLD", ""))


def plant() -> None:
    from hybrid.pipeline.table_run import TableRun

    original = TableRun._stage

    def held(pipeline: TableRun, name: str, *parts: Any) -> Any:
        *others, compute = parts

        def computed() -> Any:
            wait(name)
            return compute()

        return original(pipeline, name, *others, computed)

    TableRun._stage = held  # type: ignore[method-assign]


def wait(stage: str) -> None:
    hold = FOLDER / "hold"
    if not hold.is_file() or hold.read_text() != stage:
        return
    (FOLDER / "held.tmp").write_text(str(os.getpid()))
    (FOLDER / "held.tmp").replace(FOLDER / "held")
    while hold.is_file():
        time.sleep(0.1)


if "PREFECT__FLOW_RUN_ID" in os.environ:
    plant()
