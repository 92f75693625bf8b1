"""Membership attacks beside those of Synth-MIA (arXiv 2509.18014), on the same people in one run.

    python benchmarks/synth_mia.py CHECKOUT [--tables FOLDER] [--rows 1600] [--only adult] [--made "cart, leaves of 1"]
    python benchmarks/synth_mia.py alone [--tables FOLDER] [--rows 1600]
    python benchmarks/synth_mia.py clean [--draws 200]
    python benchmarks/synth_mia.py make --kept FOLDER [--tables FOLDER] [--made ctgan]
    python benchmarks/synth_mia.py CHECKOUT --kept FOLDER [--out pairs.csv]
    python benchmarks/synth_mia.py verdict [--kept FOLDER] [--tables FOLDER]

CHECKOUT holds the repository joshward96/Synth-MIA; its attacks need torch, so the python must have it. Tables are
those of benchmarks/four_tables.py, half of the people in training. Every table is made without protection (trees with
leaves of 1 and of 5 records, a Bayesian network) and by the hybrid. Both sides attack the same people with the same
reference, in two folds; AUCs are means over the folds. Synth-MIA's attacks have their defaults and its preprocessing,
one-hot and standardized; those with kernel densities ordinal categories, since a kernel's covariance is singular
otherwise. Gen-LRA with flows would train one for each attacked person and is left out, and so are flows elsewhere.

``alone`` prints the AUC of every attack here, and what the battery would gain by one attack more. ``clean`` counts how
often the battery's interval lies above .5 where nothing leaks: tables of fresh people, 60 to 200 of them.

``make`` trains deep generators, too, best where a GPU is, and keeps people and tables in a folder, one file each:
several processes with an --only and a --made each may fill it. With ``--kept`` these are attacked, in whatever python.
The files are pickles of real records: read only your own, and pass them to nobody. ``--out`` adds
each of their attacks beside its equal and beside the battery to a file of aggregates. ``verdict`` prints which rules of
the default policy about leaks object to each table.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import cross_control
import gate
import numpy as np
import pandas as pd
from four_tables import configurations

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.attacks import membership_battery
from hybrid.evaluation.attacks.membership import Fold, folds, log_density
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.intervals import auc, auc_interval, placements, quantile
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy, packaged_policy
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table

ALONE: dict[str, dict[str, Any]] = {
    "cart, leaves of 1": {"generator": "cart", "options": {"min_leaf": 1, "smoothing": 0}},
    "cart, leaves of 5": {"generator": "cart", "options": {"min_leaf": 5, "smoothing": 0}},
    "baynet": {"generator": "baynet"},
}
HYBRID: dict[str, dict[str, Any]] = {
    "hybrid, cart": {"synthesize.options.min_leaf": 50},
    "hybrid, cart, leaves of 1": {"synthesize.options": {"min_leaf": 1, "smoothing": 0}},
    "hybrid, baynet": {"synthesize": {"generator": "baynet"}},
}
SMALL_STEPS = {"batch_size": 32, "accumulation": 1}
"""The 32 records of a step of REaLTabFormer at once instead of in four parts: a GPU has the memory."""
DEEP: dict[str, dict[str, Any]] = {
    "ctgan": {"generator": "ctgan"},
    "tabddpm": {"generator": "tabddpm"},
    "realtabformer": {"generator": "realtabformer", "options": SMALL_STEPS},
    "realtabformer, all 50 epochs": {"generator": "realtabformer", "options": SMALL_STEPS | {"validation": 0}},
}
DEEP_HYBRID: dict[str, dict[str, Any]] = {f"hybrid, {made}": {"synthesize": options} for made, options in DEEP.items()}
COMMON = {
    "split.control": 0.5,
    "split.stable": False,
    "evaluate.baseline": False,
    "transition": {"method": "tree", "order": "pre"},
}
EQUALS = {
    "DCR": "membership_dcr",
    "DCRDiff": "membership_dcr_diff",
    "MC": "membership_mc",
    "LocalNeighborhood": "membership_mc",
    "DPI": "membership_dpi",
    "DensityEstimate": "membership_likelihood",
    "DOMIAS": "membership_density",
    "GenLRA": "membership_gen_lra",
    "LOGAN": "membership_network",
    "Classifier": "membership_forest",
}
"""Their attacks, and the equal of each here."""
KERNELS = ("DensityEstimate", "DOMIAS", "GenLRA")
Sides = tuple[np.ndarray, np.ndarray]
"""Scores of members and of others in one fold."""


class Pair(NamedTuple):
    """An attack of theirs beside one of ours, on one synthetic table."""

    table: str
    made: str
    theirs: str
    its_auc: float
    ours: str
    our_auc: float
    difference: float
    half_width: float


def cells(work: Path, chosen: argparse.Namespace) -> Iterator[tuple[str, str, Table, Table, Table]]:
    """Table, how it was made, and training, control and synthetic records."""
    if chosen.kept and chosen.what != "make":
        for file in sorted(chosen.kept.glob("*.pickle")):
            name, made, *people = pickle.loads(file.read_bytes())
            if name in (chosen.only or name) and made in (chosen.made or made):
                yield name, made, *people
        return
    alone, hybrid = (ALONE | DEEP, HYBRID | DEEP_HYBRID) if chosen.what == "make" else (ALONE, HYBRID)
    for name, config in configurations(chosen.tables, work, chosen.rows).items():
        if name not in (chosen.only or name):
            continue
        run = TableRun(load_config(config, COMMON), seed=1, judge_power=False)
        train, control = run.train, run.control
        assert control is not None
        for made, options in alone.items():
            if made in (chosen.made or made):
                table = fit(train, SynthesizeOptions.model_validate(options), 1).sample(len(train), 1)
                yield name, made, train, control, table
        for made, changes in hybrid.items():
            if made in (chosen.made or made):
                run = TableRun(load_config(config, COMMON | changes), seed=1, judge_power=False)
                yield name, made, run.train, control, run.synthetic


def make(chosen: argparse.Namespace, work: Path) -> None:
    """Keep what ``cells`` makes."""
    chosen.kept.mkdir(parents=True, exist_ok=True)
    for cell in cells(work, chosen):
        file = chosen.kept / f"{cell[0]}, {cell[1]}.pickle"
        file.write_bytes(pickle.dumps(cell))
        print(file.name, f"{len(cell[-1])} rows", flush=True)


def density_ratio(context: Context, fold: Fold) -> Callable[[Part], np.ndarray]:
    """Scores of ``membership_density``, of every person."""
    rows, reference, placed = membership_battery.points(context, fold)
    return lambda people: log_density(placed(people), rows) - log_density(placed(people), reference)


def ours(context: Context) -> tuple[dict[str, list[Sides]], dict[str, float]]:
    """Scores by fold of every attack here, and CPU seconds."""
    scores, spent = {}, {}
    attacks = {**membership_battery.ATTACKS, "membership_battery": membership_battery.combined}
    attacks["membership_density"] = lambda context: membership_battery.by_fold(context, density_ratio)
    for name, attack in attacks.items():
        started = time.process_time()
        found = attack(context) if name not in membership_battery.ATTACKS else membership_battery.scored(context, name)
        spent[name] = time.process_time() - started
        rows = context.asked_people
        scores[name] = [
            (found[0][np.isin(rows[0], fold.members.rows)], found[1][np.isin(rows[1], fold.others.rows)])
            for fold in folds(context)
        ]
    return scores, spent


def plain(table: Table, filler: pd.DataFrame | None = None) -> pd.DataFrame:
    """Numbers as float64, everything else as text.

    A missing number becomes the median of ``filler``, of the table itself without one. Members and others need the same
    filler: medians of their own would give them away.
    """
    columns = {}
    for name in table.schema.names:
        values = table.frame[name]
        if pd.api.types.is_datetime64_any_dtype(values):
            values = values.astype("int64").where(values.notna()) / 8.64e13
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            numbers = values.astype("Float64").astype(float)
            columns[name] = numbers.fillna((numbers if filler is None else filler[name]).median()).astype(float)
        else:
            columns[name] = values.astype(str).astype(object)
    return pd.DataFrame(columns)


def theirs(context: Context, names: list[str]) -> tuple[dict[str, list[Sides]], dict[str, float]]:
    """Scores by fold of Synth-MIA's attacks, and CPU seconds."""
    from synth_mia import attackers
    from synth_mia.utils import TabularPreprocessor

    assert context.control is not None
    scores: dict[str, list[Sides]] = {name: [] for name in names}
    spent = dict.fromkeys(names, 0.0)
    synth = plain(context.table)[list(context.train.schema.names)]
    for fold in folds(context):
        parts = [plain(context.train.take(fold.members.rows), synth)]
        parts += [plain(context.control.take(part.rows), synth) for part in (fold.others, fold.reference)]
        arrays = {}
        for coding in ("one-hot", "ordinal"):
            tool = TabularPreprocessor(fit_target="synth", categorical_encoding=coding)
            tool.fit(parts[0], parts[1], synth)
            members, others, rows, reference, _ = tool.transform(parts[0], parts[1], synth, parts[2])
            varying = np.ones(rows.shape[1], dtype=bool)
            if coding == "ordinal":
                varying = (rows.std(axis=0) > 0) & (reference.std(axis=0) > 0)
            arrays[coding] = [part[:, varying] for part in (members, others, rows, reference)]
        for name in names:
            np.random.seed(1)  # noqa: NPY002  their attacks draw from the global stream
            started = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                try:
                    attack = getattr(attackers, name)()
                    _, found = attack.attack(*arrays["ordinal" if name in KERNELS else "one-hot"])
                except np.linalg.LinAlgError:
                    found = np.zeros(len(fold.members.rows) + len(fold.others.rows))
            found = np.nan_to_num(np.asarray(found, dtype=float))
            spent[name] += time.process_time() - started
            first, second = np.split(found, [len(fold.members.rows)])
            scores[name].append((first, second))
    return scores, spent


