"""Reference pages of the documentation, generated from the package's own models and registries.

``pages()`` maps a page's path (relative to ``docs/``) to its Markdown. ``build.py`` adds them to the site.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal, Union, get_args, get_origin

import typer
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import hybrid
from hybrid.base.options import meanings
from hybrid.cli import app
from hybrid.comparison.plan import ComparePlan
from hybrid.evaluation.registry import modules
from hybrid.lab.plan import LabPlan
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.refusals import REFUSALS
from hybrid.publication.asked import ways_to_ask
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.synthesize.registry import REGISTRY as GENERATORS
from hybrid.synthesize.registry import Capabilities

LARGEST = 10**15
"""Limits above it only say how wide a number may be; they are not shown."""
ROLE = re.compile(r":[a-z]+:`~?\.?([^`]+)`")
COMPARED = {
    "value": "value",
    "low": "low end of the interval",
    "high": "high end of the interval",
    "difference_to_reference": "value - reference; of usefulness the end of its interval where least is lost",
    "ratio_to_reference": "value / reference",
    "low_ratio_to_reference": "low end / reference",
    "difference_to_stage": "value - value at another stage",
}


def pages() -> dict[str, str]:
    """Every generated page: path below ``docs/`` to Markdown."""
    return {
        "reference/configuration.md": configuration(),
        "reference/refusals.md": refusals(),
        "reference/plan.md": plan(),
        "reference/lab.md": lab(),
        "reference/commands.md": commands(),
        "reference/metrics.md": metrics(),
        "reference/policies.md": policies(),
        "reference/generators.md": generators(),
        "reference/certificate.md": certificate(),
        "reference/python.md": python(),
    }


def configuration() -> str:
    """The keys of a run configuration."""
    start = (
        "# Configuration\n\nEvery key of a run configuration, with type, default and meaning. "
        "`hybrid check CONFIG --show` prints a configuration with all its defaults; `--set KEY=VALUE` changes a key "
        "for one run. Unknown keys are errors. Paths are relative to the configuration file.\n\n"
    )
    return start + "\n".join(_sections("", RunConfig))


def refusals() -> str:
    """What does not go together in a configuration: features by modes, then a sentence for each pair."""
    modes = list(REFUSALS)
    features = sorted({feature for refused in REFUSALS.values() for feature in refused})
    parts = [
        "# What does not go together\n",
        "A configuration that asks for both is refused before anything is read, with all problems at once. Across: "
        "what a configuration is or does, by number; down: what it then cannot have.\n",
        "\n".join(f"{at}. [`{mode}`](#{_anchor(mode)})" for at, mode in enumerate(modes, 1)) + "\n",
        f"| | {' | '.join(str(at) for at in range(1, len(modes) + 1))} |",
        f"|---|{'---|' * len(modes)}",
        *(f"| {name} | {' | '.join('no' if name in REFUSALS[mode] else '' for mode in modes)} |" for name in features),
        "",
    ]
    for mode, refused in REFUSALS.items():
        parts += [f"## `{mode}` {{#{_anchor(mode)}}}\n", "| not with | says | mend |", "|---|---|---|"]
        parts += [f"| {name} | {_filled(one.message)} | {_filled(one.hint)} |" for name, one in refused.items()]
        parts.append("")
    return "\n".join(parts)


def _anchor(mode: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", mode.lower()).strip("-")


def _filled(sentence: str) -> str:
    """A sentence with an ellipsis in the place of each word that a configuration fills in."""
    return _cell(re.sub(r"\{\d\}", "…", sentence).replace("{{", "{").replace("}}", "}"))


def plan() -> str:
    """The keys of a comparison plan."""
    start = (
        "# Comparison plan\n\nEvery key of a plan for `hybrid compare`. "
        "[Comparing strategies](../guides/compare.md) explains them with an example.\n\n"
    )
    return start + "\n".join(_sections("", ComparePlan))


def lab() -> str:
    """The keys of a plan of the laboratory."""
    start = (
        "# Laboratory plan\n\nEvery key of a plan for `hybrid lab`. "
        "[Which privacy metric can you trust?](../guides/lab.md) explains them with an example.\n\n"
    )
    return start + "\n".join(_sections("", LabPlan))


def commands() -> str:
    """The commands with their arguments and options."""
    root = typer.main.get_command(app)
    parts = [
        "# Commands\n",
        "| exit code | meaning |\n|---|---|\n| 0 | done |\n| 1 | failed |\n"
        "| 2 | the input or the configuration is wrong |\n| 3 | the gate refused, or people must decide |\n",
        "Options before the command:\n",
        _parameters(root),
    ]
    for name, command in _leaves("hybrid", root):
        parts += [f"\n## {name}\n", f"```\n{_usage(name, command)}\n```\n", _text(command.help or ""), "\n"]
        parts.append(_parameters(command))
    return "\n".join(parts)


def metrics() -> str:
    """Every metric of the registry, grouped by family and module."""
    parts = [
        "# Metrics\n",
        "*no leak*: what a fresh sample of the same population scores. *copy*: what an exact copy of the training "
        "records scores. A dash: it depends on the data. *all, or its name*: a run under the default policy computes "
        "it where `evaluate.also: all` asks for it, or its name there or in `evaluate.metrics`. *its name*: all does "
        "not ask for it. A policy that judges a metric asks for it, too. "
        "[How to read a number](../concepts/metrics.md) explains value, interval and "
        "reference.\n",
    ]
    ways = ways_to_ask()
    for family in ("privacy", "utility", "fidelity"):
        parts.append(f"## {family.capitalize()}\n")
        for module in modules():
            chosen = [metric for metric in module.METRICS if metric.family == family]
            if not chosen:
                continue
            parts += [f"### {_title(module)}\n", "| metric | better | range | no leak | copy | needs | says |"]
            parts.append("|---|---|---|---|---|---|---|")
            for metric in chosen:
                needs = [*metric.needs, *([f"per {metric.per}"] if metric.per else [])]
                needs += filter(None, [ways[metric.name]])
                cells = [
                    f"`{metric.name}`",
                    metric.direction,
                    f"{_number(metric.low)} to {_number(metric.high)}",
                    _number(metric.no_leak),
                    _number(metric.copy),
                    _cell(", ".join(needs).replace("_", " ")) or "",
                    _cell(metric.sentence),
                ]
                parts.append(f"| {' | '.join(cells)} |")
            parts.append("")
        if family == "privacy":
            parts += _threats()
    return "\n".join(parts)


def _threats() -> list[str]:
    """What each metric of privacy stands for: its pillar, and of indicators and attacks the threat."""
    parts = [
        "### What each metric stands for\n",
        "*property*: of the table, before any attack. *indicator*: a statistic without an adversary. *attack*: what an "
        "adversary with this access and knowledge reaches. Singling out, linkability and inference are the criteria of "
        "Opinion 05/2014; membership is the broadest sign that single people are remembered. No metric makes a "
        "white-box attack (weights, gradients).\n",
        "| metric | pillar | risk | mechanism | access | attacker knows | unit |",
        "|---|---|---|---|---|---|---|",
    ]
    for metric in (metric for module in modules() for metric in module.METRICS if metric.family == "privacy"):
        about = (metric.pillar, metric.risk, metric.mechanism, metric.access, metric.knows, metric.unit)
        parts.append(f"| `{metric.name}` | {' | '.join(_cell(value or '–').replace('_', '-') for value in about)} |")
    return [*parts, ""]


def policies() -> str:
    """The shipped policies as tables, and the keys of a policy file."""
    parts = [
        "# Policies\n",
        "`policy: NAME` in a configuration takes one of these; a path takes a file of your own. Beyond *review* people "
        "decide, beyond *block* nothing is released; *not computable* says what follows where the number does not "
        "exist. The limits are templates: name an owner and set your own in a policy that "
        "[extends](../guides/releases.md#the-gate-and-its-policy) one of them.\n",
    ]
    for name, policy in shipped_policies().items():
        people = "person accepts" if policy.approvals == 1 else "people accept"
        parts += [
            f"## {name}\n",
            f"{_text(policy.description)} Version {policy.version}; {policy.approvals} {people} a review.\n",
            "| rule | judges | compares | review | block | not computable |",
            "|---|---|---|---|---|---|",
            *(f"| {' | '.join(_rule(rule))} |" for rule in policy.all_rules),
            "",
        ]
    parts.append("## Keys of a policy file\n")
    parts += _sections("", Policy, level=3)
    return "\n".join(parts)


def generators() -> str:
    """Every generator with licence, packages, presets and options."""
    parts = [
        "# Generators\n",
        "The options below go under `synthesize.options`. [Which one to choose](../guides/generators.md) compares "
        "them; `hybrid generators` adds what is installed here.\n",
    ]
    for name, generator in GENERATORS.items():
        extra = f"extra `[{generator.extra}]`" if generator.extra else "no extra"
        where = f"managed environment `{generator.environment}`" if generator.environment else "the core alone"
        able = Capabilities.of(generator).words
        parts += [f"## {name}\n", f"{_text(generator.title)}\n"]
        needs = "" if not generator.requires else f" Needs {', '.join(generator.requires)}: {extra}, or the {where}."
        parts.append(f"Licence: {_text(generator.licence)}.{needs} It {able}.\n")
        parts.append(_fields("", generator.Options))
        presets = {preset: dict(values) for preset, values in generator.presets.items()}
        parts += ["| preset | sets |", "|---|---|"]
        for preset, values in presets.items():
            said = ", ".join(f"`{key}: {_value(value)}`" for key, value in values.items()) or "the defaults above"
            parts.append(f"| `{preset}` | {said} |")
        parts.append("")
    return "\n".join(parts)


def python() -> str:
    """The public names of the package, rendered by mkdocstrings from their docstrings."""
    parts = [
        "# Python\n",
        "Everything that `import hybrid` offers. Other modules are internal and may change in any version. "
        "[In Python and notebooks](../guides/python.md) begins with the everyday tasks.\n",
    ]
    for name in hybrid.__all__:
        found = getattr(hybrid, name)
        if inspect.ismodule(found):
            parts += _module(name, found)
        else:
            parts.append(f"## hybrid.{name}\n\n::: {found.__module__}.{found.__name__}\n")
    return "\n".join(parts)


def _module(name: str, found: types.ModuleType) -> Iterator[str]:
    if callable(found):
        home = {"synthesize": "synthesis", "anonymize": "anonymization"}[name]
        yield f"## hybrid.{name}\n\n::: hybrid.python.{home}.{name}\n"
        return
    yield f"## hybrid.{name}\n\n::: hybrid.{name}\n"
    functions = [getattr(found, one) for one in dir(found) if one[0].islower()] if name != "errors" else []
    if functions:
        yield "| function | what it gives |\n|---|---|"
        for one in functions:
            first = (inspect.getdoc(one) or "").splitlines()[0]
            yield f"| `{one.__name__}` | {_cell(first)} |"
        yield ""


def certificate() -> str:
    """The entries of a certificate, from its JSON schema."""
    schema = json.loads(files("hybrid.publication.signing").joinpath("certificate.schema.json").read_text("utf-8"))
    rows = [f"| `{name}` | {kind} | {_cell(text)} |" for name, kind, text in _entries("", schema)]
    return "\n".join(
        [
            "# Certificate\n",
            f"`{schema['$id']}`. {schema['description']} "
            "[Verify a release](../guides/verify.md) explains the envelope and the signature. The JSON schema is "
            "`hybrid/publication/signing/certificate.schema.json`.\n",
            "| entry | type | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _entries(prefix: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of every described entry of a JSON schema."""
    for name, about in schema.get("properties", {}).items():
        kinds = about.get("type", "text" if {"const", "enum"} & set(about) else "any")
        listed = "/".join(kinds) if isinstance(kinds, list) else kinds
        yield f"{prefix}{name}", listed, about.get("description", "")
        yield from _entries(f"{prefix}{name}.", about)
        yield from _entries(f"{prefix}{name}[].", about.get("items", {}))


