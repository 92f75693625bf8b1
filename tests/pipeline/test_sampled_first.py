"""Sampling before anonymization, through the pipeline and the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Evaluation
from hybrid.jobs.run import membership_of
from hybrid.pipeline.amplification import epsilon_for
from hybrid.pipeline.config import load_config
from hybrid.pipeline.stages import stage_records
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.description.provenance import _steps
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.protection_words import _sampled
from hybrid.sample import SampleOptions
from hybrid.synthesize.fitted import FittedGenerator
from hybrid.table import Table
from hybrid.table.record_hash import SECRET_BYTES
from tests.pipeline.sampled_first import write_people


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def computed(path: Path) -> TableRun:
    pipeline = TableRun(load_config(path), seed=11)
    _ = pipeline.generated
    return pipeline


def test_classes_are_counted_in_the_sample_and_small_ones_left_out(computed: TableRun) -> None:
    found, sampled = computed.anonymized, computed.sampled
    assert found is not None and sampled is not None and computed.anonymization is not None
    drawn = computed.anonymization.drawn
    assert drawn is not None
    assert (sampled.before, sampled.expected) == (len(computed.train), 0.25 * len(computed.train))
    assert sampled.actual == len(drawn.table) == found.result.records < 0.4 * len(computed.train)
    # By hand: cells of age group and region among the drawn records alone.
    frame = drawn.table.frame
    sizes = frame.groupby([frame["age"] // 20, "region"], observed=True).size()
    assert (sizes < 8).any() and found.result.suppressed == sizes[sizes < 8].sum()
    assert sorted(np.bincount(found.class_ids)) == sorted(sizes[sizes >= 8])
    assert len(computed.generated.table) == sizes[sizes >= 8].sum()
    assert drawn.table.frame.equals(computed.train.frame.take(drawn.kept).reset_index(drop=True))


def test_without_identifiers_no_row_has_a_person_number(path: Path) -> None:
    without = TableRun(load_config(path, {"output.identifiers": "drop"}), seed=11)
    assert without.synthetic.schema.names == ["age", "region"] and len(without.synthetic) > 0
    content = without.config.model_dump(mode="json")
    assert sentence("guarantee.rows") in guarantee_sentence(None, content, Evaluation(()))
    assert sentence("guarantee.rows.numbered") not in guarantee_sentence(None, content, Evaluation(()))


def test_every_row_is_one_that_the_generator_drew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, sample = [], FittedGenerator.sample

    def recorded(fitted: FittedGenerator, n_rows: int, seed: int) -> Table:
        drawn.append(sample(fitted, n_rows, seed))
        return drawn[-1]

    monkeypatch.setattr(FittedGenerator, "sample", recorded)
    run = TableRun(load_config(path, {"synthesize.generator": "baynet", "output.identifiers": "drop"}), seed=11)
    released, (made,) = run.synthetic.frame, drawn
    names = list(released)
    assert len(released) == len(made.frame)
    assert released.value_counts(names).sort_index().equals(made.frame.value_counts(names).sort_index())


def test_only_drawn_records_are_members_of_classes(computed: TableRun) -> None:
    """Others with the same values hide nobody in the sample."""
    assert computed.anonymized is not None
    assert len(membership_of(computed, b"0" * SECRET_BYTES).records) == len(computed.anonymized)


def test_stages_keys_and_words_follow_the_order(computed: TableRun) -> None:
    assert computed.config.described_stages == ("sample", "anonymize", "transition")
    assert list(computed.keys)[:2] == ["sample", "anonymize"]
    rows = [one.name for one in stage_records(computed)]
    assert rows.index("sample") < rows.index("anonymize")
    content = computed.config.model_dump(mode="json")
    assert _steps(content)[:2] == ["sample", "anonymize"]
    assert computed.anonymized is not None
    said = guarantee_sentence(computed.anonymized.result, content, Evaluation(()), private=True)
    assert "Each of the training persons was used with probability 0.25, before it was anonymized" in said
    assert _sampled(SampleOptions(method="beta", beta=0.25, order="pre"), several=False).startswith(
        "Each record was used"
    )


def test_a_chosen_seed_voids_the_claim(path: Path) -> None:
    secret, chosen = TableRun(load_config(path)), TableRun(load_config(path), seed=0)
    assert secret.is_private and not chosen.is_private
    assert next(one.text for one in chosen.promises.explanation.conditions if not one.met).startswith(
        "the sample is secret"
    )
    number = epsilon_for(8, 0.25, 2e-5)
    assert number is not None and number.epsilon > 1
    assert "no epsilon brings delta below beta ** k = 1.5e-05" in secret.promises.explanation.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"anonymize": None, "transition": None}, "nothing is anonymized"),
        ({"sample.method": "stratified"}, "there are no classes"),
        ({"stages": ["anonymize", "sample", "transition"]}, r"describe the order \[sample, anonymize, transition\]"),
    ],
)
def test_impossible_orders_are_refused(path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TableRun(load_config(path, changes))
