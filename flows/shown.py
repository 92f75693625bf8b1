"""Display in Prefect that never decides how the run ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from prefect.exceptions import PrefectException

logger = logging.getLogger("hybrid.flows")


@contextmanager
def shown(what: str) -> Iterator[None]:
    """Show something.

    Where Prefect's server is gone, the log says so and the run continues.
    """
    try:
        yield
    except (httpx.HTTPError, PrefectException) as error:
        logger.warning("Prefect's server did not take the %s (%s)", what, type(error).__name__)
