"""Account of the operating system that a command runs under."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

CHOSEN = " in a user namespace"
"""End of an account that whoever ran the command could choose."""
_STATUS, _MAP = Path("/proc/self/status"), Path("/proc/self/uid_map")
_IDENTITY = ["0", "0", "4294967295"]


def account() -> str:
    """Account of the operating system and host, as in ``ada@ward7``.

    The number of the account is the kernel's, not that of a variable or of a library in between. Inside a user
    namespace that maps accounts (``unshare``, a container without root) every user may call themselves by any number,
    and the host by any name: the account then ends with :data:`CHOSEN`, and is nobody's.
    """
    uid = _kernel_uid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return f"{user}@{socket.gethostname()}{'' if _maps_identically() else CHOSEN}"


def is_chosen(account: str) -> bool:
    """True of an account that the user of a namespace chose."""
    return account.endswith(CHOSEN)


def _kernel_uid() -> int:
    """Real user id, as the kernel states it: a library that pretends another one does not count."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))
    except (OSError, StopIteration, IndexError, ValueError):
        return os.getuid()


def _maps_identically() -> bool:
    """True in the first user namespace, and where the kernel has none."""
    try:
        return _MAP.read_text(encoding="ascii", errors="replace").split() == _IDENTITY
    except FileNotFoundError:
        return True
    except OSError:
        return False
