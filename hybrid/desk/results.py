"""Screens of comparisons and of laboratories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import LARGEST, read_json
from hybrid.desk.comparison_view import RUNS, comparison_view
from hybrid.desk.desk import REPORT_POLICY, Desk, command, one_of
from hybrid.desk.laboratory_view import laboratory_view


@dataclass(frozen=True)
class Screen:
    """Results of one sort.

    Parameters
    ----------
    path : str
        Of the screen, and key of its title.
    kind : str
        As the manifests of such folders say.
    file, report : str
        Names of the result as JSON, and of its page.
    others : tuple of str
        Further files that ``view`` reads.
    verb : str
        Command that makes such folders.
    view : callable
        From the folder and its result to the content of the page.
    """

    path: str
    kind: str
    file: str
    report: str
    others: tuple[str, ...]
    verb: str
    view: Callable[[Path, Any], dict[str, Any]]

    def names(self, runs: Path) -> list[str]:
        """Folders with such a result, the newest first."""
        if not runs.is_dir():
            return []
        found = [one for one in runs.iterdir() if not one.is_symlink() and (one / self.file).is_file()]
        return [one.name for one in sorted(found, key=lambda one: (-(one / self.file).stat().st_mtime, one.name))]

    def read(self, folder: Path) -> dict[str, Any]:
        """Content of a page, from files that are as they were written.

        Raises
        ------
        ConfigError
            They are not, or hold something else.
        """
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
            return self.view(folder, read_json(folder / self.file))
        except (OSError, ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ConfigError(f"{folder / self.file}: this is not the result of a {self.kind}", hint=hint) from None


SCREENS = (
    Screen("comparisons", "comparison", "comparison.json", "comparison.html", (RUNS,), "compare", comparison_view),
    Screen("laboratories", "laboratory", "league.json", "lab.html", (), "lab", laboratory_view),
)


def routes(desk: Desk) -> list[Route]:
    """Pages of both screens."""
    return [route for screen in SCREENS for route in _routes(desk, screen)]


def _routes(desk: Desk, screen: Screen) -> list[Route]:
    runs = desk.places.runs

    def folder(request: Request) -> Path:
        return runs / one_of(screen.names(runs), request.path_params["name"], screen.kind)

    def listed(request: Request) -> Response:
        said = command(screen.verb, "PLAN", "--out", runs / "NAME")
        return desk.page(request, "results.html", screen=screen, names=screen.names(runs), runs=str(runs), command=said)

    def shown(request: Request) -> Response:
        place = folder(request)
        content = screen.read(place)
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
