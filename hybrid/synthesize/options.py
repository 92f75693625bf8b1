"""Options of the synthesize stage."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from hybrid.base.config_files import expected
from hybrid.base.options import Options
from hybrid.synthesize.isolation.job import WorkerLimits
from hybrid.synthesize.protocol import Generator
from hybrid.synthesize.registry import REGISTRY, draws_persons, engine

NONE = "none"


class FilterOptions(Options):
    """Filter of drawn rows that lie near a training record.

    It reads the training records again: no differential privacy is claimed, and it uses half of the control records.
    """

    score: Literal["distance", "ratio", "alpha"] = "distance"
    """distance: share of control records that have a training record as near as the row has; ratio: distance to the
    nearest training record over the sum of this and the distance to the nearest control record; alpha: density of
    rows over density of training records. A low score is risky."""
    below: float | None = Field(default=None, gt=0)
    """Rows with a score below are left out. Not given: 0.02 (distance), 0.1 (ratio), 1 (alpha). A high limit makes a
    void around training records, which reveals them, too: the gate judges both sides."""
    action: Literal["regenerate", "drop"] = "regenerate"
    """regenerate: draw as many new rows; drop: release fewer."""
    rounds: int = Field(default=10, ge=1, le=100)
    """Further draws at most; a generator that then still lacks rows is an error."""

    @property
    def limit(self) -> float:
        """Score below which a row is left out."""
        return {"distance": 0.02, "ratio": 0.1, "alpha": 1.0}[self.score] if self.below is None else self.below


class BalanceOptions(Options):
    """Shares that the values of one column have among the drawn rows, whatever their shares among real people."""

    column: str = Field(min_length=1)
    """A category, a truth value or a whole number; where persons are drawn, one that is the same in all their rows."""
    shares: dict[str, Annotated[float, Field(gt=0, lt=1)]] | None = Field(default=None, min_length=1)
    """Share of the rows that have each of these values; all other values share the rest in proportion. null: each value
    has the same share. Values that fewer than `protect.min_count` training persons have, and gaps, come out in no
    row."""

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if self.shares is not None and sum(self.shares.values()) > 1 + 1e-9:
            raise ValueError("shares: together they are more than 1")
        return self


class SynthesizeOptions(Options):
    """Options of synthesis: generator, preset, own options and number of rows."""

    generator: str = "cart"
    """Name of a generator (``hybrid generators`` lists them), or none: anonymize only."""
    preset: str = "default"
    """Named settings of the generator's options."""
    rows: Literal["same", "sampled"] | Annotated[int, Field(ge=1)] = "same"
    """Synthetic records to draw; same: as many as there are training records, also where a sample of them is learned
    from; sampled: that times `sample.beta`. Fewer rows show less of who was in, and less of everything else. Where
    persons are drawn (`data.person`, and a generator that learns persons): as many as training persons, or
    so many that about this many records come out."""
    tables: int = Field(default=1, ge=1, le=100)
    """Tables of the release, of ``rows`` rows each, drawn from one trained generator. They are judged together, since
    an attacker has all of them, and written into one file: its column `synthetic_table` numbers the table of each row.
    Of linked tables every file has that column, and references stay within a number.
    More tables give narrower intervals (`hybrid.combine`), and more rows to an attacker."""
    part_rows: int | None = Field(default=None, ge=1)
    """For tables larger than memory: rows that are drawn, and written to a Parquet file, at a time; ``rows`` is more
    than that. A random sample of as many rows is judged, so that the verdict is a review at best. null: all at once."""
    where: str | None = None
    """Condition that every drawn row meets (where persons are drawn: one of a person's rows), such as
    `ward = 'ICU' and age >= 60`; `rows: same` then is as many as training records meet it, in tens. null: none."""
    balance: BalanceOptions | None = None
    """Shares of the values of a column among the drawn rows, such as as many healthy as ill; null: as learned."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The generator's own options; they win over the preset."""
    filter: FilterOptions | None = None
    """Leave out drawn rows that lie near a training record; null: none."""
    isolate: bool = True
    """Run generators that need extra packages in a process of their own: a crash, a kill or a limit ends that
    process, never the pipeline."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds that training, and likewise sampling, may take; needs isolate."""
    memory_limit: float | None = Field(default=None, gt=0)
    """GiB of memory that the generator's process may hold; needs isolate."""

    @field_validator("generator", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        name = NONE if value in (None, False) else value
        if isinstance(name, str) and name != NONE and name not in REGISTRY:
            raise ValueError(f"unknown generator {name!r}; {_choices(name, [*REGISTRY, NONE])}")
        return name

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.is_off:
            self.resolve()
        elif self.options or self.chooses or self.tables > 1:
            chosen = "where" if self.where is not None else "balance"
            key = "options" if self.options else chosen if self.chooses else "tables"
            raise ValueError(f"{key}: set, but generator is none")
        return self

    @property
    def is_off(self) -> bool:
        """True if no generator runs."""
        return self.generator == NONE

    @property
    def chooses(self) -> bool:
        """True if not all drawn rows are kept: a condition, or shares of values, decide which."""
        return self.where is not None or self.balance is not None

    @property
    def choice_text(self) -> str | None:
        """Condition and shares as one text, which names random streams; None without both."""
        if self.balance is None:
            return self.where
        return f"{self.where or ''} balance {self.balance.model_dump_json()}"

    @property
    def learns_sequences(self) -> bool:
        """True if the generator draws persons with several rows."""
        return draws_persons(self.generator, self.options)

    @property
    def plugin(self) -> Generator:
        """The generator; not to be asked for when :attr:`is_off`."""
        return REGISTRY[self.generator]

    @property
    def engine(self) -> Generator:
        """The generator that does the work: the named one, or the engine in its options."""
        return engine(self.generator, self.resolve())

    def resolve(self) -> Options:
        """The generator's options: its defaults, the preset's values, then ``options``."""
        plugin = self.plugin
        if self.preset not in plugin.presets:
            raise ValueError(f"{self.generator} has no preset {self.preset!r}; {_choices(self.preset, plugin.presets)}")
        known = list(plugin.Options.model_fields)
        unknown = [key for key in self.options if key not in known]
        if unknown:
            hints = "; ".join(f"{key!r}: {_choices(key, known)}" for key in unknown)
            raise ValueError(f"{self.generator} does not have these options: {hints}")
        try:
            return plugin.Options.model_validate({**plugin.presets[self.preset], **self.options})
        except ValidationError as error:
            details = "; ".join(f"{'.'.join(map(str, e['loc']))}: {expected(e)}" for e in error.errors())
            raise ValueError(f"options of {self.generator}: {details}") from None

    @property
    def limits(self) -> WorkerLimits:
        """Limits of the generator's process."""
        return WorkerLimits(self.time_limit, None if self.memory_limit is None else int(self.memory_limit * 2**30))


def _choices(wrong: str, known: Any) -> str:
    close = difflib.get_close_matches(wrong, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(known)}"
