"""Report of a comparison, and the recommended configuration as a file."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from hybrid.analysis import answer, results
from hybrid.base.atomic import write_text
from hybrid.base.hashing import fingerprint
from hybrid.base.language import Language, language_of
from hybrid.comparison.plan import ComparePlan
from hybrid.comparison.private_draws import SpentTogether
from hybrid.comparison.schedule import Expansion
from hybrid.comparison.trial import NOTE, Configuration, shown
from hybrid.evaluation import REGISTRY
from hybrid.pipeline.config import RunConfig
from hybrid.report import comparison_json, describe, render_comparison
from hybrid.report.comparison.words import advice
from hybrid.table.files import is_url

REPORT = "comparison.html"
ANSWERS = "comparison.json"
RECOMMENDED = "recommended.yaml"
HEADER = """\
# First in hybrid compare: configuration "{name}" of the plan {plan}. comparison.html beside this file says whether the
# seeds show it to be the best. It was chosen among several, so its numbers there are too good: a run measures it anew.
# No seed: then the draws cannot be repeated.
"""
KNOBS = ("method", "order", "generator", "rows", "isolate", "time_limit", "memory_limit")
"""Options that are facets of their own, or change no number."""


def write_report(
    plan: ComparePlan,
    expansion: Expansion,
    comparison: pd.DataFrame,
    out: Path,
    spent: SpentTogether | None = None,
) -> None:
    """Write ``comparison.html``, ``comparison.json`` and, if there is one to recommend, ``recommended.yaml``."""
    configurations = {each.name: each for each in expansion.configurations}
    known = facets(expansion.configurations)
    answers = answer(results(comparison, plan.factor_names, known, margin=plan.margin, prefer=plan.margins))
    if plan.research:
        answers = replace(answers, recommendation=None)
    texts = describe(REGISTRY.values())
    content = comparison_json(plan.name, answers, texts) | {"privacy_budget": None if spent is None else asdict(spent)}
    if plan.research:
        content |= {"research": NOTE}
    said = advice(answers, texts)
    content |= {"said": [said.headline, *said.shown]}
    found = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(out / ANSWERS, found + "\n")
    chosen = answers.recommendation and answers.recommendation.chosen
    config = configurations[chosen.configuration].config if chosen else None
    (out / RECOMMENDED).unlink(missing_ok=True)
    if chosen and config is not None:
        write_text(out / RECOMMENDED, recommended_yaml(plan.name, chosen.configuration, config, out))
    reasons = [each.reason for each in expansion.left_out]
    notes = ([] if spent is None else [spent.sentence]) + ([NOTE] if plan.research else [])
    write_text(out / REPORT, render_comparison(plan.name, answers, texts, reasons, notes, _language(configurations)))


def _language(configurations: Mapping[str, Configuration]) -> Language:
    """Language of the page: that in which the configurations publish."""
    named = (one.config.publish.language for one in configurations.values() if one.config is not None)
    return language_of(next(named, None))


def recommended_yaml(plan: str, name: str, config: RunConfig, out: Path) -> str:
    """Options that a configuration sets, as YAML with paths relative to ``out``."""
    content = config.model_dump(mode="json", exclude_unset=True)
    content.pop("seed", None)
    for section, key in _paths(content):
        path = Path(section[key]).expanduser()
        if not is_url(section[key]) and not path.is_absolute():
            section[key] = os.path.relpath(config.path(section[key]).resolve(), out.resolve())
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return HEADER.format(name=name, plan=plan) + text


def _paths(content: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    deliver = (content.get("nightly") or {}).get("deliver") or {}
    tables = [content["data"]] if "data" in content else [*content["tables"].values()]
    places = [
        *((table, "path") for table in tables),
        *((column, "hierarchy") for table in tables for column in table.get("columns", {}).values()),
        (content.get("anonymize") or {}, "population"),
        (content, "policy"),
        (deliver, "folder"),
    ]
    return (place for place in places if place[0].get(place[1]))


def facets(configurations: Sequence[Configuration]) -> dict[str, dict[str, str]]:
    """K, sampling, beta, transition, order, generator and ``rest`` of each configuration.

    ``rest`` is equal where all else is equal. Where one transition or generator occurs with several options, its facet
    names them. Configurations that are not valid are left out.
    """
    configs = {each.name: each.config for each in configurations if each.config is not None}
    orders = {each.name: "anonymized last" if each.research_order else "" for each in configurations}
    named = {
        "transition": _named({name: _section(config.transition, "method") for name, config in configs.items()}),
        "generator": _named({name: _section(config.synthesize, "generator") for name, config in configs.items()}),
    }
    return {
        name: {
            "k": str(config.promised_k or "none"),
            "sampling": config.sample.method,
            "beta": "1" if config.sample.method == "none" else f"{config.sample.beta:g}",
            "transition": named["transition"][name],
            "order": orders[name] or ("none" if config.transition is None else config.transition.order),
            "generator": named["generator"][name],
            "rest": _rest(config),
        }
        for name, config in configs.items()
    }


def _section(options: Any, key: str) -> tuple[str, str]:
    """The choice a section makes, and its own options in one line."""
    if options is None:
        return "none", ""
    given = options.model_dump(mode="json", exclude_defaults=True)
    return getattr(options, key), str(shown({name: value for name, value in given.items() if name not in KNOBS}))


def _named(sections: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The choice alone, with its options where it occurs with several."""
    variants = defaultdict(set)
    for choice, options in sections.values():
        variants[choice].add(options)
    return {
        name: choice if len(variants[choice]) == 1 else f"{choice} {options}".strip()
        for name, (choice, options) in sections.items()
    }


def _rest(config: RunConfig) -> str:
    anonymize = config.anonymize and config.anonymize.model_copy(update={"k": None})
    sample = config.sample.model_copy(update={"method": "none", "beta": 1.0})
    changes = {"anonymize": anonymize, "sample": sample, "transition": None, "synthesize": config.synthesize.rows}
    return fingerprint(config.model_dump(mode="json") | changes)
