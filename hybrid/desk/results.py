"""Screens of comparisons and of laboratories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.analysis import results
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import file_sha256
from hybrid.base.language import ENGLISH, Language
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import LARGEST, is_file, read_json
from hybrid.desk.desk import REPORT_POLICY, Desk, command, known_name
from hybrid.evaluation.trust import COPIES, SCHEMA, WORDS
from hybrid.report.charts.exploration import Dot, scatter_chart
from hybrid.report.run.inputs import title_of

RUNS = "comparison.csv"
"""Name of the table of all runs."""
_MOST = 20
"""Configurations that the ranking lists."""


def comparison_view(folder: Path, found: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """Recommendation, ranking, chart and effects, by the concerns in their order."""
    titles = {one["column"]: (str(one["title"]), str(one["better"])) for one in found["metrics"]}
    concerns = {concern: titles[column] for concern, column in found["concerns"].items()}
    advice = found["recommendation"]
    recommended = folder / "recommended.yaml"
    return {
        "title": str(found["name"]),
        "seeds": int(found["seeds"]),
        "factors": [str(name) for name in found["factors"]],
        "advice": None if advice is None else _advice(advice, concerns),
        "chart": Markup() if advice is None else _chart(folder, found, advice, titles, language),
        "concerns": [title for title, _ in concerns.values()],
        "ranking": [
            {
                "name": str(one["configuration"]),
                "verdict": str(one["verdict"]) if one["verdict"] in ("pass", "review", "block") else "",
                "values": [_estimate(one[concern]) for concern in concerns],
                **{what: [concerns[concern][0] for concern in one[what]] for what in ("worse", "better")},
            }
            for one in found["ranking"][:_MOST]
        ],
        "effects": [] if advice is None else _effects(found),
        "recommended": command("run", recommended) if recommended.is_file() else "",
    }


def _advice(advice: Mapping[str, Any], concerns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    rows = [
        {"key": key, "name": str(one["configuration"]), "values": [_estimate(one[concern]) for concern in concerns]}
        for key, one in _candidates(advice).items()
    ]
    return {
        "rows": rows,
        "verdict": str(advice["verdict"]) if advice["verdict"] in ("pass", "review", "block") else "",
        "ended": int(advice["ended"]),
        "admitted": int(advice["admitted"]),
        "settled": advice["settled"] is True,
        "concerns": list(concerns.values()),
    }


def _candidates(advice: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The first configuration, the safest and the most useful one."""
    best = advice["best"]
    first = "chosen" if advice["settled"] is True else "first"
    found = {first: advice["chosen"], "safest": best["privacy"], "most_useful": best["usefulness"]}
    return {key: one for key, one in found.items() if one is not None}


def _chart(
    folder: Path,
    found: Mapping[str, Any],
    advice: Mapping[str, Any],
    titles: Mapping[str, tuple[str, str]],
    language: Language,
) -> Markup:
    columns = [str(found["concerns"][concern]) for concern in ("privacy", "usefulness")]
    runs = results(pd.read_csv(folder / RUNS), [str(name) for name in found["factors"]])
    means = runs.ok.groupby("configuration")[columns].mean().dropna()
    chosen = advice["chosen"] and advice["chosen"]["configuration"]
    named = {one["configuration"] for one in _candidates(advice).values()}
    dots = [
        Dot(str(name), float(privacy), float(utility), filled=name == chosen, named=name in named)
        for name, privacy, utility in means.itertuples()
    ]
    across, upwards = (f"{language.own(titles[name][0])} ({language.own(titles[name][1])})" for name in columns)
    return scatter_chart(dots, across, upwards, language) if dots else Markup()


