"""Protocol of privacy models: options, search rule, and check of finished tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.released import ClassCounts, ModelCheck
from hybrid.base.arrays import Leaves, Mask, Numbers
from hybrid.base.options import Options
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table

TOLERANCE = 1e-12
"""Rounding that the search's comparisons of real numbers forgive."""


@dataclass(frozen=True)
class ClassRule:
    """Search rule of a model on one sensitive column, applied to classes."""

    name: str
    """What to call it in messages, such as ``"distinct 2-diversity of 'occupation'"``."""
    attribute: str
    reached: Callable[[Histogram], Numbers]
    """From a :class:`Histogram` to what each class reaches, shape (n_classes,), float64."""
    threshold: float
    """The value of ``reached`` that is just enough."""
    larger_is_safer: bool
    """Whether a class holds when it reaches at least (else: at most) the threshold."""
    least_distinct: int = 1
    """A class that holds has at least this many distinct values."""
    record_monotone: bool = False
    """Whether the model is nothing but ``least_distinct``."""
    strict: bool = False
    """Whether a class must stay below the threshold instead of at most reaching it."""

    def holds(self, histogram: Histogram) -> Mask:
        """Mask of the classes that meet the model; shape (n_classes,), bool."""
        reached = self.reached(histogram)
        if self.strict:
            below: Mask = reached < self.threshold * (1 - TOLERANCE)
            return below
        slack = TOLERANCE * max(1.0, abs(self.threshold))
        enough: Mask = reached >= self.threshold - slack if self.larger_is_safer else reached <= self.threshold + slack
        return enough


class PrivacyModel(Options):
    """Requirement on every equivalence class; base of all models' options."""

    model: str
    compared_with: ClassVar[str] = ""
    """What the distribution in a class is compared with, for a public sentence; empty: nothing."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in messages, such as ``"0.2-closeness (equal) of 'pay'"``."""

    @property
    def words(self) -> str:
        """Description for a public sentence with the options that were set: ``"t_closeness of pay (t = 0.2)"``."""
        options = self.model_dump(exclude_unset=True, exclude_none=True, exclude={"model", "attribute"})
        listed = ", ".join(f"{key} = {value}" for key, value in options.items())
        attribute = getattr(self, "attribute", None)
        said = "; ".join(filter(None, (listed, self.compared_with)))
        return f"{self.model} of {attribute} ({said})" if attribute else f"{self.model} ({said})"


WHOLE_TABLE = "compared with all records that were anonymized, suppressed ones included"


class SensitiveModel(PrivacyModel):
    """A model of the values of one sensitive column in each class.

    Its rule steers the search; its check judges the result by a formula of its own, from counts made by pandas.
    """

    if TYPE_CHECKING:  # every model declares it itself, as its last option
        attribute: str

    def values(self, table: Table) -> pd.Series:
        """Sensitive value of each row; shape (n_rows,).

        Raises
        ------
        HybridError
            The table does not have them.
        """
        return table.frame[self.attribute]

    @abstractmethod
    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:
        """The rule for the search.

        Parameters
        ----------
        hierarchy : Hierarchy or None
            Of the sensitive column, where it has one.
        leaves : numpy.ndarray, shape (n_values,), int, or None
            Leaf, in the hierarchy, of each value number of a histogram.

        Raises
        ------
        ConfigError
            The model needs a hierarchy, and there is none.
        """

    @abstractmethod
    def verify(self, counts: ClassCounts) -> ModelCheck:
        """Measure what a finished table reaches; raises as :meth:`rule`."""


class PopulationModel(PrivacyModel):
    """Model of the people of a population that share a class's labels."""

    if TYPE_CHECKING:
        k: int

    @abstractmethod
    def verify(self, people: pd.Series) -> ModelCheck:
        """Measure the level that a finished table reaches, by the people of the population per class."""
