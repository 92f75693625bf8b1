"""Techniques through the command line, and the sentences of explanation, certificate and gate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence
from hybrid.cli import main
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config, parse_config
from hybrid.pipeline.early_refusals import too_great_k
from hybrid.pipeline.privacy_statements import StatementBasis
from hybrid.pipeline.promises import promises
from hybrid.publication.gate import judge
from hybrid.publication.guarantee import guarantee_sentence, technique_sentences
from hybrid.publication.policy import load_policy
from hybrid.publication.protection_words import protection
from hybrid.publication.table_facts import TableFacts
from tests.anonymize.masked_tables import SCHEMA, people

COLUMNS = {column.name: {"role": column.role.value, "kind": column.kind.value} for column in SCHEMA}
HALVES = [{"name": "microaggregation", "columns": part} for part in (["age", "pay"], ["school", "town", "born"])]
SENTENCE = "has k-anonymity with k = 4"


def _content(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "name": "people",
        "seed": 7,
        "data": {"path": "people.csv", "columns": COLUMNS},
        "protect": "off",
        "anonymize": {"k": 4, "technique": "microaggregation"},
        "synthesize": {"generator": "none"},
        "evaluate": {"baseline": False, "power": False, "metrics": ["identical_match"]},
    } | changes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of microaggregation."""
    made = tmp_path_factory.mktemp("people")
    people(120).frame.to_csv(made / "people.csv", index=False)
    (made / "people.yaml").write_text(yaml.safe_dump(_content()))
    with pytest.raises(SystemExit) as caught:
        main(["run", str(made / "people.yaml"), "--out", str(made / "out")])
    assert caught.value.code in (0, 1, 2, None)
    return made


@pytest.fixture(scope="module")
def result(folder: Path) -> AnonymizationResult:
    return AnonymizationResult.from_json(json.loads((folder / "out" / "anonymization.json").read_text()))


def _apart(result: AnonymizationResult) -> AnonymizationResult:
    """The same result of a technique that promises nothing, though its groups happen to be large."""
    assert result.steps is not None
    return replace(result, steps=tuple(step | {"promise": "none"} for step in result.steps))


