"""Households of linked tables: on one side of the split, counted by protection and by k, in all tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError, DataError
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.guarantee import guarantee_sentence
from tests.pipeline.tables.hospital import content, frames, write

RARE = "family disease"


def loaded(folder: Path, homes: Any, **visits: Any) -> RunConfig:
    """Patients in households, of whom the members of the first one share a diagnosis that nobody else has."""
    tables, settings = frames(240), content()
    tables["patients"]["home"] = homes
    first = tables["patients"]["patient"][tables["patients"]["home"] == "H0"]
    tables["visits"].loc[tables["visits"]["patient"].isin(first), "diagnosis"] = RARE
    settings["tables"]["patients"] |= {"household": "home"}
    settings["tables"]["patients"]["columns"]["home"] = {"role": "identifier"}
    settings["tables"]["visits"] |= visits
    settings["anonymize"] |= {"models": [{"model": "households", "least": 3}]}
    return load_config(write(folder, tables, settings))


def homes(n: int = 240) -> list[str]:
    """Twelve people in the first household, three in each other one."""
    return [f"H{0 if at < 12 else at // 3}" for at in range(n)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    config = loaded(tmp_path_factory.mktemp("homes"), homes())
    with_all = config.with_values({"split.control": 0.3})
    # A seed with which the large household is among the training people.
    seeds = (Pipeline(with_all, seed=seed) for seed in range(20))
    return next(one for one in seeds if RARE in one.tables["visits"].train.frame["diagnosis"].unique())


def test_members_are_on_one_side_with_all_of_their_rows(run: Pipeline) -> None:
    for table in run.tables.values():
        assert table.control is not None and table.train.has_households and table.control.has_households
        assert not set(table.train.households.tolist()) & set(table.control.households.tolist())
    people, visits = run.tables["patients"].train, run.tables["visits"].train
    of = pd.Series(people.households, index=people.persons)
    assert (of.reindex(visits.persons).to_numpy() == visits.households).all()


def test_what_only_one_household_has_is_replaced_in_every_table(run: Pipeline) -> None:
    visits = run.tables["visits"]
    rare = (visits.train.frame["diagnosis"] == RARE).to_numpy()
    assert len(np.unique(visits.train.persons[rare])) > 5, "people enough, were they strangers"
    assert RARE not in set(visits.learned.frame["diagnosis"].astype(str))
    assert RARE not in set(run.released["visits"].frame["diagnosis"].astype(str))


def test_every_class_has_people_of_as_many_households_as_asked_for(run: Pipeline) -> None:
    found = run.anonymized
    assert found is not None and found.result.household is not None
    assert pd.Series(found.originals.households).groupby(found.class_ids).nunique().min() >= 3
    guarantee = guarantee_sentence(found.result, run.config.model_dump(mode="json"), Evaluation(()))
    assert "persons of at least 3 households" in guarantee and "training households" in guarantee
    assert sentence("guarantee.no_households") in guarantee
    said = [finding.message for finding in diagnose(run.config)]
    assert any("households with up to 12 persons each" in one for one in said)
    assert not set(run.released["patients"].frame["home"].astype(str)) & set(homes())


def test_households_elsewhere_than_in_the_person_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tables\.visits\.household: persons have households"):
        loaded(tmp_path, homes(), household="hospital")
    with pytest.raises((ConfigError, DataError), match=r"tables\.patients\.household: the column 'sex' does not have"):
        settings = content()
        settings["tables"]["patients"]["household"] = "sex"
        load_config(write(tmp_path, settings=settings))
