"""Audits of the true build of ``privacy.mode: dp``, one after the other.

    python benchmarks/audits.py [--audits 20] [--epsilon 1] [--runs 100] [--draws 100000] [--canaries 500]

Each audit attacks the same configuration (a listed category, a searched one, a number, three columns, two rows of a
person at most) with another seed and confidence 1 - .05 / audits, so that all bounds of all audits hold together with
confidence .95. Prints for every attack the stated value, the greatest and the median lower bound, and how often it
refuted.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from statistics import median
from typing import Any

import pandas as pd

from hybrid.jobs.audit_dp import audit_privacy
from hybrid.jobs.audit_dp.attack import Attack
from hybrid.pipeline.config import parse_config

COLUMNS = {
    "id": {"role": "identifier"},
    "ward": {"role": "quasi_identifier", "kind": "categorical"},
    "town": {"role": "quasi_identifier", "kind": "categorical"},
    "age": {"role": "quasi_identifier", "kind": "integer"},
}
KNOWN = {"ward": {"values": [f"w{at}" for at in range(12)]}, "age": {"bounds": [0, 99]}}
PEOPLE = pd.DataFrame({"id": ["a", "b"], "ward": ["w1", "w2"], "town": ["x", "y"], "age": [3, 4]})


def content(epsilon: float, generator: str) -> dict[str, Any]:
    """The audited configuration."""
    return {
        "name": "audited",
        "data": {"path": "people.csv", "person": "id", "max_rows": 2, "columns": COLUMNS},
        "privacy": {"mode": "dp", "epsilon": epsilon, "delta": 1e-6, "columns": KNOWN},
        "synthesize": {"generator": generator, "options": {"iterations": 100}},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--generator", default="aim")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--canaries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    config, started = parse_config(content(chosen.epsilon, chosen.generator)).with_frame(PEOPLE), time.process_time()
    found: dict[tuple[str, str], list[Attack]] = defaultdict(list)
    for at in range(chosen.audits):
        effort = {"runs": chosen.runs, "draws": chosen.draws, "canaries": chosen.canaries}
        audit = audit_privacy(config, **effort, confidence=1 - 0.05 / chosen.audits, seed=chosen.seed + at)
        for attack in audit.attacks:
            found[attack.name, attack.quantity].append(attack)
    for (name, quantity), attacks in found.items():
        lower = [attack.lower for attack in attacks]
        refuted = sum(attack.refutes for attack in attacks)
        stated = attacks[0].stated
        print(f"{name:<44}{quantity:<9}{stated:9.4g}{max(lower):9.4g}{median(lower):9.4g}{refuted:4d}")
    print(f"{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
