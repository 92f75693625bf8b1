"""The protocol of every generator: learn encoded columns, draw encoded rows.

A generator never sees labels, dates or dtypes. The codec (:mod:`hybrid.synthesize.codec`) turns a table into
columns of two sorts and turns what the generator draws back into a table, so that types, precision,
categories and missing values are handled in one place for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress


@dataclass(frozen=True)
class Cost:
    """Cost of training, and of drawing as many rows."""

    seconds: float
    """On the reference machine, one core, no GPU; about."""
    memory_bytes: int
    """Peak of the process beyond the interpreter and its libraries; about."""
    inputs: int = 0
    """States of all discrete columns and inputs of continuous ones, where a network has one for each; else 0."""
    most_inputs: int = 0
    """The generator's limit for ``inputs``; 0: none."""


def refuse_wide(generator: str, widths: Mapping[str, int], limit: int) -> None:
    """Stop before memory runs out: these networks have an input for every state of every discrete column."""
    needed = sum(widths.values())
    if needed <= limit:
        return
    widest = sorted(widths, key=lambda column: -widths[column])[:3]
    listed = ", ".join(f"{column!r} ({widths[column]} states)" for column in widest)
    raise GeneratorError(
        f"{generator} would need {needed} inputs (limit {limit}); the widest columns are {listed}",
        hint="generalize or drop those columns, raise max_inputs if memory allows, or use cart",
    )


@dataclass(frozen=True)
class Feature:
    """Public description of one encoded column, for generators."""

    name: str
    """Unique; for progress and messages."""
    n_levels: int
    """2 or more: discrete, int32 codes 0..n_levels-1. 0: continuous, float64."""
    ordered: bool
    """Whether the codes of a discrete column have an order (the missing state, if any, is apart from it)."""
    missing: bool
    """Whether missing values occur: NaN in a continuous column, the last code of a discrete one."""
    target: bool = False
    """Whether users will train models that predict this column."""
    public: bool = False
    """Whether the states were listed beforehand, not found in the records."""

    @property
    def is_discrete(self) -> bool:
        """True if the column contains codes."""
        return self.n_levels > 0


@dataclass(frozen=True)
class Encoded:
    """A table as numbers: no constant columns, no identifiers."""

    features: Sequence[Feature]
    """At least one."""
    columns: Sequence[Array]
    """float64 for continuous, int32 for discrete features, in the order of ``features``. Continuous values are steps
    above the smallest value (0, 1, 2, ...) or plain numbers if the column has no grid; never infinite; shape
    (n_rows,)."""
    persons: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Person of each row, as in :class:`hybrid.table.Table`; each row is another person where they are not given, as in
    the processes of generators of their own; shape (n_rows,), int64, optional."""

    def __post_init__(self) -> None:
        if not len(self.persons) and self.columns:
            object.__setattr__(self, "persons", np.arange(len(self.columns[0])))

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: Array) -> Encoded:
        """The rows at these positions, or of this mask."""
        return Encoded(self.features, [column[rows] for column in self.columns], self.persons[rows])


@dataclass(frozen=True, kw_only=True)
class Children(Encoded):
    """Encoded rows below parents: the visits of patients, or the drugs of visits.

    Rows of a parent are adjacent and in their order, and the parents ascend. Both sorts of columns may be none.
    """

    parents: Encoded
    """Columns with one value per parent, and the person behind each."""
    counts: Array
    """Number of rows of each parent, 0 or more; their sum is n_rows; shape (n_parents,), int64."""
    order: int | None = None
    """Position of the column that the rows of a parent are ordered by: ascending within each parent, missing values
    last. None: no column says."""
    given: bool = False
    """Whether parents are always given, so that only rows are drawn: how parents come about need not be learned."""


@dataclass(frozen=True)
class DrawnColumns:
    """Drawn rows, and their parents where these have columns, encoded as what was learned."""

    rows: Sequence[Array]
    parents: Sequence[Array] = ()
    counts: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Number of rows of each parent; one, where each row has a parent of its own without columns."""


@dataclass(frozen=True)
class Encoding:
    """Encoding of columns that a generator asks for."""

    max_levels: int = 0
    """Numbers and dates with up to this many distinct values become ordered discrete columns: then only seen values
    come out. 0: never."""
    flag_missing: bool = False
    """True: a continuous column with missing values comes as two, its values (holes filled with draws from the others)
    and a discrete flag; continuous columns are then free of NaN."""
    listed_domains: bool = False
    """True: the states of a column whose values are listed beforehand (a hierarchy file) are those, whether they occur
    or not; False: the states that occur."""


