"""Actions on a rule that is not met: lines of YAML, each of which changes the configuration of the run.

A policy names the actions of a rule, the best first (``actions``). What an action writes depends on the configuration;
:func:`open_actions` decides for all of them whether the configuration says so already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import yaml
from pydantic import ValidationError

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.language import ENGLISH, Language
from hybrid.base.options import Options
from hybrid.protect.options import LEAST_HOLDERS
from hybrid.publication.private_words import is_dp
from hybrid.sample import SampleOptions
from hybrid.synthesize import SynthesizeOptions
from hybrid.table import Role
from hybrid.table.split import SplitOptions

if TYPE_CHECKING:
    from hybrid.publication.verdict import Check

ActionName = Literal[
    "larger groups",
    "smaller groups",
    "fewer records left out",
    "local recoding",
    "l-diversity of the secrets",
    "fixed levels",
    "no models beside k",
    "rare values replaced",
    "more rare values replaced",
    "values drawn evenly below labels",
    "values drawn by trees below labels",
    "half of the people",
    "larger leaves",
    "smaller leaves",
    "only splits beyond chance",
    "fewer epochs",
    "more epochs",
    "the generator cart",
    "fewer rows of each person",
    "column never learned",
    "column left out",
    "dates declared",
    "stable sides",
    "everybody as control",
    "all rows judged",
    "several tables",
]
"""What a policy may name as ``actions`` of a rule."""
NoiseName = Literal["more noise", "less noise"]
"""The actions of ``privacy.mode: dp``, which refuses the sections of the others."""
LEAVES = 100
"""People of a leaf of cart where none were configured: twice the most that it chooses itself."""
FEWEST_IN_LEAVES, MOST_IN_LEAVES = 10, 400
"""People of a leaf of cart that are proposed, at least and at most; it chooses ten itself where there are few."""
FEWEST_EPOCHS, MOST_EPOCHS = 10, 3000
MOST_HOLDERS = 100
"""People who must have a value, at most, that are proposed."""
LEAST_SHARE = 0.2
"""The smallest share of the people that is proposed to learn from."""
LEAST_GROUPS = 50
"""Groups of k, or of holders of a value, that the records must make, so that a larger number is proposed."""


@dataclass(frozen=True)
class Action:
    """A setting by its dotted key, and the value it gets."""

    name: str
    """What it does, in a few words: an :data:`ActionName`, or a :data:`NoiseName`."""
    key: str
    value: Any = None
    """Of JSON types."""
    known: bool = True
    """Whether the configuration is known, which decides the value; else it is the setting alone that is named."""

    @property
    def line(self) -> str:
        """The setting as YAML, such as ``anonymize.k: 10``."""
        return f"{self.key}: {yaml_value(self.value)}" if self.known else self.key

    @property
    def protects(self) -> bool:
        """True where people are no less protected by it. What protects less a person writes, and no button."""
        return _WAYS[self.name].protects

    def words(self, language: Language = ENGLISH) -> str:
        """Such as "larger groups (anonymize.k: 10)"; it says so where people are less protected by it."""
        if self.protects:
            return language.say("{action:own} ({line})", action=self.name, line=self.line)
        return language.say("{action:own} ({line}), which protects people less", action=self.name, line=self.line)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**content)


def yaml_value(value: Any) -> str:
    """A value of JSON types on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return text.removesuffix("...\n").strip()


@dataclass(frozen=True)
class Situation:
    """Facts that the value of an action depends on."""

    config: Mapping[str, Any]
    """The configuration as resolved (JSON types)."""
    anonymization: AnonymizationResult | None = None
    least_k: int = 2
    """The k below which a rule of the policy is not met."""
    column: str | None = None
    table: str | None = None
    details: Mapping[str, Any] | None = None
    """Column and table that the check is about, and details of its metric."""

    @property
    def anonymize(self) -> Mapping[str, Any]:
        return self.config.get("anonymize") or {}

    @property
    def synthesize(self) -> SynthesizeOptions:
        return SynthesizeOptions.model_validate(self.config.get("synthesize") or {})

    @property
    def generator_options(self) -> Mapping[str, Any]:
        """Options of the generator as resolved; empty where none runs."""
        return {} if self.synthesize.is_off else self.synthesize.resolve().model_dump(mode="json")

    @property
    def data(self) -> Mapping[str, Any]:
        """The section of the table that the check is about."""
        tables = self.config.get("tables")
        own = tables.get(self.table) if tables else self.config.get("data")
        return own or {}

    @property
    def data_key(self) -> str:
        return f"tables.{self.table}" if self.config.get("tables") else "data"

    def has_groups_of(self, people: int) -> bool:
        """True where there may be enough records for groups of so many people, or their number is not known."""
        return self.anonymization is None or people * LEAST_GROUPS <= self.anonymization.records

    @property
    def rows_stay(self) -> bool:
        """True where the rows stayed in their source, and only a sample came out."""
        return self.anonymization is not None and self.anonymization.drawn is not None

    def columns_as(self, *roles: Role) -> list[str]:
        found = (self.data.get("columns") or {}).items()
        return [name for name, one in found if one.get("role") in {role.value for role in roles}]


