"""Opening of files that others may have put there.

Who can write to a folder of releases or runs can put a named pipe, a device, a socket, a link or a file without end in
the place of any file. Each of them would stop a reader for ever or fill its memory.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 100_000_000
"""Bytes of a file that is read as a whole at most."""
DEEPEST = 100
"""Lists and objects within each other in a JSON file at most."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, also one that never ends: every start matches, so that no text takes longer than its length."""
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


def is_file(path: Path, *, unseen: bool = False) -> bool:
    """True if a path leads to a file; ``unseen`` where it may not be looked at."""
    try:
        return path.is_file()
    except OSError:
        return unseen


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read bytes, without waiting.

    OSError: it is missing, a link, a folder, a named pipe, a device or a socket, or may not be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    return os.fdopen(handle, "rb")


def read_regular(path: Path, most: int = LARGEST) -> bytes:
    """Read a file as a whole; OSError also where it is larger than ``most`` bytes, or grows meanwhile."""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"the file is larger than {most:,} bytes", str(path))
        # Asked for no more than the file has: a reader makes a buffer as large as what it is asked for.
        content = stream.read(size + 1)
    if len(content) > size:
        raise OSError(errno.EBUSY, "the file grew while it was read", str(path))
    return content


def read_json(path: Path, most: int = LARGEST) -> Any:
    """Read a JSON file (UTF-8); errors as :func:`read_regular` and :func:`parse_json`."""
    return parse_json(read_regular(path, most))


def parse_json(content: bytes) -> Any:
    """Parse JSON (UTF-8) of unknown origin."""
    brackets = np.frombuffer(_STRING.sub(b"", content).translate(None, _NO_BRACKET), dtype=np.uint8)
    opening = np.isin(brackets, np.frombuffer(b"[{", dtype=np.uint8))
    if np.where(opening, 1, -1).cumsum().max(initial=0) > DEEPEST:
        raise ValueError(f"lists and objects lie more than {DEEPEST} deep within each other")
    return json.loads(content.decode())