class Model(Protocol):
    """Fitted model, kept by pickling it. Private, since it may remember records."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        """Draw exactly ``n`` (1 or more) new rows, or parents with all their rows where those were learned.

        Encoded as the training data; the same seed gives the same rows. Rows of a parent are ascending in the column
        that orders them.
        """


@runtime_checkable
class SavedModel(Model, Protocol):
    """Fitted model that is written by a library of its own: its generator is a :class:`LoadingGenerator`."""

    def save(self, folder: Path) -> None:
        """Write the model into an existing folder of the private zone."""


class ParentsModel(Model, Protocol):
    """Fitted model of rows below parents."""

    def draw_below(self, parents: Sequence[Array], n_parents: int, seed: int) -> DrawnColumns:
        """Draw the rows of given parents.

        Parameters
        ----------
        parents : sequence of numpy.ndarray, each of shape (n_parents,)
            Encoded as the parents learned from.
        n_parents : int
            1 or more. Each may get no row.
        seed : int
            The same parents and seed give the same rows.
        """


@runtime_checkable
class AccountedModel(Model, Protocol):
    """Fitted model with an account of its privacy budget."""

    spent: Mapping[str, float]
    """rho of zero-concentrated differential privacy by what it was spent on."""


class Generator(Protocol):
    """Generator with its description, options, requirements and training; the defaults are those of one of our own."""

    name: ClassVar[str]
    title: ClassVar[str]
    """One line that says what it is, with its source."""
    licence: ClassVar[str] = "Apache-2.0"
    """The licence of what does the work."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Import names of the packages it needs beyond the core."""
    extra: ClassVar[str | None] = None
    """The extra of this package that installs them; None if they cannot live beside the core."""
    environment: ClassVar[str | None] = None
    """The managed environment that has them too; None if nothing is needed."""
    resumes: ClassVar[bool] = False
    """True if interrupted training can continue from the checkpoints of :meth:`learn`."""
    learns_parents: ClassVar[bool] = False
    """True if it learns rows below parents, too, and its models draw them (:class:`ParentsModel`)."""
    secure_noise: ClassVar[bool] = False
    """True if its noise comes from a secure source that no seed repeats."""
    bypasses_noise: ClassVar[bool] = False
    """True if something in it reads records past the noise of its budget."""
    Options: ClassVar[type[Options]]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}
    """Named settings of the options; ``default`` is always there."""

    def encoding(self, options: Any) -> Encoding:
        """Required encoding of the columns."""

    def cost(self, features: Sequence[Feature], n_rows: int, options: Any) -> Cost:
        """Estimated cost of :meth:`learn` and of drawing as many rows, without looking at the records."""

    def learn(
        self, data: Encoded, options: Any, seed: int, progress: Progress, unfinished: Path | None = None
    ) -> Model:
        """Learn the joint distribution of the columns.

        Parameters
        ----------
        data : Encoded, n rows, n >= 1
            Not to be changed. :class:`Children` where the rows have parents: then how many rows a parent has, and the
            rows given their parents, are learned, too, and the model is a :class:`ParentsModel`. Otherwise each row
            has a parent of its own without columns. Only a generator with ``learns_parents`` is given parents.
        options : Options
            An instance of this generator's ``Options``.
        seed : int
            The same seed, data, options and versions give the same model where the library allows it.
        progress : Progress
            Receives every column or epoch, with ``loss`` where there is one.
        unfinished : Path, optional
            An existing folder that outlives an interruption and is only ever used for the same data, options, seed
            and versions. A generator that :attr:`resumes` keeps checkpoints there and continues from the last one.

        Raises
        ------
        GeneratorError
            Training failed.
        """


@runtime_checkable
class LoadingGenerator(Generator, Protocol):
    """Generator whose models are written and read by a library of its own."""

    def load(self, folder: Path) -> SavedModel:
        """Read a model that :meth:`SavedModel.save` wrote."""


@runtime_checkable
class InspectableGenerator(Generator, Protocol):
    """Generator with an attack on its models: which records they learned from."""

    def log_odds(self, model: Any, people: Encoded, reference: Encoded, seed: int) -> Array:
        """Evidence of the model about each record, corrected by that about other people.

        Parameters
        ----------
        model : Model
            As :meth:`learn` returned it, or as it was kept.
        people : Encoded, n rows
            Records that it may have learned from. Numbers outside the learned range are encoded as such, states that it
            has not learned as -1.
        reference : Encoded
            Other people of the population, whom it has not learned from.
        seed : int
            The same seed gives the same numbers.

        Returns
        -------
        numpy.ndarray, shape (n,)
            Finite; the larger, the more the record looks like one that was learned from.
        """
