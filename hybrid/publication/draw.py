"""Number of a draw of the same data and policy, and wording."""

from __future__ import annotations

from dataclasses import dataclass

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Draw:
    """Number of a draw among those of the same data and policy.

    Draws are counted for each data set (its name) by itself.
    """

    number: int
    """1 or more."""
    total: int
    """Highest number so far; a number that a run brings from another private zone may leave a gap below it."""
    elsewhere: int = 0
    """Draws of the same data under the same policy that were counted for other data sets."""

    @property
    def words(self) -> str:
        """In words, such as "third draw of this data under this policy"."""
        later = f"; {self.total} were made so far" if self.total > self.number else ""
        other = ""
        if self.elsewhere:
            draws = "one draw" if self.elsewhere == 1 else f"{self.elsewhere} draws"
            other = f" for this data set; {draws} of the same data under other names"
        return f"{_ordinal(self.number)} draw of this data under this policy{other}{later}"


def _ordinal(number: int) -> str:
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
