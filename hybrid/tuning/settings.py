"""Settings that are tried: the configured one, those that differ in one thing, and a balanced draw of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence, sentences
from hybrid.comparison.plan import ComparePlan, Levels, Subset
from hybrid.comparison.schedule import combinations, identity
from hybrid.pipeline.config import RunConfig
from hybrid.publication.policy import Policy
from hybrid.publication.rules.anonymity import AnonymityRule
from hybrid.synthesize.generators.cart import Cart, CartOptions, leaf_of_sampled

KS = (5, 10, 20)
"""Class sizes, beside the configured one."""
LIMITS = (0.02, 0.05)
"""Suppression limits, beside the configured one."""
METHODS = ("tree", "learned", "uniform")
"""Transitions, beside the configured one."""
SMALL, LARGE = 0.5, 2.0
"""Leaves that are tried, as multiples of what `hybrid init` writes for so many people."""
TREES = {
    "": (None, None),
    ", weighed splits, small leaves": (0.3, SMALL),
    ", fewer splits": (0.1, None),
    ", small leaves": (None, SMALL),
    ", weighed splits": (0.9, None),
    ", large leaves": (None, LARGE),
    ", weighed splits, large leaves": (0.9, LARGE),
}
"""Words, ``alpha`` of `cart`, and its leaves; None: its own defaults."""
OPTIONS = "synthesize.options."
SHARES = (0.7, 0.5, 0.35)
"""Shares of the people that are sampled, beside all of them; with as many rows as people, or as people sampled."""
LEAST_ROWS = 1_000
"""Rows below which no setting is tried that draws as many as people were sampled: 2 % of copies in 750 rows, which
policies ask about, went unnoticed in every other trial."""
QUARTER = {"sample.method": "beta", "sample.beta": 0.25}
"""A smaller share still, in small leaves: larger ones would be most of a small table."""
SAMPLE, TREE = "sample", "generator"
"""Names of the factors that say who is in, and how trees grow: they change most, and are tried first."""
CONFIGURED = "configured"
"""Name of the setting that the configuration has; it is in every round."""
DRAWN = 4
"""So many times as many combinations are drawn as are tried: some make no sense, some do the same as others."""
WORDS = {
    "anonymize.k": "setting.k",
    "anonymize.suppression_limit": "setting.limit",
    "anonymize.recoding": "setting.recoding",
    "anonymize.loss.name": "setting.levels",
    "transition.method": "setting.transition",
    "synthesize.generator": "setting.generator",
    f"{OPTIONS}alpha": "setting.alpha",
    f"{OPTIONS}min_leaf": "setting.leaves",
    "sample.beta": "setting.sample",
    "synthesize.rows": "setting.rows",
}
"""Templates of the keys that are varied."""


@dataclass(frozen=True)
class Setting:
    """One setting: values of dotted keys, and the configuration that they give."""

    name: str
    """The configured one, or s01, s02, ..."""
    values: Mapping[str, Any]
    """What differs from the configuration; empty for the configured one."""
    config: RunConfig

    @property
    def words(self) -> str:
        """The values in one line."""
        said = {**self.values}
        if {"sample.method", "sample.beta"} & said.keys():
            said.pop("sample.method", None)
            said["sample.beta"] = self.config.sample.beta
        return sentences(*(_words(key, value) for key, value in said.items()), between="listed") or "as configured"


def _words(key: str, value: Any) -> str:
    if key == "sample.beta":
        return sentence(WORDS[key], n=round(100 * value)) if value < 1 else "all people"
    if value is None:
        return sentence(WORDS[key], value=sentence("setting.default"))
    return sentence(WORDS[key], value=value if isinstance(value, str) else sentence("value", n=value))


def settings(
    config: RunConfig, policy: Policy, people: int, most: int, seed: int, generalizes: bool = True
) -> list[Setting]:
    """Settings to try, the configured one first.

    No k below what the policy asks for is tried. ``most`` includes the configured one. ``seed`` decides which
    combinations are drawn beside those that differ in one thing, every level about equally often. Unless the
    anonymization ``generalizes`` at the largest k that is tried, it is not varied.
    """
    here, options = Setting(CONFIGURED, {}, config), config.anonymize
    found, seen = [here], {identity(config)}
    levels = factors(config, policy, people, generalizes)
    if not levels:
        return found
    plan = ComparePlan(base="config", factors=levels, subset=Subset(n=DRAWN * most, seed=seed))
    drawn = [each.settings for each in combinations(plan)]
    for each in chain.from_iterable(zip_longest(_neighbours(levels), drawn, fillvalue={})):
        values = {key: value for key, value in each.items() if _differs(config, key, value)}
        if values.get("anonymize.recoding", options and options.recoding) == "local":
            values.pop("anonymize.suppression_limit", None)  # It leaves nobody out.
        try:
            changed = config.with_values(values)
        except ConfigError:
            continue
        if len(found) < most and identity(changed) not in seen:
            seen.add(identity(changed))
            found.append(Setting(f"s{len(found):02d}", values, changed))
    return found


def _neighbours(levels: Mapping[str, Levels]) -> Iterator[dict[str, Any]]:
    """Values of each level of each factor alone: those that change most first."""
    for name in sorted(levels, key=lambda name: (name != SAMPLE, name != TREE)):
        values = levels[name]
        yield from values.values() if isinstance(values, dict) else ({name: value} for value in values)


def largest_k(policy: Policy, people: int) -> int:
    """The largest class size that is tried; 0 if none is."""
    return max(_ks(policy, people), default=0)


def _ks(policy: Policy, people: int) -> list[int]:
    asked = [rule for rule in policy.all_rules if isinstance(rule, AnonymityRule) and rule.quantity == "k"]
    least = max((rule.review or 1 for rule in asked), default=1)
    return [k for k in KS if least <= k <= people // 20]


def is_searched(config: RunConfig) -> bool:
    """True if levels are searched here, so that the anonymization can be varied."""
    options = config.anonymize
    return options is not None and options.generalizes and options.engine == "exact"


def factors(config: RunConfig, policy: Policy, people: int, generalizes: bool = True) -> dict[str, Levels]:
    """Factors that are varied, with the levels of each."""
    found: dict[str, Levels] = {}
    options = config.anonymize
    if options is not None and generalizes and is_searched(config):
        found["anonymize.k"] = sorted({options.k, *_ks(policy, people)})
        found["anonymize.suppression_limit"] = sorted({options.suppression_limit, *LIMITS})
        if not options.levels and options.suppressed == "leave_out" and options.known_rows == 1:
            found["anonymize.recoding"] = ["global", "local"]
        if options.loss.name == "loss":
            found["anonymize.loss.name"] = ["loss", "association"]
        found["transition.method"] = list(dict.fromkeys([config.required_transition.method, *METHODS]))
    own = config.synthesize
    leaves = {None: None} | {times: round(leaf_of_sampled(people) * times) for times in (SMALL, LARGE)}
    if not own.is_off:
        found[TREE] = {"configured": {}} | {
            f"cart{words}": {
                "synthesize.generator": "cart",
                f"{OPTIONS}alpha": alpha,
                f"{OPTIONS}min_leaf": leaves[times],
            }
            for words, (alpha, times) in TREES.items()
        }
    if config.sample.effective.method in ("none", "beta"):
        shares = {
            f"{share:.0%}, rows {rows}": {"sample.method": "beta", "sample.beta": share, "synthesize.rows": rows}
            for rows in ("sampled", "same")
            for share in SHARES
            if rows == "same" or (not own.is_off and share * people >= LEAST_ROWS)
        }
        small = QUARTER | {f"{OPTIONS}min_leaf": leaves[SMALL]}
        quarter = {"25%": small} if own.generator == Cart.name and TREE in found else {}
        found[SAMPLE] = {"configured": {}, "all": {"sample.method": "beta", "sample.beta": 1.0}} | shares | quarter
    return {name: levels for name, levels in found.items() if len(levels) > 1}


def _differs(config: RunConfig, key: str, value: Any) -> bool:
    at: Any = config
    for part in key.split("."):
        at = at.get(part, _default(part)) if isinstance(at, Mapping) else getattr(at, part, None)
    return bool(at != value)


def _default(option: str) -> Any:
    return CartOptions.model_fields[option].default
