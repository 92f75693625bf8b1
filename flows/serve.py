"""Nights by a schedule on this machine, started by ``hybrid serve``.

python -m flows.serve configs/nightly.yaml --cron "0 2 * * *" --timezone Europe/Berlin
"""

import argparse
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid.base.atomic import make_private
from hybrid.base.errors import OutputError
from hybrid.pipeline.config import load_config

_PATIENCE_SECONDS = 120


@contextmanager
def server(home: Path, port: int) -> Iterator[None]:
    """Provide a Prefect server on loopback: that of ``PREFECT_API_URL``, a running one, or a new one."""
    if os.environ.get("PREFECT_API_URL"):
        yield
        return
    url = f"http://127.0.0.1:{port}"
    os.environ["PREFECT_API_URL"] = f"{url}/api"
    if _is_healthy(url):
        yield
        return
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        own = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            _wait(own, url, home)
            yield
        finally:
            own.terminate()
            own.wait()


def _wait(own: subprocess.Popen[bytes], url: str, home: Path) -> None:
    for _ in range(_PATIENCE_SECONDS * 2):
        if own.poll() is not None:
            break
        if _is_healthy(url):
            return
        time.sleep(0.5)
    raise OutputError(f"the Prefect server did not start; its log is {home / 'server.log'}", hint="try another --port")


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/health", timeout=2) as answer:
            return bool(answer.read() == b"true")
    except (OSError, urllib.error.URLError):
        return False


def main() -> None:
    """Serve one data set until stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--cron", required=True)
    parser.add_argument("--timezone", default="UTC")
    parser.add_argument("--notify")
    parser.add_argument("--port", type=int, default=4200)
    for place in ("work", "runs", "releases"):
        parser.add_argument(f"--{place}", default=place)
    given = parser.parse_args()
    home = (Path(given.work) / "prefect").absolute()
    make_private(home)
    os.environ.setdefault("PREFECT_HOME", str(home))
    with server(home, given.port):
        # Prefect reads its settings when it is imported.
        from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
        from prefect.schedules import Cron

        from flows.nightly import nightly

        places = {place: str(Path(getattr(given, place)).absolute()) for place in ("work", "runs", "releases")}
        nightly.serve(
            name=load_config(given.config).name,
            schedules=[Cron(given.cron, timezone=given.timezone)],
            parameters={"config": str(given.config.absolute()), "notify": given.notify, **places},
            global_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
            tags=["release"],
            pause_on_shutdown=False,
        )


if __name__ == "__main__":
    main()
