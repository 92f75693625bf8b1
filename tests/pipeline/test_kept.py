"""Options of a run configuration, of linked tables too, as they are promised: those of every stage are among them."""

from __future__ import annotations

from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.links import LinkOptions
from tests.helpers.kept import as_text, assert_kept


def test_options_have_the_stated_defaults_and_limits() -> None:
    form, linked = RunConfig.model_json_schema(), LinkOptions.model_json_schema()
    for name, part in (linked.pop("$defs") | {"LinkOptions": linked}).items():
        assert form["$defs"].setdefault(name, part) == part
    assert_kept("run_config.json", as_text(form))