def shipped_policies() -> dict[str, Policy]:
    """The policies inside the package by the name a configuration uses, the default first, with all their rules."""
    paths = packaged_policies()
    return {name: load_policy(paths[name]) for name in sorted(paths, key=lambda name: (name != "default", name))}


def config_keys(model: type[BaseModel] = RunConfig, prefix: str = "") -> Iterator[str]:
    """Every dotted key of an options model, those of all alternatives included."""
    for name, info in model.model_fields.items():
        key = f"{prefix}{name}"
        yield key
        for step, part in _parts(info.annotation):
            yield from config_keys(part, f"{key}{step}.")


def command_names() -> list[str]:
    """Every command as typed, such as ``hybrid hierarchy show``."""
    return [name for name, _ in _leaves("hybrid", typer.main.get_command(app))]


def _sections(prefix: str, model: type[BaseModel], level: int = 2) -> Iterator[str]:
    yield _fields(prefix, model)
    for name, info in model.model_fields.items():
        alternatives = list(_parts(info.annotation))
        for step, part in alternatives:
            key = f"{prefix}{name}{step}"
            chosen = _choice(part) if len(alternatives) > 1 else None
            heading = f"`{key}`: {chosen}" if chosen else f"`{key}`"
            yield f"\n{'#' * level} {heading}\n"
            yield f"{_text(inspect.cleandoc(part.__doc__ or ''))}\n"
            yield from _sections(f"{key}.", part, level if prefix or level > 2 else 3)


