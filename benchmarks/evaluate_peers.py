"""Other tools on the same files; run by benchmarks/evaluate.py with the python that has the tool.

python benchmarks/evaluate_peers.py anonymeter|syntheval TRAIN.csv CONTROL.csv SYNTHETIC.csv [TARGET]
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import time
import warnings
from collections.abc import Iterator

import pandas as pd

ATTACKS = 2000


@contextlib.contextmanager
def timed(what: str) -> Iterator[list[str]]:
    cpu, wall, said = time.process_time(), time.perf_counter(), []
    try:
        yield said
    except Exception as error:  # noqa: BLE001  one failing metric of a tool must not stop the others
        said.append(f"failed with {type(error).__name__}")
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"  {what:<34}{' '.join(said):<44}{cpu:>8.2f} CPU s {wall:>8.2f} s", flush=True)


def anonymeter(train: pd.DataFrame, control: pd.DataFrame, table: pd.DataFrame, target: str) -> None:
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    tables = {"ori": train, "syn": table, "control": control, "n_attacks": ATTACKS}
    names = sorted(train.columns)

    def risk(evaluator: object) -> str:
        found = evaluator.risk()
        return f"{found.value:.4f} ({found.ci[0]:.4f} to {found.ci[1]:.4f})"

    with timed("linkability, halves, 1 neighbour") as said:
        half = len(names) // 2
        evaluator = LinkabilityEvaluator(**tables, aux_cols=(names[:half], names[half:]), n_neighbors=1)
        said.append(risk(evaluator.evaluate(n_jobs=1)))
    for secret in dict.fromkeys([target, names[0]]):
        with timed(f"inference of {secret}") as said:
            known = [name for name in names if name != secret]
            number = pd.api.types.is_numeric_dtype(train[secret])
            evaluator = InferenceEvaluator(**tables, aux_cols=known, secret=secret, regression=number)
            said.append(risk(evaluator.evaluate(n_jobs=1)))
    with timed("singling out, univariate") as said:
        evaluator = SinglingOutEvaluator(**tables)
        said.append(risk(evaluator.evaluate(mode="univariate")))
    for columns in (3, 4, 6):
        with timed(f"singling out, {columns} columns") as said:
            evaluator = SinglingOutEvaluator(**tables, n_cols=columns)
            said.append(risk(evaluator.evaluate(mode="multivariate")))


def syntheval(train: pd.DataFrame, control: pd.DataFrame, table: pd.DataFrame, target: str) -> None:
    from syntheval import SynthEval

    categories = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
    for metric, options in (("hit_rate", {}), ("nnaa", {"n_resample": 30}), ("dcr", {})):
        with timed(metric) as said:
            with contextlib.redirect_stdout(io.StringIO()):
                tool = SynthEval(train, holdout_dataframe=control, cat_cols=categories, verbose=False)
                tool.evaluate(table, target, **{metric: options})
            said.append(str(tool._raw_results.get(metric)).replace("\n", " ")[:300])


def main() -> None:
    warnings.simplefilter("ignore")
    name, *files = sys.argv[1:5]
    train, control, table = (pd.read_csv(path) for path in files)
    target = sys.argv[5] if len(sys.argv) > 5 else train.columns[-1]
    {"anonymeter": anonymeter, "syntheval": syntheval}[name](train, control, table, target)
    print(f"  peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
