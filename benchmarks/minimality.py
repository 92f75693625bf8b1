"""Attacks on minimal anonymization, on many small tables: the table of docs/evidence/minimality.md.

PYTHONPATH=. python benchmarks/minimality.py [--tables 40]

The attacks are exact (tests/anonymize/minimality.py): every original that the labels leave possible is anonymized.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from hybrid.anonymize import AnonymizeOptions
from tests.anonymize.minimality import Gained, Setting, binary, compositions, sensitive_values

SURE = 1 - 1e-9
K = 2
RECODINGS = {
    "global, least loss": {"recoding": "global", "suppression_limit": 0.0},
    "global, least loss, 20 % may be left out": {"recoding": "global", "suppression_limit": 0.2},
    "local": {"recoding": "local", "suppression_limit": 0.0},
    "global, fixed levels": {"recoding": "global", "suppression_limit": 1.0},
}


BY_ASSOCIATION = {"name": "association", "use": ("secret",)}
LOSSES = {
    "global, least loss": {"recoding": "global"},
    "global, loss by association": {"recoding": "global", "loss": BY_ASSOCIATION},
    "local": {"recoding": "local"},
    "local, loss by association": {"recoding": "local", "loss": BY_ASSOCIATION},
}


def weighed(name: str, tables: int) -> Iterator[list[Gained]]:
    """Twelve people with two quasi-identifiers of two values, of which k = 4 allows to keep one.

    One goes with the sensitive value: 85 % of its ones have it, 15 % of its zeros. Every person's most probable value
    counts.
    """
    rng = np.random.default_rng(3)
    setting = Setting(binary(2), AnonymizeOptions(k=4, suppression_limit=0.0, **LOSSES[name]))
    records = [(0, 0)] * 2 + [(0, 1)] * 4 + [(1, 0)] * 4 + [(1, 1)] * 2
    for _ in range(tables):
        telling = rng.integers(2)
        secrets = [int(rng.random() < (0.85 if record[telling] else 0.15)) for record in records]
        people = sensitive_values(setting, records, secrets) or []
        yield [max(person.values(), key=lambda one: one.after) for person in people]


def sensitive(name: str, tables: int) -> Iterator[list[Gained]]:
    """Two people with one quasi-identifier and three with another, whose labels had to be merged for l = 2.

    Half of all people have a frequent value, the others one of nine. Every person's most probable value counts.
    """
    rng = np.random.default_rng(1)
    levels = {"levels": {"q0": 1}} if "fixed" in name else {}
    models = [{"model": "l_diversity", "l": 2, "attribute": "secret"}]
    setting = Setting(binary(1), AnonymizeOptions(k=K, models=models, **RECODINGS[name], **levels))
    records = [(0,), (0,), (1,), (1,), (1,)]
    for _ in range(tables):
        secrets = np.where(rng.random(5) < 0.5, 0, rng.integers(1, 10, size=5)).tolist()
        published = setting.publish(records, secrets)
        if published is not None and len(set(published)) == 1:
            people = sensitive_values(setting, records, secrets) or []
            yield [max(person.values(), key=lambda one: one.after) for person in people]


def exact(name: str, tables: int, k: int, people: int, columns: int) -> Iterator[list[Gained]]:
    """People with quasi-identifiers of two values, 0 and 1, and one label for both."""
    rng = np.random.default_rng(2)
    levels = {f"q{at}": int(at == columns - 1) for at in range(columns)} if "fixed" in name else {}
    setting = Setting(binary(columns), AnonymizeOptions(k=k, levels=levels, **RECODINGS[name]))
    for _ in range(tables):
        found = compositions(setting, [tuple(map(int, row)) for row in rng.integers(2, size=(people, columns))])
        if found:
            yield found


def row(name: str, found: Sequence[list[Gained]]) -> list[str]:
    """Statements, those that became sure, tables with one, and mean probabilities before and after."""
    every = [one for table in found for one in table]
    sure = [one.after >= SURE > one.before for one in every]
    hit = sum(any(one.after >= SURE > one.before for one in table) for table in found)
    means = (np.mean([getattr(one, when) for one in every]) for when in ("before", "after"))
    counts = (sum(sure), len(every)), (hit, len(found))
    shares = (f"{100 * count / total:.0f} %" for count, total in counts)
    return [name, str(len(found)), str(len(every)), *(f"{mean:.2f}" for mean in means), *shares]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=12)
    tables = parser.parse_args().tables
    head = ["recoding", "tables", "statements", "before", "after", "became sure", "tables with one"]
    attacks = {
        "Sensitive values, k = 2, l = 2": (RECODINGS, lambda name: sensitive(name, 10 * tables)),
        "Sensitive values, k = 4, what the loss weighs": (LOSSES, lambda name: weighed(name, 4 * tables)),
        "Exact values, k = 2, six people with three quasi-identifiers": (
            RECODINGS,
            lambda name: exact(name, tables, 2, 6, 3),
        ),
        "Exact values, k = 5, 13 people with two quasi-identifiers": (
            RECODINGS,
            lambda name: exact(name, tables, 5, 13, 2),
        ),
    }
    for title, (settings, attack) in attacks.items():
        print(f"{title}\n")
        for line in (head, ["---"] * len(head), *(row(name, list(attack(name))) for name in settings)):
            print(f"| {' | '.join(line)} |")
        print()


if __name__ == "__main__":
    main()
