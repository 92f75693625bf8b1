"""Ten rows of the table, as they are released."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import ReportedRun, Section
from hybrid.table import Table
from hybrid.table.holders import value_holders
from hybrid.table.text import as_text

ANCHOR = "rows"
MOST_ROWS, MOST_COLUMNS = 10, 10
FEW = "…"
TEMPLATE = """\
{% if forbidden %}
<p>{{ _("The table must not leave, so none of its rows is shown.") }}</p>
{% elif shown is none %}
<p>{{ _("No generator ran: the rows are real records with changed values, and none is shown.") }}</p>
{% else %}
<div class="scroll" tabindex="0"><table class="dense">
<thead><tr>{% for name in shown.names %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>
{% for row in shown.rows %}
<tr>{% for text in row %}<td>{{ text }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="note small">{% if shown.n_columns > shown.names|length %}{{ _("The first " ~ shown.names|length ~ " of " ~ shown.n_columns ~ " columns.") }} {% endif %}{% if shown.has_identifiers %}{{ _("Made-up identifiers are not shown.") }} {% endif %}{{ _("A value is shown as … if one to " ~ (shown.least - 1) ~ " people in the data hold it.") }}</p>
{% endif %}
"""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any]:
    if run.is_unsynthesized:
        return {"shown": None}
    table = run.synthetic.without_identifiers()
    names = table.schema.names[:MOST_COLUMNS]
    texts = [_texts(table, name, run.table, smallest) for name in names]
    return {
        "shown": {
            "names": names,
            "rows": [list(row) for row in zip(*texts, strict=True)],
            "n_columns": len(table.schema),
            "has_identifiers": len(table.schema) < len(run.synthetic.schema),
            "least": smallest,
        }
    }


def _texts(table: Table, name: str, source: Table, smallest: int) -> list[str]:
    """The first values of a column as texts, without those that few people of the source hold."""
    values = table.frame[name].head(MOST_ROWS)
    held = pd.Series(dtype="int64")
    if name in source.schema:
        held = value_holders(source.take(source.frame[name].isin(values.dropna().unique()).to_numpy()), name)
    people = values.map(held.to_dict()).astype("float64").fillna(0)
    shown = as_text(values, table.schema[name]).fillna("")
    return [FEW if 0 < count < smallest else str(text) for text, count in zip(shown, people, strict=True)]


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    found: dict[str, Any] | None = inputs.collected.get(ANCHOR)
    if found is None:
        return None
    return {**found, "forbidden": inputs.verdict is not None and inputs.verdict.status == "block"}


SECTION = Section(
    anchor=ANCHOR,
    title="Ten rows",
    lead="Rows of the table, as in its file, but for values that few people have.",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
