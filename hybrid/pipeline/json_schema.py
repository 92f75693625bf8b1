"""JSON schema of a configuration: editors complete its keys and explain them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from hybrid.base.atomic import write_json, write_text
from hybrid.pipeline.config import OF_ONE_TABLE, RunConfig
from hybrid.pipeline.links import LinkOptions

_OFF = {"const": False}


FILE = "hybrid.schema.json"
"""Name of the schema beside a configuration."""


def first_line(file: str = FILE) -> str:
    """First line of a configuration, by which editors with the YAML language server find the schema beside it."""
    return f"# yaml-language-server: $schema={file}"


def refer_to_schema(config: Path) -> Path:
    """Write the schema beside a configuration, and name it in the first line of the configuration.

    The configuration does not name a schema yet; a schema of an earlier version is replaced.
    """
    schema = config.parent / FILE
    write_json(schema, configuration_schema())
    write_text(config, f"{first_line()}\n{config.read_text(encoding='utf-8')}")
    return schema


def configuration_schema() -> dict[str, Any]:
    """JSON schema of the configuration of one table, or of linked tables where it has ``tables``.

    It accepts what the program accepts, short forms included; ``hybrid check`` finds contradictions between keys.
    """
    _, made = models_json_schema([(RunConfig, "validation"), (LinkOptions, "validation")])
    models = _without_alternatives(made["$defs"])
    _accept_short_forms(models)
    single, links = models["RunConfig"], models.pop("LinkOptions")
    shared = {key: about for key, about in single["properties"].items() if key not in OF_ONE_TABLE}
    models["LinkedConfig"] = links | {"title": "LinkedConfig", "properties": links["properties"] | shared}
    return {
        "title": "Configuration of hybrid",
        "if": {"required": ["tables"]},
        "then": {"$ref": "#/$defs/LinkedConfig"},
        "else": {"$ref": "#/$defs/RunConfig"},
        "$defs": models,
    }


def _without_alternatives(part: Any) -> Any:
    """Schema with ``anyOf`` for ``oneOf``: without the key that decides, a mapping fits several models."""
    if isinstance(part, list):
        return [_without_alternatives(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {"anyOf" if key == "oneOf" else key: _without_alternatives(value) for key, value in part.items()}


def _accept_short_forms(models: dict[str, Any]) -> None:
    """Add what validators accept beside the models: off, and one technique in place of a list."""
    sections = models["RunConfig"]["properties"]
    for section in (sections["protect"], sections["anonymize"], sections["transition"]):
        section["anyOf"].append(_OFF)
    generator = models["SynthesizeOptions"]["properties"]["generator"]
    generator["anyOf"] = [{"type": generator.pop("type")}, {"type": "null"}, _OFF]
    technique = models["AnonymizeOptions"]["properties"]["technique"]
    item = technique.pop("items")
    item["anyOf"].append({"type": "string"})
    technique.pop("type")
    technique["anyOf"] = [*item["anyOf"], {"type": "array", "items": item, "minItems": technique.pop("minItems", 1)}]
