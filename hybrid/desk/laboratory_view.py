"""Content of the page of a laboratory, from its league."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hybrid.evaluation.trust import COPIES, SCHEMA, WORDS
from hybrid.report.charts.exploration import Dot, scatter_chart
from hybrid.report.run.inputs import title_of


def laboratory_view(_: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics of every table, the most trusted first.

    Parameters
    ----------
    found : mapping
        Content of ``league.json``; numbers as papers print them are left out.

    Raises
    ------
    LookupError, TypeError, ValueError
        It is something else.
    """
    if found["schema"] != SCHEMA:
        raise ValueError
    entries = [one for one in found["metrics"] if one.get("printed") is None]
    return {
        "title": str(found["name"]),
        "seeds": int(found["seeds"]),
        "risk_models": [str(one) for one in found["risk_models"]],
        "tables": [_table(str(table), [one for one in entries if one["table"] == table]) for table in found["tables"]],
    }


def _table(name: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ordered = sorted(entries, key=lambda one: WORDS.index(one["verdict"]))
    rows = [_row(one) for one in ordered]
    dots = [
        Dot(row["title"], row["seconds"], row["power"], filled=row["word"] == WORDS[0], named=row["word"] == WORDS[0])
        for row in rows
        if row["power"] is not None and row["seconds"]
    ]
    chart = scatter_chart(dots, "processor seconds per table", "share of leaks noticed", log=True) if dots else Markup()
    return {"name": name, "rows": rows, "chart": chart}


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    copies = [each["sensitivity"] for each in one["series"] if each["risk"] == COPIES]
    power = [value for each in one["series"] for value in each["power"] if value is not None]
    alarms = one["false_alarms"]
    about = f", {one['column']}" if one["column"] else ""
    return {
        "title": f"{title_of(str(one['metric']))}{about}",
        "word": WORDS[WORDS.index(one["verdict"])],
        "reasons": [str(reason) for reason in one["reasons"]],
        "copies": "–" if not copies or copies[0] is None else f"{100 * copies[0]:g} %",
        "alarms": f"{int(alarms['hits'])} / {int(alarms['trials'])}",
        "seconds": None if one["cpu_seconds"] is None else float(one["cpu_seconds"]),
        "power": sum(power) / len(power) if power else None,
    }