_LEAF = "synthesize.options.min_leaf"
Change = tuple[str, Any] | None
"""A key and the value it gets; None where the action is not possible, or was taken."""


def _larger_groups(at: Situation) -> Change:
    if not at.anonymize:
        columns = (at.data.get("columns") or {}).values()
        known = [one for one in columns if one.get("role") == Role.QUASI_IDENTIFIER.value]
        possible = known and all(one.get("hierarchy") is not None for one in known)
        return ("anonymize", {"k": max(at.least_k, LEAST_HOLDERS)}) if possible else None
    k = max(2 * int(at.anonymize["k"]), at.least_k)
    return ("anonymize.k", k) if at.has_groups_of(k) else None


def _smaller_groups(at: Situation) -> Change:
    k = at.anonymize.get("k", 0)
    smaller = max(k // 2, at.least_k)
    return ("anonymize.k", smaller) if smaller < k else None


def _fewer_left_out(at: Situation) -> Change:
    limit = at.anonymize.get("suppression_limit", 0)
    return ("anonymize.suppression_limit", round(limit / 2, 4)) if limit >= 0.01 else None


def _local(at: Situation) -> Change:
    generalizes = at.anonymize and AnonymizeOptions.model_validate(at.anonymize).generalizes
    return ("anonymize.recoding", "local") if generalizes and not at.rows_stay else None


def _l_diversity(at: Situation) -> Change:
    models = at.anonymize.get("models") or []
    asked = (at.config.get("evaluate") or {}).get("secrets") or []
    roles = at.data.get("columns") or {}
    secrets = at.columns_as(Role.SENSITIVE) or [
        name for name in asked if name in roles and roles[name].get("role") != Role.QUASI_IDENTIFIER.value
    ]
    lacking = [name for name in secrets if name not in {one.get("attribute") for one in models}]
    if not at.anonymize or not lacking or at.config.get("tables"):
        return None
    added = [{"model": "l_diversity", "l": 2, "attribute": name} for name in lacking]
    return "anonymize.models", [*models, *added]


def _fixed_levels(at: Situation) -> Change:
    found = None if at.anonymization is None else at.anonymization.levels
    return ("anonymize.levels", dict(found)) if at.anonymize and found else None


def _no_models(at: Situation) -> Change:
    return ("anonymize.models", []) if at.anonymize.get("models") else None


def _protect(at: Situation) -> Change:
    return ("protect", {}) if at.config.get("protect") in ("off", False) else None


def _larger_min_count(at: Situation) -> Change:
    protect = at.config.get("protect", {})
    if not isinstance(protect, Mapping):
        return None
    least = protect.get("min_count") or max(LEAST_HOLDERS, at.anonymize.get("k", 0))
    possible = 2 * least <= MOST_HOLDERS and at.has_groups_of(2 * least)
    return ("protect.min_count", 2 * least) if possible else None


def _below_labels(method: str, *careful: str) -> Callable[[Situation], Change]:
    def change(at: Situation) -> Change:
        transition = at.config.get("transition") or {}
        labels = at.anonymize and AnonymizeOptions.model_validate(at.anonymize).generalizes
        open_ = labels and transition.get("method") not in (None, method, *careful)
        return ("transition.method", method) if open_ else None

    return change


def _half(at: Situation) -> Change:
    sample = SampleOptions.model_validate(at.config.get("sample") or {}).effective
    if sample.method == "none":
        return "sample", {"method": "beta", "beta": 0.5}
    beta = round(sample.beta / 2, 3)
    return ("sample.beta", beta) if beta >= LEAST_SHARE else None


def _larger_leaves(at: Situation) -> Change:
    if at.synthesize.generator != "cart":
        return None
    least = at.generator_options.get("min_leaf")
    larger = max(2 * least, LEAVES // 2) if least else LEAVES
    return (_LEAF, larger) if larger <= MOST_IN_LEAVES else None


def _smaller_leaves(at: Situation) -> Change:
    if at.synthesize.generator != "cart":
        return None
    least = at.generator_options.get("min_leaf")
    if least is None:  # it chooses more than the fewest where there are many people
        return (_LEAF, FEWEST_IN_LEAVES) if at.has_groups_of(2 * FEWEST_IN_LEAVES) else None
    smaller = max(min(least, LEAVES) // 2, FEWEST_IN_LEAVES)
    return (_LEAF, smaller) if smaller < least else None


def _beyond_chance(at: Situation) -> Change:
    is_at = at.generator_options.get("alpha")
    weighed = at.synthesize.generator == "cart" and is_at in (None, 1)
    return ("synthesize.options.alpha", 0.05) if weighed else None


def _epochs(factor: float) -> Callable[[Situation], Change]:
    def change(at: Situation) -> Change:
        epochs = at.generator_options.get("epochs")
        changed = int(epochs * factor) if isinstance(epochs, int) else 0
        return ("synthesize.options.epochs", changed) if FEWEST_EPOCHS <= changed <= MOST_EPOCHS else None

    return change


def _cart(at: Situation) -> Change:
    plain = not at.synthesize.options and at.synthesize.preset == "default" and not at.synthesize.is_off
    return ("synthesize.generator", "cart") if plain else None


def _fewer_rows(at: Situation) -> Change:
    if at.config.get("tables") or not at.data.get("person") or isinstance(at.data.get("person"), bool):
        return None
    most = at.data.get("max_rows")
    return ("data.max_rows", 2 if most is None else most // 2) if most != 1 else None


def _column_as(role: Role) -> Callable[[Situation], Change]:
    def change(at: Situation) -> Change:
        name = str(at.column or (at.details or {}).get("worst_column") or "")
        columns = at.data.get("columns") or {}
        if name not in columns or "." in name or columns[name].get("target") or _is_used(at, name):
            return None
        is_alone = sum(Role(one["role"]).is_learned for one in columns.values() if one.get("role")) <= 1
        return None if is_alone else (f"{at.data_key}.columns.{name}.role", role.value)

    return change


def _is_used(at: Situation, name: str) -> bool:
    """True where another part of the configuration may name a column, in a formula too."""
    tables = at.config.get("tables") or {"": at.config.get("data") or {}}
    rest = {key: one for key, one in at.config.items() if key not in ("tables", "data")}
    beside = [{key: one for key, one in table.items() if key != "columns"} for table in tables.values()]
    last = [one for one in at.columns_as(Role.QUASI_IDENTIFIER) if one != name]
    return name in json.dumps([rest, beside], ensure_ascii=False) or (bool(at.anonymize) and not last)


def _dates(at: Situation) -> Change:
    declared = list(at.data.get("constraints") or []) if at.config.get("tables") else at.config.get("constraints") or []
    known = {frozenset(one.get("tied") or one.get("le") or ()) for one in declared}
    pairs = [(one["first"], one["second"]) for one in (at.details or {}).get("pairs", ())]
    added = [{"tied": list(pair)} for pair in pairs if frozenset(pair) not in known]
    key = f"{at.data_key}.constraints" if at.config.get("tables") else "constraints"
    return (key, [*declared, *added]) if added else None


def _cross(at: Situation) -> Change:
    synthesize = at.config.get("synthesize") or {}
    apart = at.rows_stay or synthesize.get("filter") or synthesize.get("part_rows")
    return None if apart else ("split.control", "cross")


def _all_rows(at: Situation) -> Change:
    parts = (at.config.get("synthesize") or {}).get("part_rows")
    return None if parts is None else ("synthesize.part_rows", None)


def _several(at: Situation) -> Change:
    weighted = at.columns_as(Role.WEIGHT)
    possible = not (at.rows_stay or weighted or at.synthesize.is_off)
    possible = possible and at.synthesize.filter is None and at.synthesize.part_rows is None
    return ("synthesize.tables", 5) if possible and at.synthesize.tables == 1 else None


def _noise(factor: float) -> Callable[[Situation], Change]:
    def change(at: Situation) -> Change:
        return "privacy.epsilon", round(factor * at.config["privacy"]["epsilon"], 4)

    return change


@dataclass(frozen=True)
class Way:
    """Change of a configuration by an action, and its setting."""

    change: Callable[[Situation], Change]
    key: str
    """The setting that it is about."""
    protects: bool = True
    """See :attr:`Action.protects`."""


ACTIONS: Mapping[ActionName, Way] = {
    "larger groups": Way(_larger_groups, "anonymize.k"),
    "smaller groups": Way(_smaller_groups, "anonymize.k", protects=False),
    "fewer records left out": Way(_fewer_left_out, "anonymize.suppression_limit"),
    "local recoding": Way(_local, "anonymize.recoding"),
    "l-diversity of the secrets": Way(_l_diversity, "anonymize.models"),
    "fixed levels": Way(_fixed_levels, "anonymize.levels"),
    "no models beside k": Way(_no_models, "anonymize.models", protects=False),
    "rare values replaced": Way(_protect, "protect"),
    "more rare values replaced": Way(_larger_min_count, "protect.min_count"),
    "values drawn evenly below labels": Way(_below_labels("uniform", "tree"), "transition.method"),
    "values drawn by trees below labels": Way(_below_labels("tree"), "transition.method", protects=False),
    "half of the people": Way(_half, "sample.beta"),
    "larger leaves": Way(_larger_leaves, _LEAF),
    "smaller leaves": Way(_smaller_leaves, _LEAF, protects=False),
    "only splits beyond chance": Way(_beyond_chance, "synthesize.options.alpha"),
    "fewer epochs": Way(_epochs(0.5), "synthesize.options.epochs"),
    "more epochs": Way(_epochs(2), "synthesize.options.epochs", protects=False),
    "the generator cart": Way(_cart, "synthesize.generator", protects=False),
    "fewer rows of each person": Way(_fewer_rows, "data.max_rows"),
    "column never learned": Way(_column_as(Role.IDENTIFIER), "data.columns"),
    "column left out": Way(_column_as(Role.EXCLUDED), "data.columns"),
    "dates declared": Way(_dates, "constraints"),
    "stable sides": Way(lambda _: ("split.stable", True), "split.stable"),
    "everybody as control": Way(_cross, "split.control"),
    "all rows judged": Way(_all_rows, "synthesize.part_rows"),
    "several tables": Way(_several, "synthesize.tables", protects=False),
}
"""The actions of policies."""
NOISE: Mapping[NoiseName, Way] = {
    "more noise": Way(_noise(0.5), "privacy.epsilon"),
    "less noise": Way(_noise(2), "privacy.epsilon", protects=False),
}
"""The actions of ``privacy.mode: dp``."""
_WAYS: Mapping[str, Way] = dict([*ACTIONS.items(), *NOISE.items()])
_SECTIONS: Mapping[str, type[Options]] = {
    "anonymize": AnonymizeOptions,
    "synthesize": SynthesizeOptions,
    "split": SplitOptions,
}
"""Sections whose own contradictions make an action impossible."""


def open_actions(names: Sequence[ActionName | NoiseName], situation: Situation) -> Iterator[Action]:
    """The actions that change the configuration and that it allows, in the order of ``names``.

    None for a run of a known leak, which is no release.
    """
    if situation.config.get("risk"):
        return
    for name in names:
        if (name in NOISE) is not is_dp(situation.config):
            continue
        try:
            change = _WAYS[name].change(situation)
        except ValidationError:  # a configuration of another version
            continue
        if change is not None and not _says(situation.config, *change) and _allows(situation.config, *change):
            yield Action(name, *change)


def _says(config: Mapping[str, Any], key: str, value: Any) -> bool:
    """True where a configuration says already what an action would write."""
    return bool(_setting(config, key) == value)


def _allows(config: Mapping[str, Any], key: str, value: Any) -> bool:
    section, _, rest = key.partition(".")
    model, own = _SECTIONS.get(section), config.get(section)
    if model is None or not rest or own is None:
        return True
    first, _, last = rest.partition(".")
    changed = {**own, first: {**(own.get(first) or {}), last: value} if last else value}
    try:
        model.model_validate(changed)
    except ValidationError:
        return False
    return True


def nothing_left(names: Sequence[ActionName | NoiseName], config: Mapping[str, Any]) -> str:
    """Sentence where all actions were taken or are not possible, with what the configuration says of their settings."""
    keys = dict.fromkeys(_WAYS[name].key for name in names if (name in NOISE) is is_dp(config))
    found = {key: _setting(config, key) for key in keys}
    said = [f"{key}: {yaml_value(value)}" for key, value in found.items() if isinstance(value, str | int | float)]
    return f"{NOTHING_LEFT}: {', '.join(said)}" if said else NO_SETTING


def with_actions(check: Check, names: Sequence[ActionName | NoiseName], hint: str, situation: Situation) -> Check:
    """A check with the actions that are open; where none is, its hint says so before the words of ``hint``.

    All of them, without values, where the configuration is not known, as that of tables from elsewhere.
    """
    if not situation.config:
        return replace(check, hint=hint, actions=tuple(Action(name, _WAYS[name].key, known=False) for name in names))
    found = tuple(open_actions(names, situation))
    said = nothing_left(names, situation.config) if names and not found else ""
    return replace(check, hint="; ".join(filter(None, (said, hint))), actions=found)


NOTHING_LEFT, NO_SETTING = "what usually helps is set already", "no setting is left to change"


def _setting(config: Mapping[str, Any], key: str) -> Any:
    """Value under a dotted key of a configuration; None where it has none."""
    found: Any = config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
