"""Two linked tables drawn by this project's generators and by other tools, on the same split.

    python benchmarks/linked.py demo --work /tmp/linked --python hma=PYTHON par=PYTHON mostlyai=PYTHON
    python benchmarks/linked.py diabetes130.csv --work /tmp/linked130 --python realtabformer=PYTHON

The parents are split into train (``--parents``) and control (half as many). Every tool learns and draws in a process of
its own, with the python given for it (tools without one are left out): CPU seconds and peak memory are of that process
and its children. Rows are kept in ``--work``: a tool that has run there is only measured again. A tool that fails is a
row that says why. ``control`` is the row of the control parents: the noise of other people from the same source.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import yaml
from linked_data import Linked, demo, diabetes, split
from linked_quality import copied, figures

from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun

PEERS = ("hma", "par", "mostlyai", "realtabformer")
ROLES = {"numerical": "decimal", "categorical": "categorical", "datetime": "date"}


def main() -> None:
    arguments = _arguments()
    whole = demo(arguments.parents * 3 // 2) if arguments.table == "demo" else diabetes(Path(arguments.table))
    train, control = split(whole, arguments.parents)
    folder = arguments.work / "train"
    train.write(folder)
    if arguments.child:
        _child(arguments.child, arguments.work / arguments.child, train)
        return
    pythons = dict(item.split("=", 1) for item in arguments.python)
    unknown = set(pythons) - set(PEERS)
    if unknown:
        sys.exit(f"--python: no such tool: {', '.join(unknown)}; choose of {', '.join(PEERS)}")
    rows = [{"tool": "control", **figures(train, train, control)}]
    for tool in arguments.tools:
        if tool in OWN:
            command = [sys.executable, __file__, *sys.argv[1:], "--child", tool]
        elif tool in pythons:
            command = [pythons[tool], str(Path(__file__).with_name("linked_peers.py")), tool, str(folder)]
            command.append(str(arguments.work / tool))
        else:
            continue
        rows.append({"tool": tool, **_row(command, arguments.work / tool, train, control, arguments.minutes)})
        print(pd.DataFrame(rows).round(3).to_string(index=False), flush=True)
    real = copied(train, joined(control), ()), copied(train, joined(control), train.near_unique)
    print(f"training parents of whom a row is a row of control: {100 * real[0]:.2f} %, {100 * real[1]:.2f} % without")
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False)


def _row(command: list[str], out: Path, train: Linked, control: Linked, minutes: float) -> dict[str, object]:
    """Figures of a tool, or the reason why there are none."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "cost.json").exists():
        with (out / "log").open("w", encoding="utf-8") as log:
            try:
                status = subprocess.run(command, stdout=log, stderr=log, timeout=60 * minutes, check=False).returncode
            except subprocess.TimeoutExpired:
                return {"failed": f"not done after {minutes:g} minutes"}
        if status:
            last = [line for line in (out / "log").read_text(encoding="utf-8").splitlines() if line.strip()][-1:]
            return {"failed": "".join(last)[:200]}
    cost = json.loads((out / "cost.json").read_text(encoding="utf-8"))
    return {**figures(train, control, train.read(out)), **cost}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="demo, or the path of diabetes130.csv")
    parser.add_argument("--work", type=Path, required=True, help="folder for the split and what the tools draw")
    parser.add_argument("--parents", type=int, default=1000, help="parents to train")
    parser.add_argument("--tools", nargs="+", default=[*OWN, *PEERS])
    parser.add_argument("--python", nargs="*", default=[], metavar="TOOL=PYTHON")
    parser.add_argument("--minutes", type=float, default=30, help="limit of each tool, by the clock")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def rows_of_persons(train: Linked, out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One file with ``data.person``: parents are static columns, those without children are lost."""
    joined(train).to_csv(out / "joined.csv", index=False)
    columns = {name: {"kind": ROLES[kind]} for name, kind in train.kinds.items()}
    data = {"path": "joined.csv", "person": train.link, "columns": {train.link: {"role": "identifier"}, **columns}}
    order = {} if train.order is None else {"order": train.order}
    _write_config(out, {"data": data | order, "constraints": _rules(train)})
    frame = TableRun(load_config(out / "config.yaml")).synthetic.frame
    names = [name for name in train.parents if name != train.key]
    parents = frame.groupby(train.link, sort=False, observed=True)[names].first().reset_index(names=train.key)
    return parents, frame[list(train.children)]


def linked_tables(
    train: Linked, out: Path, synthesize: dict[str, object] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Linked tables: children are drawn given their parents, of whom some have none."""
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline

    train.write(out / "source")
    kinds = {name: {"kind": ROLES[kind]} for name, kind in train.kinds.items()}
    own = {at: {name: kinds[name] for name in getattr(train, at) if name in kinds} for at in ("parents", "children")}
    order = {} if train.order is None else {"order": train.order}
    tables = {
        "parents": {"path": "source/parents.csv", "key": train.key, "columns": own["parents"]},
        "children": {
            "path": "source/children.csv",
            "parent": {"table": "parents", "column": train.link},
            "columns": own["children"],
            "constraints": _rules(train),
            **order,
        },
    }
    chosen = {} if synthesize is None else {"synthesize": synthesize}
    _write_config(out, {"person": "parents", "tables": tables} | chosen)
    released = Pipeline(load_config(out / "config.yaml")).released
    return released["parents"].frame, released["children"].frame


def _rules(train: Linked) -> list[dict[str, list[str]]]:
    return [{"le": list(pair)} for pair in train.at_most]


def _write_config(out: Path, content: dict[str, object]) -> None:
    """A configuration of the generator alone: nothing is protected or anonymized, and nobody is control."""
    shared = {"seed": 1, "split": {"control": 0}, "protect": "off", "synthesize": {"generator": "cart"}}
    (out / "config.yaml").write_text(yaml.safe_dump(shared | content, sort_keys=False), encoding="utf-8")


def joined(tables: Linked) -> pd.DataFrame:
    return tables.children.merge(tables.parents.rename(columns={tables.key: tables.link}), on=tables.link)


OWN: dict[str, Callable[[Linked, Path], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "rows of persons": rows_of_persons,
    "linked tables": linked_tables,
    "own tabddpm": partial(linked_tables, synthesize={"generator": "tabddpm"}),
    "own tabddpm, quick": partial(linked_tables, synthesize={"generator": "tabddpm", "preset": "quick"}),
    "own realtabformer": partial(linked_tables, synthesize={"generator": "realtabformer", "preset": "small"}),
}
"""Ways to use this project: ``cart`` but for the networks, which this python needs the extras for."""


def _child(tool: str, out: Path, train: Linked) -> None:
    drawn = OWN[tool](train, out)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    for name, frame in zip(("parents", "children"), drawn, strict=True):
        frame.to_csv(out / f"{name}.csv", index=False)
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    peak = max(one.ru_maxrss for one in used) // 1024
    (out / "cost.json").write_text(json.dumps({"cpu_s": cpu, "peak_mb": peak}), encoding="utf-8")


if __name__ == "__main__":
    main()