def mean_auc(sides: list[Sides]) -> float:
    return float(np.mean([auc(*one) for one in sides]))


def difference(mine: list[Sides], its: list[Sides]) -> tuple[float, float]:
    """Mean AUC of one attack less that of another on the same people, and the half width (DeLong, paired)."""
    value, variance = 0.0, 0.0
    for one, other in zip(mine, its, strict=True):
        sides = [a - b for a, b in zip(placements(*one), placements(*other), strict=True)]
        value += float(sides[0].mean()) / len(mine)
        variance += sum(float(side.var(ddof=1)) / len(side) for side in sides) / len(mine) ** 2
    return value, quantile(0.95) * float(np.sqrt(variance))


def beside(chosen: argparse.Namespace, work: Path) -> None:
    sys.path.insert(0, chosen.what)
    names = [name for name in EQUALS if name not in (chosen.without or ())]
    print(f"| table, made by | {' | '.join(names)} | strongest of theirs | battery | CPU s, theirs, ours |")
    print(f"|{'---|' * (len(names) + 4)}")
    pairs: list[Pair] = []
    for table, made, *people in cells(work, chosen):
        context = Context(*people, EvaluateOptions(), 1)
        mine, my_time = ours(context)
        its, its_time = theirs(context, names)
        row = []
        for name in names:
            for equal in (EQUALS[name], "membership_battery"):
                value, half = difference(mine[equal], its[name])
                pairs.append(Pair(table, made, name, mean_auc(its[name]), equal, mean_auc(mine[equal]), value, half))
            one = pairs[-2]
            row.append(f"{one.its_auc:.3f}, {one.our_auc:.3f} ({one.difference:+.3f} ± {one.half_width:.3f})")
        best = max(pairs[-2 * len(names) + 1 :: 2], key=lambda one: one.its_auc)
        row.append(f"{best.theirs} {best.its_auc:.3f}")
        row.append(f"{best.our_auc:.3f} ({best.difference:+.3f} ± {best.half_width:.3f})")
        if chosen.out:
            kept = pd.DataFrame(pairs[-2 * len(names) :]).round(4)
            kept.to_csv(chosen.out, mode="a", header=not chosen.out.exists(), index=False)
        row.append(f"{sum(its_time.values()):.1f}, {sum(my_time.values()):.1f}")
        print(f"| {table}, {made} | {' | '.join(row)} |", flush=True)
        print("CPU s:", {name: round(seconds, 2) for name, seconds in (its_time | my_time).items()}, file=sys.stderr)
    for what, several in (
        ("attacks here are weaker than their equal", pairs[::2]),
        ("batteries are weaker than one of theirs", pairs[1::2]),
    ):
        weaker = sum(one.difference + one.half_width < 0 for one in several)
        wider = quantile(0.95 ** (1 / len(several))) / quantile(0.95)
        still = sum(one.difference + wider * one.half_width < 0 for one in several)
        print(f"{weaker} of {len(several)} {what}, beyond the interval; {still} beyond that of all together.")


