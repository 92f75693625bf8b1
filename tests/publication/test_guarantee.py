"""The sentence promises what holds, says of what, and claims nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from hybrid.anonymize.result import AnonymizationResult
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.sample import SampleOptions, sample_table
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY
from tests.evaluation.simulated_people import make_people
from tests.transition.choices import CHOICES

CONFIG: dict[str, Any] = {
    "sample": {"method": "beta", "beta": 0.5},
    "transition": {"method": "uniform"},
    "synthesize": {"generator": "cart"},
}


def test_anonymity_is_promised_for_the_intermediate_table_alone(
    anonymization: Callable[..., AnonymizationResult], evaluation: Callable[..., Evaluation]
) -> None:
    text = guarantee_sentence(anonymization(), CONFIG, evaluation())
    assert "k-anonymity with k = 5, distinct l-diversity of occupation with l = 2" in text
    assert "smallest class has 5 records, and about 20 of about 1,000 records were suppressed" in text
    assert "for nothing else" in text
    assert "published rows themselves are not k-anonymous" in text
    assert "Each of the records of the intermediate table was used with probability 0.5;" in text
    assert "No differential privacy is claimed." in text
    assert "measured empirically by identical_match, dcr_share;" in text
    assert "Not computable: inference." in text


def test_a_search_for_labels_is_admitted_unless_all_levels_were_given(
    anonymization: Callable[..., AnonymizationResult],
) -> None:
    found = anonymization()
    assert found.levels
    _, *others = found.levels
    given = {"anonymize": {"levels": dict.fromkeys(found.levels, 1)}}
    partly = {"anonymize": {"levels": dict.fromkeys(others, 1)}}
    local = replace(found, levels=None)
    said = "(minimality attack, downcoding)"
    assert said not in guarantee_sentence(found, CONFIG | given, Evaluation(()))
    for result, config in ((found, CONFIG), (found, CONFIG | partly), (local, CONFIG)):
        assert said in guarantee_sentence(result, config, Evaluation(()))


def test_without_anonymization_nothing_is_promised() -> None:
    text = guarantee_sentence(None, CONFIG, Evaluation(()))
    assert text.startswith("Nothing was anonymized")
    assert "Each of the training records" in text
    assert "No attack on the published table was measured." in text


def test_attacks_are_named_that_ran_and_no_others() -> None:
    rng = np.random.default_rng(1)
    train, control, table = (make_people(40, rng) for _ in range(3))
    options = EvaluateOptions(metrics=("identical_match", "dcr_share", "kolmogorov_smirnov", "copied_identifiers"))
    found = evaluate(train, control, {"synthetic": table, "original": train}, options, rng)
    text = guarantee_sentence(None, CONFIG, found)
    named = re.search(r"measured empirically by ([^;]*);", text)
    assert named is not None and set(named[1].split(", ")) == {"identical_match", "dcr_share"}
    assert "Not computable: copied_identifiers." in text


EVERY_TRANSITION = [
    pytest.param(name, options, id="-".join([name, *(f"{key}={value}" for key, value in options.items())]))
    for name, options in CHOICES
]


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize(("name", "options"), EVERY_TRANSITION)
def test_every_transition_that_reads_originals_is_admitted(
    name: str, options: dict[str, Any], order: str, anonymization: Callable[..., AnonymizationResult]
) -> None:
    strategy = REGISTRY[name]
    config = CONFIG | {"transition": {"method": name, "order": order, **options}}
    text = guarantee_sentence(anonymization(), config, Evaluation(()))
    reads = strategy.reads_originals(strategy.Options(**options))
    undone = name == "original" and order == "pre"
    assert ("estimated on the original records" in text) == (reads and not undone)
    assert ("not a function of the k-anonymous table alone" in text) == reads
    assert ("reads no original value beyond its domain" in text) != reads
    assert (f"by the method {name}," in text) != undone
    assert ("learned with the values they had before anonymization" in text) == undone


def test_of_an_unknown_transition_nothing_good_is_said(anonymization: Callable[..., AnonymizationResult]) -> None:
    text = guarantee_sentence(anonymization(), CONFIG | {"transition": {"method": "gone"}}, Evaluation(()))
    assert "estimated on the original records" in text


CLASSES = (1, 2, 3, 7, 12)
"""Sizes of the strata of 25 records."""
METHODS, ALLOCATIONS = (get_args(SampleOptions.model_fields[name].annotation) for name in ("method", "allocation"))
EVERY_SAMPLE = [
    SampleOptions(method=method, beta=beta, allocation=allocation, minimum=minimum)
    for method in METHODS
    for allocation in ALLOCATIONS
    for minimum in (0, 2)
    for beta in (0.1, 0.5, 1.0)
]


@pytest.mark.parametrize("options", EVERY_SAMPLE, ids=lambda one: "-".join(map(str, one.model_dump().values())))
def test_the_sentence_about_sampling_is_true(
    options: SampleOptions, anonymization: Callable[..., AnonymizationResult]
) -> None:
    """Against 4,000 samples: a share of 4,000 is wrong by more than .04 once in a million."""
    config = CONFIG | {"sample": options.model_dump(mode="json")}
    text = guarantee_sentence(anonymization(), config, Evaluation(()))
    strata = np.repeat(np.arange(len(CLASSES)), CLASSES)
    kept = _kept(options.effective.model_dump_json())
    often = kept.mean(axis=0)
    sizes = np.column_stack([kept[:, strata == one].sum(axis=1) for one in range(len(CLASSES))])
    said = re.search(r"(at least )?(0\.\d+)", text)
    if "All records of the intermediate table were used" in text:
        assert said is None and kept.all()
        return
    assert said is not None and float(said[2]) == options.beta
    assert not kept.all(axis=1).all()
    least = re.search(r"at least (\d+) of every stratum", text)
    if least is not None:
        assert (sizes >= np.minimum(int(least[1]), CLASSES)).all()
        assert (often > options.beta - 0.04).all()
        assert often[strata == 0].min() == 1.0  # a stratum of one: no probability below 1 may be claimed for it
    else:
        assert np.abs(often - options.beta).max() < 0.04
    if "Each of the records" in text:
        assert len(np.unique(kept.sum(axis=1))) > 2  # independent: the number of records varies
    elif "rounded" in text and least is None:
        exact = options.beta * (np.array(CLASSES) if "within every stratum" in text else len(strata))
        counts = sizes if "within every stratum" in text else kept.sum(axis=1)
        assert (np.abs(counts - exact) < 1).all()
    assert ("within" in text.split("was used")[-1].split(";")[0]) == (options.method == "stratified")


@cache
def _kept(sampling: str) -> NDArray[np.bool_]:
    """Which of 25 records are sampled, 4,000 times: strata of all times together, other methods one by one."""
    options = SampleOptions.model_validate_json(sampling)
    strata = np.repeat(np.arange(len(CLASSES)), CLASSES)
    rng = np.random.default_rng(7)
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.INTEGER) for name in ("time", "stratum", "row")))
    at_once = options.method != "simple"
    times = 4000 if at_once else 1
    frame = pd.DataFrame({"time": np.repeat(np.arange(times), len(strata)), "stratum": np.tile(strata, times)})
    numbered = Table(frame.astype("Int64").assign(row=np.arange(len(frame))).astype("Int64"), schema)
    by_column = options.model_copy(update={"by": ["time", "stratum"]})
    kept = np.zeros((4000, len(strata)), dtype=bool)
    for time in range(1 if at_once else 4000):
        rows = sample_table(numbered, by_column, rng).frame["row"].to_numpy(dtype=np.int64)
        kept[(slice(None) if at_once else slice(time, time + 1))].reshape(-1)[rows] = True
    return kept


def test_other_models_and_no_generator_are_told(anonymization: Callable[..., AnonymizationResult]) -> None:
    recursive = {"model": "l_diversity", "kind": "recursive", "l": 3.0, "c": 2.5, "attribute": "ward"}
    models = (recursive, {"model": "t_closeness", "t": 0.2, "attribute": "pay"})
    config = CONFIG | {"synthesize": {"generator": "none"}}
    text = guarantee_sentence(anonymization(models=models, verified={}), config, Evaluation(()))
    assert (
        "recursive l-diversity of ward with l = 3 and c = 2.5, t_closeness of pay (t = 0.2; compared with all" in text
    )
    assert "no generator was trained" in text
    assert "checked again" not in text


@pytest.mark.parametrize(
    ("generator", "constraint", "said", "unsaid"),
    [
        ("cart", {"le": ["a", "b"]}, "drawn again.", "learned from the original records"),
        ("cart", {"combinations": ["a", "b"]}, "may occur together was learned from the original records.", "left out"),
        ("none", {"le": ["a", "b"]}, "between columns were left out.", "drawn again"),
        ("cart", {"unheard of": []}, "was learned from the original records.", "left out"),
    ],
)
def test_what_became_of_rows_that_break_a_constraint_is_said(
    generator: str, constraint: dict[str, Any], said: str, unsaid: str
) -> None:
    config = {"synthesize": {"generator": generator}, "constraints": [constraint], "protect": "off"}
    text = guarantee_sentence(None, config, Evaluation(()))
    assert "Rows that broke a declared constraint between columns were" in text
    assert said in text and unsaid not in text
    assert "constraint" not in guarantee_sentence(None, {**config, "constraints": []}, Evaluation(()))
