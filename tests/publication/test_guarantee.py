"""The sentence promises what holds, says of what, and claims nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hybrid.anonymize.result import AnonymizationResult
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.guarantee import guarantee_sentence

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
    assert "smallest class has 5 records, and 20 of 1000 records were suppressed" in text
    assert "for nothing else" in text
    assert "published rows themselves are not k-anonymous" in text
    assert "Each of the records of the intermediate table was used with probability 0.5;" in text
    assert "No differential privacy is claimed." in text
    assert "measured empirically by identical_match, dcr_share;" in text
    assert "Not computable: inference." in text


def test_without_anonymization_nothing_is_promised() -> None:
    text = guarantee_sentence(None, CONFIG, Evaluation(()))
    assert text.startswith("Nothing was anonymized")
    assert "Each of the training records" in text
    assert "No attack on the published table was measured." in text


def test_looking_at_the_originals_is_admitted(anonymization: Callable[..., AnonymizationResult]) -> None:
    conditional = CONFIG | {"transition": {"method": "conditional"}}
    assert "estimated on the original records" in guarantee_sentence(anonymization(), conditional, Evaluation(()))
    assert "estimated on the original" not in guarantee_sentence(anonymization(), CONFIG, Evaluation(()))


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ({"method": "beta", "beta": 1.0}, "All records of the intermediate table were used;"),
        ({"method": "simple", "beta": 0.25}, "A random share of 0.25 of the records"),
        ({"method": "stratified", "beta": 0.5}, "with probability 0.5 within strata"),
    ],
)
def test_sampling_is_told(
    sample: dict[str, Any], words: str, anonymization: Callable[..., AnonymizationResult]
) -> None:
    assert words in guarantee_sentence(anonymization(), CONFIG | {"sample": sample}, Evaluation(()))


def test_other_models_and_no_generator_are_told(anonymization: Callable[..., AnonymizationResult]) -> None:
    recursive = {"model": "l_diversity", "kind": "recursive", "l": 3.0, "c": 2.5, "attribute": "ward"}
    models = (recursive, {"model": "t_closeness", "t": 0.2, "attribute": "pay"})
    config = CONFIG | {"synthesize": {"generator": "none"}}
    text = guarantee_sentence(anonymization(models=models, verified={}), config, Evaluation(()))
    assert "recursive l-diversity of ward with l = 3 and c = 2.5, t_closeness of pay (t = 0.2)" in text
    assert "no generator was trained" in text
    assert "checked again" not in text
