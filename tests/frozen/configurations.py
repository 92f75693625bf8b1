"""Small configurations whose results are frozen, and what each of them covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["run", "linked", "labels below", "dp", "anonymize", "warehouse", "audit", "night", "compare", "lab"]
FEW = {f"data.columns.{name}.role": "excluded" for name in ("postcode", "occupation", "admission_date")} | {
    "evaluate.secrets": ["diagnosis"]
}
"""Three quasi-identifiers: techniques that look at rare values have enough of each."""
NO_EVALUATION = {"evaluate.metrics": ["identical_match"], "evaluate.baseline": False, "policy": "policy.yaml"}
"""For what the evaluation does not see: one metric, a policy of one rule."""


@dataclass(frozen=True)
class Frozen:
    """One configuration.

    Parameters
    ----------
    covers : str
        What is held by it and by no other.
    kind : str
        Which job computes it.
    changes : mapping of str to value
        Dotted keys that differ from the configuration of the demo; of a linked one from that of the hospital.
    several : bool
        Whether persons have several rows.
    """

    covers: str
    kind: Kind = "run"
    changes: Mapping[str, Any] = field(default_factory=dict)
    several: bool = False


FROZEN: dict[str, Frozen] = {
    "single": Frozen("a table of one row per person, the default policy and what it asks for, planted leaks"),
    "register": Frozen(
        "a register of an attacker: the source itself, under the default policy's rule",
        changes={
            "evaluate.attacker_register": {"path": "admissions.csv", "columns": ["age", "sex", "postcode"]},
            "evaluate.metrics": ["register_linkage"],
            "evaluate.power": False,
        },
    ),
    "persons": Frozen(
        "several rows per person with an order, every metric of persons", changes={"evaluate.also": "all"}, several=True
    ),
    "linked": Frozen("four tables below persons, one of them public, with every metric", "linked"),
    "labels below": Frozen("quasi-identifiers of tables below the person table", "labels below"),
    "dp": Frozen("differential privacy: budget, declared domains, noisy counts", "dp"),
    "conditional": Frozen("transition: conditional", changes=NO_EVALUATION | {"transition.method": "conditional"}),
    "uniform": Frozen("transition: uniform", changes=NO_EVALUATION | {"transition.method": "uniform"}),
    "single value": Frozen("transition: single", changes=NO_EVALUATION | {"transition.method": "single"}),
    "noisy": Frozen("transition: noisy", changes=NO_EVALUATION | {"transition": {"method": "noisy", "order": "pre"}}),
    "chow_liu": Frozen("transition: chow_liu", changes=NO_EVALUATION | {"transition.method": "chow_liu"}),
    "blend": Frozen("transition: blend", changes=NO_EVALUATION | {"transition.method": "blend"}),
    "post": Frozen("transition after the generator", changes=NO_EVALUATION | {"transition.order": "post"}),
    "beta": Frozen(
        "Bernoulli sample before anonymization",
        changes=NO_EVALUATION | {"sample": {"method": "beta", "beta": 0.6, "order": "pre"}},
    ),
    "stratified": Frozen("stratified sample", changes=NO_EVALUATION | {"sample.beta": 0.6}),
    "local": Frozen("local recoding", changes=NO_EVALUATION | {"anonymize.recoding": "local"}),
    "microaggregation": Frozen(
        "technique: microaggregation",
        changes=NO_EVALUATION
        | FEW
        | {"anonymize": {"k": 5, "technique": "microaggregation"}, "transition": {"method": "single"}},
    ),
    "noise and pram": Frozen(
        "techniques without k: noise and PRAM, no transition",
        changes=NO_EVALUATION
        | FEW
        | {
            "anonymize": {
                "technique": [
                    {"name": "noise", "columns": ["age"]},
                    {"name": "pram", "columns": ["sex", "nationality"]},
                ]
            },
            "transition": None,
        },
    ),
    "rank swapping": Frozen(
        "technique: rank swapping",
        changes=NO_EVALUATION
        | FEW
        | {
            "anonymize": {
                "technique": [
                    {"name": "rank_swapping", "columns": ["age"]},
                    {"name": "pram", "columns": ["sex", "nationality"]},
                ]
            },
            "transition": None,
        },
    ),
    "baynet": Frozen("generator: baynet", changes=NO_EVALUATION | {"synthesize": {"generator": "baynet"}}),
    "filter": Frozen(
        "filter of drawn rows, and a condition on them",
        changes=NO_EVALUATION | {"synthesize.where": "age >= 40", "synthesize.filter": {"score": "distance"}},
    ),
    "larger than memory": Frozen(
        "labels of a Parquet file that is larger than the memory limit",
        "anonymize",
        {"protect": "off", "anonymize.memory_limit": 0.0001},
    ),
    "sample of a file": Frozen(
        "a sample of a file that is larger than the memory limit",
        changes=NO_EVALUATION | {"anonymize.memory_limit": 0.0001, "sample": {"method": "none"}, "split.rows": 200},
    ),
    "duckdb": Frozen("labels of a table in DuckDB, and a sample of it", "warehouse", several=True),
    "audit": Frozen("audit of files that were made elsewhere", "audit"),
    "night": Frozen("a night that publishes", "night", NO_EVALUATION),
    "comparison": Frozen("a comparison of two transitions and two seeds", "compare"),
    "laboratory": Frozen("the league of a laboratory", "lab"),
}
