"""Refusal to publish runs with a privacy budget that claim nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.publication.private_words import is_dp


def refuse_without_claim(manifest: Mapping[str, Any]) -> None:
    """Refuse a run with the section ``privacy`` that claims nothing.

    Parameters
    ----------
    manifest : mapping
        Of a finished run.

    Raises
    ------
    ConfigError
        The seed was given, so whoever gave it can repeat the draws, or the account is missing.
    """
    if is_dp(manifest["config"]) and not (manifest.get("differential_privacy") and manifest.get("privacy_budget")):
        raise ConfigError(
            "privacy.mode dp: this run claims no differential privacy, and its release would state it",
            hint="draw again without --seed: hybrid release CONFIG",
        )
