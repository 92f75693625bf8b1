"""S3 file system of Arrow.

Credentials and the address of the server (``AWS_ENDPOINT_URL``) come from the environment.
"""

from __future__ import annotations

import os

import pyarrow.fs as pafs

CONNECT_SECONDS, ANSWER_SECONDS = 10, 60


def s3() -> pafs.S3FileSystem:
    """Connect to S3; paths are ``bucket/folder/file``."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = endpoint.rpartition("://")
    return pafs.S3FileSystem(
        endpoint_override=host or None,
        scheme=scheme or "https",
        connect_timeout=CONNECT_SECONDS,
        request_timeout=ANSWER_SECONDS,
    )
