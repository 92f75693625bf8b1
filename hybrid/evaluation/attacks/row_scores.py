"""Instance privacy score: single rows judged by the records around them.

After the published instance-level score, with corrections: counts are relative to the sizes of the tables, a row does
not count itself, and the radius comes from people instead of being set.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.membership import nearness
from hybrid.evaluation.context import PEOPLE, Context, Part
from hybrid.evaluation.engine.intervals import clustered_error, quantile
from hybrid.evaluation.engine.neighbours import within
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.options import PrivacyScoreOptions

Score = Literal["distance", "ratio", "alpha"]


def row_scores(context: Context, score: Score) -> Array:
    """Privacy score of each judged row, shape (n,), 0 or more; low is risky.

    Private: rows with a low score lie near a training record. All in E1, with d_T and d_C the distances of the row to
    the nearest training and control record. There is a control set, and ``max_records`` is null: with a limit some rows
    would have no score.

    - ``distance``: share (0..1) of control records that have a training record at most d_T away, a p-value of the row:
      how many strangers lie as close to somebody.
    - ``ratio``: d_T / (d_T + d_C), 0 on a copy, 1/2 where neither side is nearer.
    - ``alpha``: density of rows over density of training records around the row, the published score; below 1 where
      training records prevail, inf where there is none.
    """
    table, train, control = (context.whole(role) for role in ("table", "train", "control"))
    if score == "alpha":
        radius = np.full(len(table.rows), _radius(context.distances(train, control)[:, 0], PrivacyScoreOptions()))
        own, training = _around(context, table, table, radius), _around(context, table, train, radius)
        return np.where(training > 0, _alpha(own, training, len(table.rows), len(train.rows)), np.inf)
    near = context.distances(table, train)[:, 0]
    if score == "ratio":
        return nearness(context.distances(table, control)[:, 0], near)
    strangers = np.sort(context.distances(control, train)[:, 0])
    return np.searchsorted(strangers, near * (1 + 1e-9) + 1e-9, "right") / len(strangers)


def privacy_score(context: Context) -> Outcome:
    """Share of rows around which training records prevail.

    Around a row, within the radius lambda, lie t training records and g other rows of the table; alpha = ((g + 1/2) /
    n_S) / ((t + 1/2) / n_T). A row is flagged if alpha < 1 and t >= 1. The reference is the same with control records
    in the place of the training records, both cut to one size. The excess is (p_T - p_C) / (1 - p_C), over the share
    of train in the parts that are compared, with errors clustered by the nearest record of each side. lambda is a
    percentile (``evaluate.privacy_score``) of the distances of training records to the nearest control record.
    """
    options = context.options.privacy_score
    assert options is not None
    if options.by is not None and options.by not in context.encoding.names:
        return NotComputable(sentence("metric.no_variation", column=options.by))
    table, found = context.whole("table"), []
    asked = context.asked(table)
    for train, control in context.parts(PEOPLE):
        strangers = context.distances(train, control)[:, 0]
        radius, groups = _radii(context, options, context.asked(train), strangers, asked)
        own = _around(context, asked, table, radius)
        flags = []
        for part in (train, control):
            near = _around(context, asked, part, radius)
            flags.append((near > 0) & (_alpha(own, near, len(table.rows), len(part.rows)) < 1))
        mine, other = (flag.astype(float) for flag in flags)
        ids = [context.neighbours(table, part)[:, 0] for part in (train, control)]
        spread = clustered_error(mine - other, *ids), clustered_error(mine, ids[0])
        found.append((float(mine.mean()), float(other.mean()), *spread, float(np.median(radius)), float(groups)))
    value, reference, error, own_error, radius_used, n_groups = (float(x) for x in np.mean(found, axis=0))
    z, kept = quantile(context.options.confidence), context.kept("train", PEOPLE)
    scale = 1 / (kept * max(1 - reference, 1e-9))
    gap = value - reference
    details: dict[str, object] = {"radius": radius_used, "percentile": options.percentile, "parts": len(found)}
    if options.by is not None:
        details |= {"by": options.by, "groups_with_own_radius": n_groups}
    excess = (scale * gap, scale * (gap - z * error), scale * (gap + z * error))
    low, high = max(value - z * own_error, 0.0), min(value + z * own_error, 1.0)
    return Measure(value, low, high, reference, len(asked.rows), details, excess)


def _alpha(rows: Array, records: Array, n_rows: int, n_records: int) -> Array:
    """Density of rows over density of records; shape (n,)."""
    return np.asarray(((rows + 0.5) / n_rows) / ((records + 0.5) / n_records))


def _around(context: Context, rows: Part, part: Part, radius: Array) -> Array:
    """Number of a part's other records around each row."""
    own = rows.rows if part.role == "table" else None
    return within(context.space, context.place(rows), context.place(part), radius, own)


def _radius(strangers: Array, options: PrivacyScoreOptions) -> float:
    return float(np.quantile(strangers, options.percentile / 100))


def _radii(
    context: Context, options: PrivacyScoreOptions, people: Part, strangers: Array, rows: Part
) -> tuple[Array, int]:
    """Radius around each row, and number of groups with an own one."""
    radius = np.full(len(rows.rows), _radius(strangers, options))
    if options.by is None:
        return radius, 0
    at = context.encoding.names.index(options.by)
    of_people, of_rows = (context.encoded(p.role).ranks[p.rows, at] for p in (people, rows))
    groups, counts = np.unique(of_people, return_counts=True)
    large = groups[counts >= context.options.min_cell]
    for group in large:
        radius[of_rows == group] = _radius(strangers[of_people == group], options)
    return radius, len(large)


METRICS = (
    indicator(
        privacy_score,
        "The share of rows around which training records are denser than the table's own rows.",
        needs=("control", "privacy_score"),
    ),
)
