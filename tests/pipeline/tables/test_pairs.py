"""Accounts that several clients may use: one owns them, and the pairs of a release fit its owners."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hybrid.base.errors import ConfigError
from hybrid.cli import app
from hybrid.jobs.start import configuration
from hybrid.pipeline.links import LinkOptions, ThroughOptions, structure_problems
from hybrid.pipeline.released_keys import _partners
from hybrid.pipeline.sources import read_sources
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame

CLIENTS, ACCOUNTS = 400, 300


def write_bank(folder: Path) -> None:
    """Every account has one owner; a quarter of the clients may use the account of somebody else."""
    rng = np.random.default_rng(5)
    ids = rng.permutation(CLIENTS) + 100
    clients = pd.DataFrame(
        {"client_id": ids, "age": rng.integers(18, 90, CLIENTS), "sex": rng.choice(["f", "m"], CLIENTS)}
    )
    accounts = pd.DataFrame({"account_id": rng.permutation(ACCOUNTS) + 5000})
    accounts["frequency"] = rng.choice(["monthly", "weekly"], ACCOUNTS)
    owned = pd.DataFrame({"client_id": ids[:ACCOUNTS], "account_id": accounts["account_id"], "type": "OWNER"})
    users = pd.DataFrame({"client_id": ids[ACCOUNTS:], "account_id": rng.choice(accounts["account_id"], 100)})
    disp = pd.concat([users.assign(type="USER"), owned]).sample(frac=1, random_state=1, ignore_index=True)
    disp.insert(0, "disp_id", np.arange(len(disp)) + 9000)
    orders = pd.DataFrame({"account_id": rng.choice(accounts["account_id"], 900), "amount": rng.integers(10, 900, 900)})
    tables = {"client": clients, "account": accounts, "disp": disp, "orders": orders}
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.asc", sep=";", index=False)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank, and the configuration that init proposes."""
    folder = tmp_path_factory.mktemp("bank")
    (folder / "data").mkdir()
    write_bank(folder / "data")
    done = CliRunner().invoke(app, ["init", str(folder / "data"), "--out", str(folder / "config.yaml")])
    assert done.exit_code == 0, done.output
    return folder


def test_init_finds_the_owner(bank: Path) -> None:
    links = configuration(bank / "config.yaml").links
    parent = links.tables["account"].parent
    assert parent is not None and parent.table == "client" and parent.through is not None
    assert parent.through.model_dump() == {
        "table": "disp",
        "column": "account_id",
        "owner": "client_id",
        "prefer": "type = 'OWNER'",
    }
    assert {name: one.parent and one.parent.table for name, one in links.tables.items()} == {
        "client": None,
        "account": "client",
        "disp": "account",
        "orders": "account",
    }


def test_each_account_belongs_to_its_owner(bank: Path) -> None:
    sources = read_sources(configuration(bank / "config.yaml"))
    pairs = (
        pd.read_csv(bank / "data" / "disp.asc", sep=";").query("type == 'OWNER'").set_index("account_id")["client_id"]
    )
    accounts, clients = (sources.tables[name].frame for name in ("account", "client"))
    found = clients["client_id"].take(sources.owners["account"]).astype(int).to_numpy()
    assert (found == pairs.loc[accounts["account_id"].astype(int)].to_numpy()).all()
    assert (sources.tables["disp"].persons == sources.owners["account"][sources.owners["disp"]]).all()


def test_the_release_is_whole(bank: Path) -> None:
    out = bank / "run"
    text = (bank / "config.yaml").read_text()
    few = "\nevaluate: {metrics: [identical_match, orphans], baseline: false, original: false, power: false}\n"
    (bank / "run.yaml").write_text(text + few)
    done = CliRunner().invoke(app, ["run", str(bank / "run.yaml"), "--out", str(out), "--seed", "3"])
    assert done.exit_code in (0, 1, 3), done.output
    made = {name: pd.read_csv(out / f"{name}.csv", sep=";") for name in ("client", "account", "disp", "orders")}
    disp = made["disp"]
    assert disp["client_id"].isin(made["client"]["client_id"]).all()
    assert set(disp["account_id"]) == set(made["account"]["account_id"])
    assert made["orders"]["account_id"].isin(made["account"]["account_id"]).all()
    assert (disp.query("type == 'OWNER'").groupby("account_id").size() == 1).mean() > 0.95
    assert 0.15 < (disp["type"] == "USER").mean() < 0.35
    # Another user of an account is never its owner.
    owners = disp[disp["type"] == "OWNER"].drop_duplicates("account_id").set_index("account_id")["client_id"]
    users = disp[disp["type"] == "USER"]
    assert (users["client_id"].to_numpy() != owners.reindex(users["account_id"]).to_numpy()).all()


@given(
    st.lists(st.integers(0, 7), min_size=8, max_size=40),
    st.integers(2, 30),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_partners(rows: list[int], n: int, sets: int, random) -> None:
    """One pair of each row has the owner, the first preferred one; no other pair has the owner."""
    types = [random.choice(["OWNER", "USER"]) for _ in rows]
    pairs = read_frame(pd.DataFrame({"type": [*types, "OWNER"]}), ReadOptions()).take(np.arange(len(rows)))
    owners = np.array([random.randrange(n) for _ in range(8)])
    through = ThroughOptions(table="disp", column="a", owner="c", prefer="type = 'OWNER'")
    number = np.arange(n) * sets // n
    found = _partners(pairs, through, np.array(rows), owners, number)
    assert (number[found] == number[owners[rows]]).all(), "a pair has people of one set of tables"
    for row in set(rows):
        mine = [at for at, one in enumerate(rows) if one == row]
        first = next((at for at in mine if types[at] == "OWNER"), mine[0])
        alone = np.sum(number == number[owners[row]]) == 1
        assert [at for at in mine if found[at] == owners[row]] == (mine if alone else [first])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"account": {"parent": {"column": "frequency"}}}, "with through it is the key of account"),
        ({"account": {"parent": {"through": {"table": "rights"}}}}, "there is no table 'rights'"),
        ({"disp": {"parent": {"table": "client", "column": "client_id"}}}, "its rows belong to those of account"),
        ({"disp": {"columns": {}}}, "it holds keys, which are never learned"),
    ],
)
def test_structure(change: dict, message: str) -> None:
    through = {"table": "disp", "column": "account_id", "owner": "client_id"}
    tables: dict = {
        "client": {"path": "c.csv", "key": "client_id"},
        "account": {
            "path": "a.csv",
            "key": "account_id",
            "parent": {"table": "client", "column": "account_id", "through": through},
        },
        "disp": {
            "path": "d.csv",
            "parent": {"table": "account", "column": "account_id"},
            "columns": {"client_id": {"role": "identifier"}},
        },
    }
    assert not [*structure_problems(LinkOptions.model_validate({"person": "client", "tables": tables}))]
    for name, keys in change.items():
        for key, value in keys.items():
            old = tables[name][key]
            tables[name][key] = old | value if key == "parent" and "through" not in value else value
            if key == "parent" and "through" in value:
                tables[name][key] = old | {"through": through | value["through"]}
    found = [*structure_problems(LinkOptions.model_validate({"person": "client", "tables": tables}))]
    assert any(message in problem.message for problem in found), found


def test_the_condition_must_fit(bank: Path) -> None:
    text = (bank / "config.yaml").read_text().replace("type = 'OWNER'", "kind = 'OWNER'")
    other = bank / "other.yaml"
    other.write_text(text)
    with pytest.raises(ConfigError, match=r"tables\.account\.parent\.through\.prefer: no such column: kind"):
        read_sources(configuration(other))