def together(scores: dict[str, list[Sides]], names: tuple[str, ...]) -> list[Sides]:
    """Sum of normal scores of some attacks, by fold."""
    found = []
    for fold, (members, _) in enumerate(scores["membership"]):
        values = sum(membership_battery.normal(np.concatenate(scores[name][fold])) for name in names)
        first, second = np.split(np.asarray(values), [len(members)])
        found.append((first, second))
    return found


def alone(chosen: argparse.Namespace, work: Path) -> None:
    names = [*membership_battery.ATTACKS, "membership_density"]
    print(f"| table, made by | {' | '.join(names)} | battery | CPU s |\n|{'---|' * (len(names) + 3)}")
    found, more = [], []
    for table, made, *people in cells(work, chosen):
        scores, spent = ours(Context(*people, EvaluateOptions(), 1))
        battery = scores.pop("membership_battery")
        aucs = [mean_auc(scores[name]) for name in names]
        _, low, high = auc_interval(*map(np.concatenate, zip(*battery, strict=True)), 0.95)
        cell = f"{mean_auc(battery):.3f} ({low:.3f} to {high:.3f})"
        print(
            f"| {table}, {made} | {' | '.join(f'{one:.3f}' for one in aucs)} | {cell} | {sum(spent.values()):.1f} |",
            flush=True,
        )
        found.append([*aucs, mean_auc(battery)])
        bigger = [mean_auc(together(scores, (*membership_battery.TOGETHER, name))) for name in names]
        more.append(np.array(bigger) - mean_auc(battery))
    strongest = np.array(found)[:, :-1].max(axis=1)
    for name, values, gain in zip([*names, "battery"], np.array(found).T, [*np.array(more).T, None], strict=True):
        gap = values - strongest
        added = "" if gain is None else f"; added to the battery {gain.mean():+.4f}"
        print(f"{name}: to the strongest {gap.mean():+.3f} (least {gap.min():+.3f}){added}")