def _fields(prefix: str, model: type[BaseModel]) -> str:
    if not model.model_fields:
        return "No options.\n"
    words, rows = meanings(model), ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, info in model.model_fields.items():
        kind = _cell(_type(info.annotation) + _range(info))
        rows.append(f"| `{prefix}{name}` | {kind} | {_default(info)} | {_cell(words[name])} |")
    return "\n".join(rows) + "\n"


def _parts(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation
        return
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        inner = inner[:1]
    step = ""
    if origin in (tuple, list, set, frozenset):
        step = "[]"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        step, inner = ".NAME", inner[1:]
    for one in inner:
        for below, model in _parts(one):
            yield step + below, model


def _choice(model: type[BaseModel]) -> str | None:
    for info in model.model_fields.values():
        values = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
        if len(values) == 1:
            return str(values[0])
    return None


def _type(annotation: Any) -> str:
    words = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null", Any: "any"}
    if annotation in words:
        return words[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin is Literal:
        return ", ".join(f"`{_value(value)}`" for value in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in inner))
    if origin in (tuple, list, set, frozenset):
        return f"list of {_type(inner[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"mapping of {_type(inner[0])} to {_type(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    members = getattr(annotation, "__members__", None)
    if members:
        return ", ".join(f"`{member.value}`" for member in members.values())
    return getattr(annotation, "__name__", str(annotation))


def _range(info: FieldInfo) -> str:
    signs = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    said = [
        f"{words} {getattr(limit, sign):g}"
        for limit in info.metadata
        for sign, words in signs.items()
        if isinstance(getattr(limit, sign, None), int | float) and getattr(limit, sign) < LARGEST
    ]
    return f", {', '.join(said)}" if said else ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, BaseModel) or value is PydanticUndefined:
        return "see below"
    return f"`{_value(value)}`"


def _value(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, tuple | set | frozenset):
        value = [one.model_dump(mode="json") if isinstance(one, BaseModel) else one for one in value]
    if isinstance(value, list | dict) and not value:
        return "[]" if isinstance(value, list) else "{}"
    text = yaml.safe_dump(getattr(value, "value", value), default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").replace("|", "\\|")


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    below: Mapping[str, Any] = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield name, command
    for part, one in below.items():
        yield from _leaves(f"{name} {part}", one)


def _usage(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    said = [p.human_readable_name if p.required else f"[{p.human_readable_name}]" for p in arguments]
    return " ".join([name, *said, "[OPTIONS]"])


def _parameters(command: Any) -> str:
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        names = [*parameter.opts, *parameter.secondary_opts]
        argument = parameter.param_type_name == "argument"
        said = parameter.human_readable_name if argument else ", ".join(names)
        default = "" if parameter.default in (None, (), [], False) or callable(parameter.default) else parameter.default
        if parameter.required:
            default = "required"
        text = parameter.help or ""
        if getattr(parameter, "envvar", None):
            text = f"{text} Environment variable: {parameter.envvar}."
        shown = f"`{default}`" if default not in ("", "required") else default
        rows.append(f"| `{said}` | {shown} | {_cell(text)} |")
    return "\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows]) + "\n" if rows else ""


def _rule(rule: Any) -> list[str]:
    judged = getattr(rule, "metric", None) or getattr(rule, "quantity", None)
    what = f"`{judged}`" if judged else _cell(type(rule).__name__)
    table = getattr(rule, "stage", None) or getattr(rule, "subject", None)
    what += f" ({table})" if table else ""
    compares = getattr(rule, "compare", "value")
    compares = COMPARED.get(compares, compares.replace("_", " "))
    if getattr(rule, "other", None):
        compares = f"value - value at {rule.other}"
    if getattr(rule, "allowance", None) is not None:
        compares += f"; up to {rule.allowance:g} passes"
    side = "above" if rule.better == "lower" else "below"
    review, block = (f"{side} {limit:g}" if limit is not None else "" for limit in (rule.review, rule.block))
    return [f"**{_cell(rule.name)}**: {_cell(rule.reason)}", what, compares, review, block, rule.if_not_computable]


def _title(module: types.ModuleType) -> str:
    return module.__name__.rsplit(".", 1)[-1].replace("_", " ").capitalize()


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _text(text: str) -> str:
    """A docstring as Markdown: cross-references become code, other markup is kept literal."""
    return ROLE.sub(r"`\1`", text).replace("``", "`").replace("<", "&lt;")


def _cell(text: str) -> str:
    return " ".join(_text(text).replace("\\|", "|").replace("|", "\\|").split())
