"""A server like S3 on loopback, and one bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import boto3
from moto.server import ThreadedMotoServer

SECRET = "canary-secret-5512"


@contextmanager
def bucket(name: str) -> Iterator[Any]:
    """A boto3 bucket; the environment leads there for the length of the block."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        with patch.dict(os.environ, environment):
            made = boto3.resource("s3").Bucket(name)
            made.create()
            yield made
    finally:
        server.stop()
