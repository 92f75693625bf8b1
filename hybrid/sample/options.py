"""Options of sampling."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from hybrid.base.options import Options


class SampleOptions(Options):
    """Options of sampling: which records are kept."""

    method: Literal["none", "beta", "simple", "stratified"] = "none"
    """none: all; beta: each record independently; simple: an exact number of records, all equally likely;
    stratified: inside every stratum by itself. With `data.person`, persons are drawn, with all their records, and a
    person is in the stratum of the first of these."""
    beta: float = Field(default=1.0, gt=0.0, le=1.0)
    """Expected share of records kept, in (0, 1]."""
    by: Literal["equivalence_class"] | list[str] = "equivalence_class"
    """stratified: one stratum per equivalence class, or per combination of original values of these columns
    (missing is a value of its own)."""
    allocation: Literal["independent", "proportional"] = "independent"
    """stratified: inside a stratum of n records keep each independently with probability beta, or keep
    beta * n records, rounded up or down at random so that it is exact in expectation."""
    minimum: int = Field(default=0, ge=0)
    """stratified: keep at least this many records of every stratum (all, if it has fewer)."""
    order: Literal["pre", "post"] = "post"
    """pre: before anonymization, so that k holds in the sample; post: after it, so that k holds in what the sample is
    drawn from."""
    groups: list[str] = Field(default_factory=list)
    """Columns whose groups' shares before and after are reported, such as sex or ethnicity."""

    @property
    def effective(self) -> SampleOptions:
        """Canonical options that draw the same records: all that changes nothing is at its default."""
        if self.method == "none" or self.beta == 1:
            return SampleOptions(groups=self.groups)
        if self.method == "stratified":
            return self
        return SampleOptions(method=self.method, beta=self.beta, order=self.order, groups=self.groups)

    @field_validator("by")
    @classmethod
    def _some_column(cls, by: str | list[str]) -> str | list[str]:
        if not by:
            raise ValueError("by needs equivalence_class or at least one column name")
        return by