def verdicts(chosen: argparse.Namespace, work: Path) -> None:
    """Rules of the default policy that object, beside those that are about membership."""
    source = packaged_policy("default")
    assert source is not None
    policy = gate.excess_rules(load_policy(source))
    print("| table, made by | verdict | membership rules | all rules that object |\n|---|---|---|---|")
    for table, made, train, control, synthetic in cells(work, chosen):
        asked = gate.options(table, policy)
        verdict = judge(policy, evaluate(train, control, {"synthetic": synthetic}, asked, rng_for(1, "evaluate")), None)
        against = [check for check in verdict.checks if check.status in ("review", "block")]
        member = [check.status for check in against if str(check.metric).startswith("membership")]
        rules = ", ".join(f"{check.rule} ({check.status})" for check in against)
        print(f"| {table}, {made} | {verdict.status} | {', '.join(member) or '-'} | {rules or '-'} |", flush=True)


def clean(draws: int) -> None:
    """Share of intervals above .5 on tables of fresh people."""
    above, widths = {"membership_battery": 0, "strongest of its attacks": 0}, []
    for seed in range(draws):
        rng = rng_for(seed, "clean")
        size = int(rng.integers(60, 201))
        train, control, table = (cross_control.population(size, rng) for _ in range(3))
        context = Context(train, control, table, EvaluateOptions(), seed)
        found = membership_battery.membership_battery(context)
        assert found.low is not None and found.high is not None
        singles = [
            auc_interval(*membership_battery.scored(context, name), 0.95) for name in membership_battery.TOGETHER
        ]
        above["membership_battery"] += found.low > 0.5
        above["strongest of its attacks"] += max(low for _, low, _ in singles) > 0.5
        widths.append((found.high - found.low) / 2)
    for name, n in above.items():
        print(f"{name}: {n} of {draws} above .5 (2.5 % are chance)")
    print(f"mean half width {np.mean(widths):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="folder of Synth-MIA, alone, make, verdict, or clean")
    parser.add_argument("--kept", type=Path, help="folder of the tables of deep generators")
    parser.add_argument("--out", type=Path, help="CSV file that pairs of attacks are added to")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--rows", type=int, default=1600)
    parser.add_argument("--only", action="append")
    parser.add_argument("--made", action="append")
    parser.add_argument("--without", action="append", choices=EQUALS, help="leave out an attack of theirs")
    parser.add_argument("--draws", type=int, default=200)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what == "clean":
        clean(chosen.draws)
        return
    with tempfile.TemporaryDirectory() as work:
        {"alone": alone, "make": make, "verdict": verdicts}.get(chosen.what, beside)(chosen, Path(work))


if __name__ == "__main__":
    main()
