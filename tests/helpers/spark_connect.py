"""A Spark Connect server for tests: the real one, on loopback, with a master of its own and a catalog in memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def spark_connect(folder: Path, master: str = "local[2]") -> Iterator[str]:
    """Address of a server whose tables are in ``folder``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder / "local",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.warehouse.dir": folder / "tables",
        "spark.ui.enabled": "false",
    }
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--master", master, "--class", CLASS]
    command += [text for key, value in settings.items() for text in ("--conf", f"{key}={value}")]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "spark-internal"], env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait_for(port, server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("the Spark Connect server does not answer")
