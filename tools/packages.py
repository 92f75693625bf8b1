"""Packages of the locks with their hashes, licences and requirements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.locks import LOCKS

_LINE = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[\w.+!]+)(?: ; (?P<marker>.*?))?"
    r"(?P<hashes>(?: --hash=sha256:\w+)+)"
)
_NVIDIA = "NVIDIA software licence (proprietary)"
ELSEWHERE = {
    "cuda-bindings": _NVIDIA,
    "cuda-pathfinder": "Apache-2.0",
    "cuda-toolkit": _NVIDIA,
    "mlcroissant": "Apache-2.0",
    "nvidia-cublas": _NVIDIA,
    "nvidia-cuda-cupti": _NVIDIA,
    "nvidia-cuda-nvrtc": _NVIDIA,
    "nvidia-cuda-runtime": _NVIDIA,
    "nvidia-cudnn-cu13": _NVIDIA,
    "nvidia-cufft": _NVIDIA,
    "nvidia-cufile": _NVIDIA,
    "nvidia-curand": _NVIDIA,
    "nvidia-cusolver": _NVIDIA,
    "nvidia-cusparse": _NVIDIA,
    "nvidia-cusparselt-cu13": _NVIDIA,
    "nvidia-nccl-cu13": "BSD-3-Clause",
    "nvidia-nvjitlink": _NVIDIA,
    "nvidia-nvshmem-cu13": _NVIDIA,
    "nvidia-nvtx": "Apache-2.0",
    "triton": "MIT",
    "whenever": "MIT",
}
"""Licences that no metadata here state: of packages for machines with a GPU of NVIDIA and for later Pythons, which the
environments lack, and of mlcroissant, whose sources have the licence as a file only."""


@dataclass(frozen=True)
class Pinned:
    """One line of a lock."""

    name: str
    """Normalized."""
    version: str
    marker: str
    """Environments in which it is installed; empty: all."""
    hashes: tuple[str, ...]
    """SHA-256 of each of its files."""


def locked(name: str) -> list[Pinned]:
    """Packages of the lock of an extra, or of the core."""
    found = []
    for line in (LOCKS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            parts = _LINE.fullmatch(line)
            if parts is None:
                raise ValueError(f"locks/{name}.txt: {line[:80]}")
            hashes = tuple(re.findall(r"sha256:(\w+)", parts["hashes"]))
            found.append(Pinned(canonicalize_name(parts["name"]), parts["version"], parts["marker"] or "", hashes))
    return found


def installed(environments: Sequence[Path]) -> dict[str, Distribution]:
    """Distributions of one or more environments (folders as ``python -m venv`` makes them), by normalized name."""
    places = [str(place) for environment in environments for place in environment.glob("lib/python3*/site-packages")]
    return {canonicalize_name(found.name): found for found in distributions(path=places)}


def licence_of(name: str, found: Distribution | None) -> str:
    """Licence that a package states, as an SPDX expression where it has one; empty if it is unknown."""
    if found is None:
        return ELSEWHERE.get(name, "")
    about = found.metadata.json
    if expression := about.get("license_expression"):
        return str(expression)
    stated = [entry.split(" :: ")[-1] for entry in about.get("classifier", []) if entry.startswith("License ::")]
    stated = [entry for entry in stated if entry not in ("OSI Approved", "DFSG approved")]
    return "; ".join(stated) or str(about.get("license", "")).strip().split("\n")[0][:60] or ELSEWHERE.get(name, "")


def requirements_of(found: Distribution) -> list[str]:
    """Normalized names of the packages that a distribution needs in every case."""
    read = [Requirement(text) for text in found.requires or []]
    needed = [one for one in read if one.marker is None or one.marker.evaluate({"extra": ""})]
    return sorted({canonicalize_name(one.name) for one in needed})