def test_a_run_without_hierarchies_gives_values_that_k_records_share(
    folder: Path, result: AnonymizationResult, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(folder / "out" / "synthetic.csv")
    names = [name for name in table.columns if name != "illness"]
    assert table.groupby(names).size().min() >= 4, "single keeps masked values, and no generator ran"
    assert result.k_anonymous and result.smallest >= 4
    report = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "were microaggregated" in report and "No other generalization" not in report
    with pytest.raises(SystemExit):
        main(["explain", str(folder / "people.yaml")])
    said = " ".join(capsys.readouterr().out.split())
    assert "shared by at least 4 records" in said and "No differential privacy is claimed" in said


def test_the_certificate_promises_k_only_where_it_holds(result: AnonymizationResult) -> None:
    config = _content() | {"transition": {"method": "single"}}
    text = guarantee_sentence(result, config, Evaluation(()))
    assert SENTENCE in text and "were microaggregated" in text and "Masked values were kept as they are" in text
    assert "generalized" not in text.replace("not generalized", "")
    nothing = guarantee_sentence(_apart(result), config, Evaluation(()))
    assert "k-anonymity with" not in nothing and "The intermediate table has no k-anonymity" in nothing
    drawn = guarantee_sentence(result, config | {"transition": {"method": "conditional"}}, Evaluation(()))
    assert "in place of masked ones by the method conditional, whose distributions are estimated on the orig" in drawn


@pytest.mark.parametrize(
    ("technique", "columns"),
    [
        ({"name": "microaggregation"}, ["age", "school"]),
        ({"name": "noise"}, ["age", "pay"]),
        ({"name": "noise", "kind": "multiplicative"}, ["age", "pay"]),
        ({"name": "rank_swapping"}, ["age", "pay"]),
        ({"name": "coding"}, ["age", "pay"]),
        ({"name": "pram"}, ["school", "town"]),
    ],
)
def test_every_kept_step_is_known_and_says_what_it_did(technique: dict[str, Any], columns: list[str]) -> None:
    """Options as a result keeps them are read again, defaults among them."""
    chosen = AnonymizeOptions.model_validate({"k": 4, "technique": technique})
    found = anonymize_in_steps(people(60).only([*columns, "illness"]), {}, chosen, np.random.default_rng(0))
    kept = AnonymizationResult.from_json(json.loads(json.dumps(found.result.to_json())))
    (said,) = technique_sentences(kept)
    assert said != sentence("guarantee.unknown") and all(column in said for column in columns)
    assert ("it is no k-anonymity" in said) == (not kept.k_anonymous)
    assert kept.information_loss is not None and kept.information_loss["average_class_size"] >= 1


def test_local_privacy_of_a_step_is_the_only_one_claimed() -> None:
    """The certificate does not claim and deny differential privacy of the same values."""
    matrix = {"values": ["Bonn", "Kiel", "Ulm"], "rows": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}
    options = {"name": "pram", "invariant": False, "matrices": {"town": matrix}}
    chosen = AnonymizeOptions.model_validate({"technique": options})
    found = anonymize_in_steps(people(60).only(["town", "illness"]), {}, chosen, np.random.default_rng(0)).result
    said = [guarantee_sentence(one, _content(), Evaluation(())) for one in (found, replace(found, steps=()))]
    assert (
        "epsilon = 2.0795" in said[0]
        and sentence("guarantee.claim.local") in said[0]
        and sentence("guarantee.claim.none") not in said[0]
    )
    assert sentence("guarantee.claim.none") in said[1] and ". Fewer than 10 of about 60 records" in said[0]


def test_losses_are_published_with_three_digits(result: AnonymizationResult) -> None:
    published = [
        result.loss["value"],
        *result.loss["per_attribute"].values(),
        *(result.information_loss or {}).values(),
    ]
    assert len(published) > 8 and all(value == float(f"{value:.3g}") for value in published)


def test_unknown_techniques_promise_nothing(result: AnonymizationResult) -> None:
    unknown = replace(result, steps=({"options": {"name": "magic"}, "columns": ["age"]},))
    text = guarantee_sentence(unknown, _content(), Evaluation(()))
    assert sentence("guarantee.unknown") in text and "k-anonymity with" not in text


def test_the_gate_does_not_count_groups_that_nobody_promised(result: AnonymizationResult) -> None:
    policy = load_policy(RunConfig.model_validate(_content()).policy_path)
    large = replace(result, min_class_size=50)
    checks = [
        {check.rule: check for check in judge(policy, Evaluation(()), one, draws=1).checks}
        for one in (large, _apart(large))
    ]
    assert checks[0]["k-anonymity"].status == "pass"
    assert checks[1]["k-anonymity"].status == "not judged" and checks[1]["k-anonymity"].applies


def test_the_first_page_says_what_was_done(result: AnonymizationResult) -> None:
    table = people(30)
    facts = TableFacts.of(table, None, table, anonymized=True)
    config = _content() | {"transition": {"method": "single", "order": "pre"}}
    promised = " ".join(protection(facts, config, result, False))
    assert "were changed until at least 4 records look alike" in promised and "used as they are" in promised
    nothing = " ".join(protection(facts, config, _apart(result), False))
    assert "no groups of people look alike" in nothing and "Nothing is proven" in nothing


def test_explanations_state_the_weakest_promise() -> None:
    def text(technique: Any) -> str:
        config = RunConfig.model_validate(_content(anonymize={"k": 4, "technique": technique}))
        (found,) = promises(StatementBasis(config, SCHEMA), ())
        assert not found.holds
        return found.text

    assert "shared by at least 4 records" in text("microaggregation")
    assert "No k-anonymity is promised" in text(HALVES) and "shared by at least" not in text(HALVES)


def test_a_comparison_groups_by_the_k_that_is_promised() -> None:
    said = [
        RunConfig.model_validate(_content(anonymize={"k": 4, "technique": one})) for one in ("microaggregation", HALVES)
    ]
    assert [config.promised_k for config in said] == [4, 0]
    assert RunConfig.model_validate(_content(anonymize=None)).promised_k == 0


def test_a_k_above_the_people_is_told_where_a_technique_promises_one() -> None:
    table = people(120)
    for technique, is_told in (("microaggregation", True), (HALVES, False)):
        found = too_great_k(parse_config(_content(anonymize={"k": 130, "technique": technique})), table)
        assert (found is not None and "k is 130 but there are only 120 records" in found.message) == is_told


def test_the_default_transition_keeps_masked_values() -> None:
    config = parse_config(_content())
    assert config.transition is not None and config.transition.method == "single"
    listed = _content(anonymize={"technique": [{"name": "suppression"}]})
    assert RunConfig.model_validate(listed).transition.method == "tree"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transition": {"method": "tree"}}, "tree chooses values below labels, and microaggregation has masked"),
        ({"transition": {"method": "single", "order": "post"}}, "has the generator learn labels"),
        ({"anonymize": {"technique": "suppression"}}, "a quasi-identifier needs a hierarchy"),
    ],
)
def test_sections_that_contradict_a_technique_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_config(_content(**changes))


def test_a_check_names_the_steps_and_what_they_do_not_promise(folder: Path) -> None:
    def found(**overrides: Any) -> str:
        config = load_config(folder / "people.yaml", {key.replace("__", "."): one for key, one in overrides.items()})
        return "\n".join(finding.message for finding in diagnose(config))

    assert "microaggregation (age, pay, school, town, born): k-anonymity with k=4" in found()
    assert "no k-anonymity is promised" in found(anonymize__technique=HALVES)
    with pytest.raises(ConfigError, match="town: no step masks this quasi-identifier"):
        found(anonymize__technique=HALVES[:1])
