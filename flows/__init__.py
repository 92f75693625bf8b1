"""Thin Prefect flows over the library.

What Prefect must know before it is imported is set here, for flows that are started from another folder than
that of ``prefect.toml``: nothing about a run leaves this machine, and a cold start may take its time.
"""

import os
import warnings
from importlib.util import find_spec

from hybrid.base.errors import MissingExtraError

if find_spec("prefect") is None:
    raise MissingExtraError("the flows need Prefect", hint="pip install 'hybrid-release[flows]'")

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "90")
# The log of the library also comes from outside a flow run.
os.environ.setdefault("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")
# A library under Prefect's server warns of its own annotations where anjana's pinned beartype is installed.
os.environ.setdefault("PYTHONWARNINGS", "ignore:::beartype._util.error.utilerrwarn")
warnings.filterwarnings("ignore", module=r"beartype\._util\.error")
