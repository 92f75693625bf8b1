"""No value comes out that only control, suppressed or unsampled records have, unless a file lists it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError
from hybrid.hierarchy.build import build_hierarchy, hierarchy_of_values
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec, MaskSpec, TreeSpec
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.table_run import TableRun
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Schema
from hybrid.transition import REGISTRY, fit_transition
from hybrid.transition.fit import with_known_values
from tests.transition.choices import CHOICES, assert_generalizes_back, for_every_choice
from tests.transition.transition_tables import QI, Role, anonymized_table

COLUMNS = (
    Column("zip", QI, Kind.CATEGORICAL),
    Column("town", QI, Kind.CATEGORICAL),
    Column("age", QI, Kind.INTEGER),
    Column("pay", QI, Kind.DECIMAL, format=ColumnFormat(decimals=1)),
    Column("born", QI, Kind.DATE),
    Column("ill", Role.SENSITIVE, Kind.CATEGORICAL, target=True),
    Column("visits", Role.INSENSITIVE, Kind.INTEGER),
)
SPECS = {
    "zip": MaskSpec(),
    "town": GroupsSpec(levels=({"listed": ("Ulm", "Bonn")},), others="other"),
    "age": IntervalsSpec(widths=(10, 50), bottom=18, top=90),
    "pay": IntervalsSpec(widths=(10,), top=100),
    "born": DatesSpec(),
}


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "zip": [f"{code:05d}" for code in rng.integers(10000, 10400, n)],
            "town": rng.choice(["Ulm", "Bonn", "Kiel", "Jena", "Gera"], n),
            "age": rng.integers(16, 95, n),
            "pay": np.round(rng.uniform(0, 130, n), 1),
            "born": np.datetime64("1990-01-01") + rng.integers(0, 9000, n).astype("timedelta64[D]"),
            "ill": rng.choice(["yes", "no"], n),
            "visits": rng.poisson(3, n),
        }
    )


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({column.name: DTYPES[column.kind] for column in COLUMNS})


def some_of_a_table(n: int = 240, levels: object = None):
    """An anonymized table of a third of the records whose hierarchies were built for all of them."""
    frame = typed(people(n, 1))
    whole = {name: build_hierarchy(spec, Schema(COLUMNS)[name], frame[name]) for name, spec in SPECS.items()}
    top = {name: hierarchy.n_levels - 1 for name, hierarchy in whole.items()}
    everything = anonymized_table(frame, COLUMNS, whole, levels or top)
    return everything, everything.take(np.arange(0, n, 3))


@for_every_choice
@pytest.mark.parametrize("local", [False, True])
def test_only_own_values_come_out_and_the_others_decide_nothing(name, options, local):
    rng = np.random.default_rng(5)
    levels = {key: rng.integers(1, 3, 240) for key in SPECS} if local else None
    everything, own = some_of_a_table(levels=levels)
    strategy = REGISTRY[name]
    fitted = fit_transition(strategy, own, strategy.Options(**options), np.random.default_rng(0))
    restored = fitted.restore(own.labels, np.random.default_rng(1)).table
    assert_generalizes_back(own.labels, restored)
    mine, all_values = own.originals.frame, everything.originals.frame
    for column in ("zip", "town"):
        allowed = set(mine[column]) | ({"Ulm", "Bonn"} if column == "town" else set())
        assert set(all_values[column]) - set(mine[column]) or column == "town"
        assert set(restored.frame[column].dropna()) <= allowed
    # Numbers and dates: inside the intervals, periods and open ends that own values have.
    age, pay, born = (restored.frame[column] for column in ("age", "pay", "born"))
    assert age.min() >= min(18, mine["age"].min()) and age.max() <= max(89, mine["age"].max())
    assert pay.max() <= max(99.9, mine["pay"].max())
    assert born.dt.year.min() // 10 >= mine["born"].dt.year.min() // 10
    # The records that are not learned from may be any others: nothing changes.
    only_own = with_known_values(own)
    again = strategy.fit(only_own, strategy.Options(**options), np.random.default_rng(0))
    same = again.restore(only_own.labels, np.random.default_rng(1)).table
    assert same.frame.astype(object).equals(restored.frame.astype(object))


def test_a_hierarchy_of_some_values_depends_on_these_alone():
    frame = typed(people(400, 2))
    for name, spec in SPECS.items():
        column, own = Schema(COLUMNS)[name], frame[name].iloc[:30]
        of_all = hierarchy_of_values(build_hierarchy(spec, column, frame[name]), column, own)
        of_others = hierarchy_of_values(build_hierarchy(spec, column, frame[name].iloc[:90]), column, own)
        assert of_all.leaves.tolist() == of_others.leaves.tolist()
        assert of_all.labels == of_others.labels
        assert (of_all.low.tolist(), of_all.high.tolist()) == (of_others.low.tolist(), of_others.high.tolist())


def test_a_mask_without_levels_keeps_those_of_the_longest_value():
    column = Column("x", QI, Kind.CATEGORICAL)
    whole = build_hierarchy(MaskSpec(), column, pd.Series(["12345", "12", "13"], dtype="category"))
    some = hierarchy_of_values(whole, column, pd.Series(["12", "13"], dtype="category"))
    assert some.n_levels == whole.n_levels == 6
    assert some.leaves.tolist() == ["12", "13"]


def test_a_hierarchy_whose_file_lists_every_value_stays_whole():
    column = Column("x", QI, Kind.CATEGORICAL)
    for spec in (TreeSpec(tree={"South": ["Ulm"], "West": ["Bonn"]}), GroupsSpec(levels=({"all": ("Ulm", "Bonn")},))):
        whole = build_hierarchy(spec, column, pd.Series(["Ulm"], dtype="category"))
        assert whole.rule is None
        assert hierarchy_of_values(whole, column, pd.Series([], dtype="category")) is whole


def test_only_missing_values_are_left():
    frame = pd.DataFrame({"zip": ["12345", "12346", None, None]})
    column = Column("zip", QI, Kind.CATEGORICAL)
    whole = build_hierarchy(MaskSpec(), column, frame["zip"].astype("category"))
    for level in range(whole.n_levels):
        own = anonymized_table(frame, [column], {"zip": whole}, {"zip": level}).take(np.array([2, 3]))
        for strategy in (REGISTRY["uniform"], REGISTRY["tree"]):
            fitted = fit_transition(strategy, own, strategy.Options(), np.random.default_rng(0))
            assert fitted.restore(own.labels, np.random.default_rng(0)).table.frame["zip"].isna().all()


def test_a_label_that_no_record_carries_is_refused():
    everything, own = some_of_a_table(30, dict.fromkeys(SPECS, 0))
    fitted = fit_transition(REGISTRY["uniform"], own, REGISTRY["uniform"].Options(), np.random.default_rng(0))
    with pytest.raises(DataError, match=r"'zip'.* that no record carries") as error:
        fitted.restore(everything.labels, np.random.default_rng(0))
    assert error.value.problems[0].hint


HIERARCHIES = {
    "mask": "type: mask\nkeep: [2]\n",
    "groups": "type: groups\nlevels:\n  - listed: [C0001, T0001]\nothers: other\n",
    "listed": None,
}


class PipelineRun:
    """A run over codes of which control, suppressed (S...) and unsampled records have some that no other has."""

    def __init__(self, folder: Path, hierarchy: str, method: str, order: str, options: dict[str, object]) -> None:
        n = 400
        rng = np.random.default_rng(3)
        codes = np.array([f"T{code:04d}" for code in rng.integers(0, 400, n)])
        self.frame = pd.DataFrame({"code": codes, "ill": rng.choice(["yes", "no"], n), "visits": rng.poisson(3, n)})
        self.hierarchy, self.folder = hierarchy, folder
        self.transition = {"method": method, "order": order, **options}

    @cached_property
    def pipeline(self) -> TableRun:
        """Suppress the records of an outlying group, so that their codes are theirs alone."""
        frame = self.frame
        frame.loc[frame.index[:3], "code"] = ["S0001", "S0002", "S0003"]
        frame["group"] = "common"
        frame.loc[frame.index[:3], "group"] = ["rare1", "rare2", "rare3"]
        frame.to_csv(self.folder / "people.csv", index=False)
        text = HIERARCHIES[self.hierarchy]
        file = self.folder / f"code.{'csv' if text is None else 'yaml'}"
        file.write_text(text or "".join(f"{code};{code[:2]};*\n" for code in sorted(set(frame["code"]))))
        (self.folder / "group.csv").write_text("".join(f"{g};*\n" for g in ("common", "rare1", "rare2", "rare3")))
        quasi = {"role": "quasi_identifier", "kind": "categorical"}
        config = {
            "seed": 1,
            "data": {
                "path": str(self.folder / "people.csv"),
                "columns": {
                    "code": {**quasi, "hierarchy": str(file)},
                    "group": {**quasi, "hierarchy": str(self.folder / "group.csv")},
                    "ill": {"role": "sensitive"},
                },
            },
            "protect": "off",  # the transition alone must keep them back
            "split": {"control": 0.3},
            "anonymize": {"k": 5, "suppression_limit": 0.2, "levels": {"code": 2, "group": 0}},
            "sample": {"method": "beta", "beta": 0.8},
            "transition": self.transition,
            "synthesize": {"generator": "none"},
        }
        return TableRun(RunConfig.model_validate(config))

    def shares(self) -> tuple[set[str], set[str]]:
        """Codes that came out, and those that a record has from which the transition learned."""
        assert self.pipeline.sampled is not None
        return set(self.pipeline.generated.table.frame["code"]), set(
            self.pipeline.sampled.anonymized.originals.frame["code"]
        )


@pytest.mark.parametrize(("name", "options"), [choice for choice in CHOICES if choice[0] != "original"])
@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("hierarchy", ["mask", "groups"])
def test_no_run_publishes_a_value_that_only_others_have(tmp_path, hierarchy, order, name, options):
    made = PipelineRun(tmp_path, hierarchy, name, order, options)
    out, own = made.shares()
    listed = {"C0001", "T0001"} if hierarchy == "groups" else set()
    control, suppressed = made.pipeline.control, made.pipeline.anonymized.suppressed
    assert len(set(control.frame["code"]) - own) > 50
    assert set(suppressed.frame["code"]) - own
    assert out <= own | listed


def test_a_listed_value_may_come_out_whoever_has_it(tmp_path):
    made = PipelineRun(tmp_path, "listed", "uniform", "pre", {})
    out, own = made.shares()
    assert out - own
