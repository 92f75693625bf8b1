"""Price of an evaluation, in seconds of one core, before it starts."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from hybrid.evaluation.context import most_asked
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import modules
from hybrid.table import Schema

BASE = 0.01
"""Seconds that any metric takes on small tables."""
SEARCHED = 0.12e-9
"""Seconds of a search per pair of records and column that a block of records cannot rule out."""

TRAINED = 4e-10
"""Seconds of a pass over a record and weight of an encoder's first layers, forwards and backwards."""


class Price(NamedTuple):
    """Cost of a metric.

    ``searches``: passes over all pairs of a queried record and a record; ``cells``: seconds per million cells (rows
    times columns) of the tables; ``once``: passes that only the first table of an evaluation pays; ``most``: rows of a
    table whose cells count; ``widest``: columns whose cells count; ``least``: seconds on the smallest tables.
    """

    searches: float = 0.0
    cells: float = 0.1
    once: float = 0.0
    most: int = sys.maxsize
    widest: int = sys.maxsize
    least: float = BASE


WIDEST = 50
"""Columns that count for a metric of each secret: it reads few, or its trees choose among a root of them."""
PRICES = {
    "nnaa": Price(searches=2.0),
    "dcr_share": Price(searches=2.5),
    "membership": Price(searches=0.5, once=0.5),
    "dcr_score": Price(once=0.5),
    "identifiability": Price(searches=0.5, once=0.5),
    "authenticity": Price(once=0.5),
    "linkability": Price(searches=1.5),
    "register_linkage": Price(searches=0.5, once=0.5),
    "shared_cells": Price(searches=4.0, once=2.0),
    "copied_digits": Price(searches=3.0, cells=4.0, most=50_000),
    "near_histories": Price(searches=4.0, once=2.0),
    "joined_rows": Price(searches=0.5),
    "inference": Price(searches=1.0, widest=WIDEST),
    "inference_quasi": Price(searches=0.5, widest=WIDEST),
    "inference_rest": Price(searches=0.5, widest=WIDEST),
    "gtcap": Price(widest=WIDEST),
    "l_reached": Price(widest=WIDEST),
    "t_reached": Price(widest=WIDEST),
    "membership_exposed": Price(once=3.0),
    "inference_exposed": Price(once=0.5),
    "close_value": Price(searches=1.0, once=0.5),
    "distribution_uniqueness": Price(cells=0.3),
    "inference_neighbours": Price(searches=4.0, cells=1.0),
    "gcap": Price(searches=0.3),
    "air": Price(searches=0.3),
    "membership_flow": Price(cells=60.0),
    "mir": Price(cells=1.5),
    "membership_mc": Price(searches=0.5, once=0.5),
    "membership_dpi": Price(searches=1.5, once=0.5),
    "membership_likelihood": Price(cells=0.5),
    "membership_gen_lra": Price(searches=0.5, cells=1.0),
    "membership_forest": Price(cells=20.0, most=10_000),
    "membership_network": Price(cells=10.0, most=10_000),
    "membership_battery": Price(searches=0.5, cells=30.0, once=0.5, most=10_000),
    "membership_density": Price(cells=1.0),
    "membership_whitebox": Price(cells=2.0, most=20_000),
    "singling_out": Price(cells=1.5, least=1.0),
    "inference_model": Price(cells=2.5, most=50_000, widest=WIDEST),
    "tstr": Price(cells=1.5, most=100_000, least=0.2),
    "tstr_linear": Price(cells=0.3, most=100_000),
    "discriminator": Price(cells=0.8, least=0.15),
    "discriminator_groups": Price(cells=0.2),
    "tstr_groups": Price(cells=0.2),
    "membership_subgroups": Price(searches=2.0, cells=0.7, once=1.0),
    "mmd": Price(cells=0.2),
    "c2st_agg": Price(cells=0.8),
    "privacy_score": Price(searches=2.5),
}
"""Metrics that cost more than a pass over the cells; measured by ``benchmarks/evaluate.py`` (see Evidence)."""


class Sizes(NamedTuple):
    """Rows and columns of an evaluation."""

    train: int
    control: int
    table: int
    columns: int
    """Without identifiers."""
    per: dict[str | None, int]
    """Columns that metrics of each sort are repeated for; of None: 1."""


def sizes_of(schema: Schema, rows: tuple[int, int, int], options: EvaluateOptions) -> Sizes:
    """Sizes from the columns and the rows of train, control and table."""
    targets = schema.targets if options.targets is None else options.targets
    secrets: Sequence[str] = (schema.sensitive or schema.names) if options.secrets is None else options.secrets
    declared = secrets if options.secrets is not None or schema.sensitive else targets
    per = {None: 1, "target": len(targets), "secret": len(secrets), "declared_secret": len(declared)}
    return Sizes(*rows, len(schema), {**per, "sensitive": len(schema.sensitive)})


def price(metric: Metric, sizes: Sizes, options: EvaluateOptions, first: bool = True) -> float:
    """Seconds that a metric takes on one core for one table, roughly.

    Pairs of a queried record and a record cost a constant per column, as far as blocks of near records do not rule them
    out: of n records, a share that falls with the root of n. Metrics of a column are repeated; searches are shared by
    the columns' metrics. The first table of an evaluation also pays for what all tables share.
    """
    found = _prices().get(metric.name, Price())
    largest = max(sizes.train, sizes.control, sizes.table)
    asked = min(most_asked(options.max_records, largest) or largest, largest)
    pairs = asked * largest * sizes.columns / (1 + math.sqrt(largest / 100_000))
    rows = sum(min(count, found.most) for count in (sizes.train, sizes.control, sizes.table))
    cells = rows * min(sizes.columns, found.widest) / 1e6
    repeated = sizes.per[metric.per]
    if "encoder" in metric.needs:
        repeated, pairs = repeated * networks(options), pairs * networks(options)
    searches = found.searches + (found.once if first else 0.0)
    return found.least + SEARCHED * pairs * searches + found.cells * cells * repeated


@cache
def _prices() -> dict[str, Price]:
    """Prices of all metrics, also of those that another package brings."""
    brought = (getattr(module, "PRICES", {}) for module in modules())
    return {**PRICES, **{name: price for prices in brought for name, price in prices.items()}}


def networks(options: EvaluateOptions) -> int:
    encoder = options.encoder
    return 1 if encoder is None or encoder.engine == "untrained" else 1 + encoder.encoders


def training_price(sizes: Sizes, options: EvaluateOptions) -> float:
    """Most seconds of one core to train one table's encoders."""
    encoder = options.encoder
    if encoder is None or encoder.engine == "untrained":
        return 0.0
    products = encoder.width * (8 * sizes.columns + 2 * encoder.width)
    return TRAINED * encoder.encoders * encoder.epochs * sizes.table * products


def total_price(metrics: Sequence[Metric], sizes: Sizes, options: EvaluateOptions, tables: int) -> float:
    """Seconds that an evaluation of several tables takes on one core, roughly."""
    metrics = [metric for metric in metrics if metric.switched_off(options) is None]
    encoders = training_price(sizes, options) if any("encoder" in metric.needs for metric in metrics) else 0.0
    each = (price(metric, sizes, options, first=number == 0) for number in range(tables) for metric in metrics)
    return sum(each) + tables * encoders
