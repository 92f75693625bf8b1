"""Content of the page of a comparison, from its result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from hybrid.analysis import results
from hybrid.desk.desk import command
from hybrid.report.charts.exploration import Dot, scatter_chart

RUNS = "comparison.csv"
"""Name of the table of all runs."""
_MOST = 20
"""Configurations that the ranking lists."""


def comparison_view(folder: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    """Recommendation, ranking, chart and effects.

    Parameters
    ----------
    folder : Path
        Of the comparison; has the runs in ``comparison.csv``.
    found : mapping
        Content of ``comparison.json``.

    Raises
    ------
    LookupError, TypeError, ValueError
        It is something else.
    """
    levels = {one["name"]: one["factors"] for one in found["configurations"]}
    titles = {one["column"]: (str(one["title"]), str(one["better"])) for one in found["metrics"]}
    asked = {question: titles[column][0] for question, column in found["questions"].items()}
    advice = found["recommendation"]
    recommended = folder / "recommended.yaml"
    return {
        "title": str(found["name"]),
        "seeds": int(found["seeds"]),
        "factors": [str(name) for name in found["factors"]],
        "advice": None if advice is None else _advice(advice, levels, titles),
        "chart": Markup() if advice is None else _chart(folder, found, advice, titles),
        "questions": list(asked.values()),
        "ranking": [
            {
                "name": str(one["configuration"]),
                "levels": [str(levels[one["configuration"]].get(name, "")) for name in found["factors"]],
                "verdict": str(one["verdict"]) if one["verdict"] in ("pass", "review", "block") else "",
                "values": [_estimate(one[question]) for question in asked],
                "apart": [asked[question] for question in one["apart"]],
            }
            for one in found["ranking"][:_MOST]
        ],
        "effects": [] if advice is None else _effects(found, advice),
        "recommended": command("run", recommended) if recommended.is_file() else "",
    }


def _advice(
    advice: Mapping[str, Any], levels: Mapping[str, Mapping[str, Any]], titles: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """The recommended configuration, the safest and the most useful one."""
    rows = [
        {
            "key": key,
            "name": str(one["configuration"]),
            "settings": ", ".join(f"{name} = {level}" for name, level in levels[one["configuration"]].items()),
            "privacy": _estimate(one["privacy"]),
            "utility": _estimate(one["utility"]),
        }
        for key in ("chosen", "safest", "most_useful")
        if (one := advice[key]) is not None
    ]
    return {
        "rows": rows,
        "verdict": str(advice["verdict"]) if advice["verdict"] in ("pass", "review", "block") else "",
        "ended": int(advice["ended"]),
        "admitted": int(advice["admitted"]),
        "privacy": titles[advice["privacy"]],
        "utility": titles[advice["utility"]],
    }


def _chart(
    folder: Path, found: Mapping[str, Any], advice: Mapping[str, Any], titles: Mapping[str, tuple[str, str]]
) -> Markup:
    """Means of every configuration: privacy across, usefulness upwards."""
    columns = [str(advice["privacy"]), str(advice["utility"])]
    runs = results(pd.read_csv(folder / RUNS), [str(name) for name in found["factors"]])
    means = runs.ok.groupby("configuration")[columns].mean().dropna()
    chosen = advice["chosen"] and advice["chosen"]["configuration"]
    named = {one["configuration"] for key in ("chosen", "safest", "most_useful") if (one := advice[key]) is not None}
    dots = [
        Dot(str(name), float(privacy), float(utility), filled=name == chosen, named=name in named)
        for name, privacy, utility in means.itertuples()
    ]
    across, upwards = (f"{titles[name][0]} ({titles[name][1]})" for name in columns)
    return scatter_chart(dots, across, upwards) if dots else Markup()


def _effects(found: Mapping[str, Any], advice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Mean of the two metrics at each level of each factor."""
    main = {one["column"]: one["main"] for one in found["effects"]}
    privacy, utility = (main.get(advice[key], {}) for key in ("privacy", "utility"))
    means = {
        (factor, str(level["level"])): _estimate(level["mean"])
        for factor, rows in utility.items()
        for level in rows
        if level["mean"] is not None
    }
    return [
        {
            "factor": str(factor),
            "level": str(level["level"]),
            "privacy": "–" if level["mean"] is None else _estimate(level["mean"]),
            "utility": means.get((factor, str(level["level"])), "–"),
        }
        for factor, rows in privacy.items()
        for level in rows
    ]


def _estimate(one: Mapping[str, Any]) -> str:
    ends = f" ({one['low']:.4g} to {one['high']:.4g})" if "low" in one and "high" in one else ""
    return f"{one['value']:.4g}{ends}"
