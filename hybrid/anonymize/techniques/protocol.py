"""Protocol of techniques: options, masked values, promise, and check."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from hybrid.anonymize.models.protocol import PrivacyModel
from hybrid.base.errors import Problem
from hybrid.base.options import Options
from hybrid.hierarchy import Hierarchy
from hybrid.table import Column, Table

if TYPE_CHECKING:
    from hybrid.anonymize.options import AnonymizeOptions


@dataclass(frozen=True)
class MaskingTask:
    """Records and requirements of one step."""

    table: Table
    """The records that earlier steps left, with their original values, without identifiers; n records."""
    columns: tuple[str, ...]
    k: int
    """Persons of every group, for techniques that make groups."""
    models: tuple[PrivacyModel, ...] = ()
    """Privacy models that every group meets, too."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Of sensitive columns, for models that need one."""


@dataclass(frozen=True)
class Masked:
    """Values that take the place of the originals, and numbers to publish."""

    values: Mapping[str, pd.Series]
    """Every column of the task, shape (n,), in the dtype of its kind."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON types; no value of a record. Sentences are made of them."""


class Technique(Options):
    """Options of one technique with its work; base of all."""

    if TYPE_CHECKING:  # every technique declares them itself
        name: str
        columns: tuple[str, ...]

    k_anonymous: ClassVar[bool] = False
    """Whether masking all quasi-identifiers in one step gives k-anonymity."""
    random: ClassVar[bool] = False
    """Whether random numbers are drawn."""
    transitions: ClassVar[frozenset[str] | None]
    """Transitions that make sense afterwards; None: all. ``single`` keeps masked values as they are."""

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:  # noqa: ARG002
        """Reasons why these columns cannot be masked."""
        return iter(())

    @abstractmethod
    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        """Public sentences on some masked columns, and their promise.

        Parameters
        ----------
        columns : str
            Their names, listed.
        facts : mapping
            :attr:`Masked.facts` of the step.
        """


class LabelTechnique(Technique):
    """Technique of labels, done by the search; it may leave records out."""

    transitions: ClassVar[frozenset[str] | None] = None

    def search(self, options: AnonymizeOptions, columns: Sequence[str]) -> AnonymizeOptions:  # noqa: ARG002
        """Options of the search for the labels of some columns."""
        return options


class ValueTechnique(Technique):
    """Technique that puts other values in place, and keeps all records."""

    transitions: ClassVar[frozenset[str] | None] = frozenset({"single"})

    @abstractmethod
    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:
        """Mask the columns of a task.

        Raises
        ------
        InfeasibleError
            No masking meets what is asked for.
        """

    @abstractmethod
    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        """Broken properties of masked values; empty if all hold.

        Measured by formulas of their own. Messages hold no value.
        """