def _effects(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    main = {one["column"]: one["main"] for one in found["effects"]}
    columns = list(found["concerns"].values())
    means = {
        (column, factor, str(level["level"])): "–" if level["mean"] is None else _estimate(level["mean"])
        for column in columns
        for factor, rows in main.get(column, {}).items()
        for level in rows
    }
    levels = dict.fromkeys((factor, level) for _, factor, level in means)
    return [
        {
            "factor": str(factor),
            "level": level,
            "values": [means.get((column, factor, level), "–") for column in columns],
        }
        for factor, level in levels
    ]


def _estimate(one: Mapping[str, Any]) -> str:
    ends = f" ({one['low']:.4g} to {one['high']:.4g})" if "low" in one and "high" in one else ""
    return f"{one['value']:.4g}{ends}"


def laboratory_view(_: Path, found: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """Metrics of every table in ``league.json``, the most trusted first, without numbers as papers print them."""
    if found["schema"] != SCHEMA:
        raise ValueError
    entries = [one for one in found["metrics"] if one.get("printed") is None]
    return {
        "title": str(found["name"]),
        "seeds": int(found["seeds"]),
        "risk_models": [str(one) for one in found["risk_models"]],
        "tables": [
            _metrics(str(table), [one for one in entries if one["table"] == table], language)
            for table in found["tables"]
        ],
    }


def _metrics(name: str, entries: Sequence[Mapping[str, Any]], language: Language) -> dict[str, Any]:
    ordered = sorted(entries, key=lambda one: WORDS.index(one["verdict"]))
    rows = [_metric(one) for one in ordered]
    dots = [
        Dot(row["title"], row["seconds"], row["power"], filled=row["word"] == WORDS[0], named=row["word"] == WORDS[0])
        for row in rows
        if row["power"] is not None and row["seconds"]
    ]
    axes = language.say("processor seconds per table"), language.say("share of leaks noticed")
    chart = scatter_chart(dots, *axes, language, log=True) if dots else Markup()
    return {"name": name, "rows": rows, "chart": chart}


def _metric(one: Mapping[str, Any]) -> dict[str, Any]:
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


@dataclass(frozen=True)
class Screen:
    """Results of one sort."""

    path: str
    """Of the screen, and key of its title."""
    kind: str
    """As the manifests of such folders say."""
    file: str
    report: str
    """Names of the result as JSON, and of its page."""
    others: tuple[str, ...]
    """Further files that ``view`` reads."""
    verb: str
    """Command that makes such folders."""
    view: Callable[[Path, Any, Language], dict[str, Any]]
    """From the folder and its result to the content of the page; LookupError and its like: it is something else."""

    def names(self, runs: Path) -> list[str]:
        """Folders with such a result, the newest first."""
        if not runs.is_dir():
            return []
        found = [one for one in runs.iterdir() if not one.is_symlink() and is_file(one / self.file)]
        return [one.name for one in sorted(found, key=lambda one: (-(one / self.file).stat().st_mtime, one.name))]

    def read(self, folder: Path, language: Language = ENGLISH) -> dict[str, Any]:
        """Content of a page, from files that are as they were written."""
        hint = f"hybrid {self.verb} writes such folders; run it again"
        try:
            manifest = read_json(folder / MANIFEST)
            if manifest["kind"] != self.kind:
                raise ValueError
            for name in (self.file, self.report, *self.others):
                path = folder / name
                if path.is_symlink() or file_sha256(path) != manifest["files"][name]["sha256"]:
                    raise ConfigError(f"{path}: the file was changed after it was written", hint=hint)
            if (folder / self.file).stat().st_size > LARGEST:
                raise ConfigError(f"{folder / self.file}: the file is too large for this page", hint="open its report")
            return self.view(folder, read_json(folder / self.file), language)
        except (OSError, ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ConfigError(f"{folder / self.file}: this is not the result of a {self.kind}", hint=hint) from None


SCREENS = (
    Screen("comparisons", "comparison", "comparison.json", "comparison.html", (RUNS,), "compare", comparison_view),
    Screen("laboratories", "laboratory", "league.json", "lab.html", (), "lab", laboratory_view),
)


def routes(desk: Desk) -> list[Route]:
    return [route for screen in SCREENS for route in _routes(desk, screen)]


def _routes(desk: Desk, screen: Screen) -> list[Route]:
    runs = desk.places.runs

    def folder(request: Request) -> Path:
        return runs / known_name(screen.names(runs), request.path_params["name"], screen.kind)

    def listed(request: Request) -> Response:
        said = command(screen.verb, "PLAN", "--out", runs / "NAME")
        return desk.page(request, "results.html", screen=screen, names=screen.names(runs), runs=str(runs), command=said)

    def shown(request: Request) -> Response:
        place = folder(request)
        content = screen.read(place, desk.language(request))
        said = command(screen.verb, "PLAN", "--out", place)
        page = place / screen.report
        return desk.page(
            request, f"{screen.kind}.html", screen=screen, name=place.name, page=str(page), command=said, **content
        )

    def report(request: Request) -> Response:
        place = folder(request)
        screen.read(place)
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return FileResponse(place / screen.report, media_type="text/html", headers=headers)

    return [
        Route(f"/{screen.path}", listed),
        Route(f"/{screen.path}/{{name}}/report", report),
        Route(f"/{screen.path}/{{name}}", shown),
    ]
