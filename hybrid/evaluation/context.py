"""Shared state of the metrics of one table, computed once when needed.

With what else they may know: the parents of linked rows, a kept model, the persons and the order of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Rows
from hybrid.base.hashing import fingerprint
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.constraints import Redrawn, Rules
from hybrid.evaluation.engine.encoding import Encoded, Encoding, encode, row_keys
from hybrid.evaluation.engine.neighbours import Sorted, in_blocks, nearest, nearest_of_pieces
from hybrid.evaluation.engine.space import Columns, Space, euclidean
from hybrid.evaluation.measure import Subject
from hybrid.evaluation.options import EvaluateOptions, RetrainOptions
from hybrid.table import Schema, Table
from hybrid.table.dependencies import no_secrets
from hybrid.table.persons import person_groups
from hybrid.table.weights import weights_of, with_weights_like

Ask = Callable[[Table, Table], Array]
"""(people, reference) to what the model says of each of the people; the larger, the more it knows them."""


@dataclass(frozen=True)
class KeptModel:
    """A kept model that made a stage's table."""

    generator: str
    ask: Ask | None
    """Asks the model about single records, beside those of other people of the population; None: it cannot be asked."""
    untried: str = ""
    """Why it cannot be asked, in words without a full stop; empty where it can."""


@dataclass(frozen=True)
class Parents:
    """Parent of each row of a table."""

    table: Table
    """The parent table, without identifiers."""
    owners: Rows
    """Row of the parent table that each row belongs to; -1 for orphans; shape (n,), int64."""
    own: tuple[str, ...]
    """Columns of the table that are not its parent's or person's."""
    broken: int = 0
    """Rows without a parent, or with a reference to a row of a public table that does not exist."""


Parentage = Mapping[Literal["train", "control", "table"], Parents]
"""Parents of the rows of train, of control where there is one, and of the judged table."""


LEAST_ASKED = 10_000
"""Records that searches query of the largest tables: shares are then known to a hundredth (95 %)."""


def most_asked(limit: int | None, *sizes: int) -> int | None:
    """Records that searches query at most; None for all.

    ``limit``, as long as the largest table has no more records. Beyond, as many fewer as the table is larger, so that
    the pairs of records that are compared do not grow; :data:`LEAST_ASKED` if the limit allows it.
    """
    return None if limit is None else max(min(limit, limit**2 // max(*sizes, 1)), min(limit, LEAST_ASKED))


Role = Literal["train", "control", "table"]
ROLES: tuple[Role, ...] = ("train", "control", "table")
PEOPLE: tuple[Role, Role] = ("train", "control")
"""Who is attacked: training people, and people never seen."""
NEIGHBOURS = 5
"""Most neighbours that a search between the tables finds, unless ``knn_neighbours`` is more; five cost twice as much
as one."""
MAX_BLOCKS = 8

T = TypeVar("T")
NO_RULES = Rules()
Share = Callable[[str, Callable[[], Any]], Any]
Search = tuple[Array, Array]
"""Distances and positions of nearest references, shapes (n, k)."""
FitAndSample = Callable[[Table, int], Table]
"""(training records, seed) to a synthetic table of as many rows: how a stage's table is made, to be made again."""


@dataclass(frozen=True)
class Making:
    """Making of a judged table, as far as the caller knows it; by default nothing is known."""

    again: FitAndSample | None = None
    """Makes the table again from training records and a seed, for the attacks with training."""
    untried: str = ""
    """Why no attack trains again unless ``retrain`` asks for it, such as the time it takes; empty where nothing speaks
    against it."""
    rules: Rules = NO_RULES
    """The declared constraints, fitted to the training records."""
    origin: Array | None = None
    """Training row that each row was made from, -1 for none; shape (n_table,), int, optional."""
    parentage: Parentage | None = None
    """Parents of the rows, where the table is one of several linked ones."""
    redrawn: Redrawn | None = None
    """How the generator's rows were made to keep the rules."""
    model: KeptModel | None = None
    """The trained model that made the table, where the run keeps it."""
    learned: int | None = None
    """Records that the generator learned from; 0: none drew the table. By default all training records."""
    register: Table | None = None
    """Table of people that an attacker holds, with the columns in which it is compared, in the kinds of the table."""


UNKNOWN = Making()


class Part(NamedTuple):
    """Rows of one table, with a name under which searches are remembered."""

    role: Role
    key: Hashable
    rows: Array

    def places(self, asked: Part) -> Array:
        """Positions of queried records in this part, shape (n_asked,), int64."""
        return np.asarray(np.searchsorted(self.rows, asked.rows))


class Before(NamedTuple):
    """A judged table, and the rows of it that another table has changed, ascending."""

    judged: Context
    changed: Array


class Context:
    """The tables of one stage, without identifiers, and what is derived from them.

    ``train``: the original training rows, suppressed ones included, which are the people at risk; ``control``: records
    that no generator has seen; ``table``: what is judged. ``seed``: root of every metric's random stream. ``share(key,
    compute)`` gives a result that depends on train and control only, as they are coded here: the one computed earlier
    under the key, or that of ``compute()``. ``progress`` is called for every training.
    """

    def __init__(
        self,
        train: Table,
        control: Table | None,
        table: Table,
        options: EvaluateOptions,
        seed: int = 0,
        stage: Subject = "synthetic",
        share: Share | None = None,
        progress: Progress = silent,
        making: Making = UNKNOWN,
    ) -> None:
        self.train = train
        self.control = control
        self.table = with_weights_like(table, train)
        self.options = options
        self.seed = seed
        self.stage = stage
        self.share = share
        self.progress = progress
        self.making = making
        self.before: Before | None = None
        """What the table was changed from; None where it was judged as it is."""
        self.guard = threading.RLock()
        """Held by contexts of changed tables in several threads, which ask this one."""
        self._own: dict[Hashable, Any] = {}
        self._cuts: dict[tuple[Role, Hashable], list[Part]] = {}
        """The parts that each part of :meth:`parts` was cut with."""
        self.asked_about: dict[tuple[Role, Hashable], tuple[int, int]] = {}
        """How many records of a part were asked about since this was last cleared, and of how many."""

    def compared_with(self, train: Table, control: Table | None) -> Context:
        what = train, control, self.table, self.options, self.seed, self.stage, self.share
        known = Making(rules=self.making.rules, redrawn=self.making.redrawn, learned=self.making.learned)
        return Context(*what, progress=self.progress, making=known)

    @property
    def learned(self) -> int | None:
        """Records that the generator of the table learned from; None where no generator drew it."""
        if self.stage not in ("synthetic", "baseline"):
            return None
        return len(self.train) if self.making.learned is None else self.making.learned or None

    @property
    def retrain(self) -> RetrainOptions:
        """Effort of attacks with trainings; the defaults where none is configured."""
        return self.options.retrain or RetrainOptions()

    @property
    def schema(self) -> Schema:
        return self.train.schema

    @property
    def targets(self) -> list[str]:
        chosen = self.options.targets
        return self.schema.targets if chosen is None else list(chosen)

    @property
    def named_secrets(self) -> list[str]:
        """Secrets that the options name, else the sensitive columns; empty where there are none."""
        chosen = self.options.secrets
        return self.schema.sensitive if chosen is None else list(chosen)

    @property
    def secrets(self) -> list[str]:
        """Columns whose inference is attacked; where none is declared, all but :attr:`no_secrets`."""
        if self.options.secrets is not None:
            return self.named_secrets
        return self.named_secrets or [name for name in self.schema.names if name not in self.no_secrets]

    @property
    def no_secrets(self) -> dict[str, str]:
        """Columns that say nothing that is not known anyway, and why."""
        names = self.schema.names
        return self.once_for_all_stages("no secrets", lambda: no_secrets(self.train, names, names))

    @property
    def declared_secrets(self) -> list[str]:
        """Declared secrets, else the targets: for attacks too slow to try on every column."""
        return self.secrets if self.options.secrets is not None or self.schema.sensitive else self.targets

    @cached_property
    def encoding(self) -> Encoding:
        """The coding of train, control and the stage's table."""
        return encode(self.tables)

    @cached_property
    def tables(self) -> list[Table]:
        """Train, control and the stage's table, in the order of :data:`ROLES`; a control set of no rows for none."""
        control = self.train.take(np.empty(0, np.int64)) if self.control is None else self.control
        return [self.train, control, self.table]

    def records(self, role: Role) -> Table:
        return self.tables[ROLES.index(role)]

    def encoded(self, role: Role) -> Encoded:
        return self.encoding.tables[ROLES.index(role)]

    def persons(self, role: Role) -> Codes:
        """Person of each row of a table; shape (n,), int64."""
        return self.records(role).persons

    def has_persons(self, role: Role) -> bool:
        """True if columns name the persons of the rows."""
        return not self.records(role).rows_are_persons

    def clusters(self, train: Array, control: Array) -> tuple[Codes, Codes] | None:
        """Persons of records of train and of control, by position; None where each row is another person."""
        if not self.has_persons("train"):
            return None
        return self.persons("train")[train], self.persons("control")[control]

    @property
    def asked_people(self) -> tuple[Array, Array]:
        """Positions of the records of train and of control that searches query."""
        train, control = map(self.asked_rows, PEOPLE)
        return train, control

    def asked_rows(self, role: Role) -> Array:
        """Positions of the records of a table that searches query."""
        return self.asked(self.whole(role)).rows

    def asked_records(self, role: Role) -> Encoded:
        """Records of a table that searches query."""
        return self.encoded(role).take(self.asked_rows(role))

    def everybody_asked(self) -> Encoded:
        """Records of train, then of control, that searches query."""
        return self.asked_records("train").join(self.asked_records("control"))

    def by_role(self, values: Array) -> tuple[Array, Array]:
        """Values of :meth:`everybody_asked`, of train and of control apart."""
        train, control = np.split(values, [len(self.asked_rows("train"))])
        return train, control

    def by_content(self, part: Part) -> Array:
        """Rows of a part in the order of their content: what is drawn of them does not depend on that of the file."""
        order = self.encoded(part.role).order
        return np.asarray(order[np.isin(order, part.rows)])

    def weights(self, role: Role) -> Array | None:
        """Sampling weight of each row, shape (n,); None where no column has that role."""
        return weights_of(self.records(role))

    def random(self, name: str) -> np.random.Generator:
        """Random stream of one metric: the same at every stage, whatever else is computed."""
        return rng_for(self.seed, name)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        if key not in self._own:
            self._own[key] = compute()
        return cast(T, self._own[key])

    def has(self, key: Hashable) -> bool:
        return key in self._own

    def once_for_all_stages(self, key: Hashable, compute: Callable[[], T]) -> T:
        """``compute()``, which depends on train and control alone, remembered for all stages."""
        share = self.share
        if share is None:
            return self.once(("real", key), compute)
        return self.once(("real", key), lambda: cast(T, share(fingerprint(self.people_fingerprint, key), compute)))

    def once_for_asked(self, key: Hashable, compute: Callable[[], T], *parts: Part) -> T:
        """:meth:`once_for_all_stages`, of the records of parts that searches query, by default of train and control.

        How many they are depends on the tables of the stage: a result is remembered for each number.
        """
        asked = (len(self.asked(part).rows) for part in parts or map(self.whole, PEOPLE))
        return self.once_for_all_stages((key, *asked), compute)

    @cached_property
    def people_fingerprint(self) -> str:
        """Fingerprint of train and control as they are coded.

        The stage's table decides on the columns, too. It decides on no code of a person: see :attr:`n_categories`.
        """
        categorical = ~self.encoding.continuous
        coded = [(part.ranks[:, categorical], part.numbers) for part in self.encoding.tables[:2]]
        return fingerprint(self.encoding.columns, coded, self.options, self.seed)

    @cached_property
    def n_categories(self) -> tuple[int, ...]:
        """Number of categories of each column in all tables, those that the stage's table alone has among them.

        It belongs to the key of a result for all stages that these decide on.
        """
        return tuple(self.encoding.cardinality[~self.encoding.continuous].tolist())

    @cached_property
    def keys(self) -> dict[Role, Array]:
        """Number of each row's distinct content, equal across tables; shape (n,), int64."""
        train, control, table = row_keys([part.ranks for part in self.encoding.tables])
        return {"train": train, "control": control, "table": table}

    @cached_property
    def space(self) -> Space:
        """E1: standardized numbers and one-hot categories."""
        return euclidean(self.encoding)

    def place(self, part: Part) -> Columns:
        return self.once(
            ("place", part.role, part.key), lambda: self.space.place(self.encoded(part.role).take(part.rows))
        )

    def parts(self, roles: Sequence[Role]) -> list[tuple[Part, ...]]:
        """Cut the tables into parts of equal size.

        Their sizes can then not bias a comparison. Larger tables are cut into disjoint random parts (at most
        :data:`MAX_BLOCKS`), rows of a person together, so that results average over nearly all rows at no extra cost.
        """
        size = min(len(self.encoded(role)) for role in roles)
        cut = {role: self._cut(role, size) for role in roles}
        rounds = max(map(len, cut.values()))
        return [tuple(cut[role][i % len(cut[role])] for role in roles) for i in range(rounds)]

    def kept(self, role: Role, roles: Sequence[Role]) -> float:
        """Share of a table's rows in each of its :meth:`parts`, 0..1: it dilutes a leak."""
        return min(len(self.encoded(each)) for each in roles) / max(len(self.encoded(role)), 1)

    def _cut(self, role: Role, size: int) -> list[Part]:
        table = self.encoded(role)
        if len(table) == size:
            return [Part(role, "all", np.arange(size))]
        if (role, (size, 0)) not in self._cuts:
            pieces = min(len(table) // max(size, 1), MAX_BLOCKS)
            rows = np.split(self._shuffled(role)[: pieces * size], pieces)
            cut = [Part(role, (size, i), np.sort(piece)) for i, piece in enumerate(rows)]
            self._cuts |= {(role, part.key): cut for part in cut}
        return self._cuts[role, (size, 0)]

    def _shuffled(self, role: Role) -> Array:
        """Positions of all rows in random order, those of a person together."""
        order, rng = self.encoded(role).order, self.random(f"parts {role}")
        if self.train.rows_are_persons:
            return order[rng.permutation(len(order))]
        groups = pd.factorize(self.persons(role)[order])[0]
        return order[np.argsort(rng.permutation(groups.max(initial=-1) + 1)[groups], kind="stable")]

    def asked(self, part: Part) -> Part:
        """Records of a part that searches query.

        All, or a random sample of :func:`most_asked`, of a table cut into parts in equal shares. A sample does not
        depend on the order of the rows and is the same for every search, so that scores of one record can be compared.
        What is searched is never cut: a value from a sample is an unbiased estimate.
        """
        of, cut = len(part.rows), self._cuts.get((part.role, part.key), [])
        limit = most_asked(self.options.max_records, *map(len, self.encoding.tables)) or of
        if cut and self.options.max_records is not None and len(self.encoded(part.role)) > limit:
            limit = -(-limit // len(cut))
        self.asked_about[part.role, part.key] = min(of, limit), of
        if of <= limit:
            return part

        def draw() -> Part:
            rng = self.random(f"asked {part.role} {part.key}")
            return Part(part.role, ("asked", part.key), np.sort(rng.permutation(self.by_content(part))[:limit]))

        return self.once(("asked", part.role, part.key), draw)

    def sampled(self) -> dict[str, dict[str, int]]:
        """Number of queried records, and of all, of every table that was not queried as a whole."""
        counts: dict[str, dict[str, int]] = {}
        for (role, _), (asked, of) in self.asked_about.items():
            found = counts.setdefault(role, {"records": 0, "of": 0})
            found["records"], found["of"] = found["records"] + asked, found["of"] + of
        return {role: found for role, found in counts.items() if found["records"] < found["of"]}

    def distances(self, queries: Part, references: Part, k: int = 1) -> Array:
        """E1 distances of queries :meth:`asked` to their k nearest references, ascending; inf where there are fewer.

        A record is not its own neighbour when both parts are the same.
        """
        return self.search(queries, references, k)[0][:, :k]

    def neighbours(self, queries: Part, references: Part, k: int = 1) -> Array:
        """Positions of the references at :meth:`distances`, -1 for none; shape (n_asked, k)."""
        return self.search(queries, references, k)[1][:, :k]

    def search(self, queries: Part, references: Part, k: int) -> Search:
        """At least k nearest references."""
        asked = self.asked(queries)
        if queries.role != references.role:
            if self._is_cut_from_all(queries):
                found = self.search(self.whole(queries.role), references, k)
                return found[0][queries.rows], found[1][queries.rows]
            cut = self._cuts.get((references.role, references.key), [])
            if cut and queries.key == "all":
                return self._search_cut(queries, asked, cut, k)[[part.key for part in cut].index(references.key)]
        own = queries.places(asked) if (queries.role, queries.key) == (references.role, references.key) else None
        search = partial(self.nearest, asked, references, k, own)
        return self._remember(queries, references.role, references.key, len(asked.rows), k, search)

    def nearest(self, asked: Part, references: Part, k: int, own: Array | None) -> Search:
        """The k nearest references; ``own`` as for :func:`~.neighbours.nearest`."""
        return nearest(self.space, self.place(asked), self.sorted(references), k, own)

    def sorted(self, part: Part) -> Sorted:
        """Some rows in E1, sorted for searches."""
        return self.once(("sorted", part.role, part.key), lambda: in_blocks(self.space, self.place(part)))

    def _search_cut(self, queries: Part, asked: Part, cut: list[Part], k: int) -> list[Search]:
        """The search of every part of a cut table, found in one search with that of the whole table."""
        whole, n = self.whole(cut[0].role), len(asked.rows)

        def search() -> list[Search]:
            pieces = [part.rows for part in cut]
            return nearest_of_pieces(self.space, self.place(asked), self.sorted(whole), pieces, k)

        found = self._remember(queries, whole.role, ("cut", len(cut[0].rows)), n, k, search)
        self._remember(queries, whole.role, whole.key, n, k, lambda: found[0])
        return found[1:]

    def _remember(self, queries: Part, role: Role, key: Hashable, asked: int, k: int, search: Callable[[], T]) -> T:
        """A search, remembered for all stages where that is possible; one of more neighbours will do."""
        real = "table" not in (queries.role, role)
        most = max(NEIGHBOURS, self.options.knn_neighbours)
        keys = [("distances", queries.role, queries.key, role, key, asked, more) for more in range(k, most + 1)]
        for known in (("real", one) if real else one for one in keys):
            if known in self._own:
                return cast(T, self._own[known])
        return self.once_for_all_stages(keys[0], search) if real else self.once(keys[0], search)

    def _is_cut_from_all(self, part: Part) -> bool:
        """True if one search serves a whole table and its part."""
        cut, n = self._cuts.get((part.role, part.key)), len(self.encoded(part.role))
        limit = most_asked(self.options.max_records, *map(len, self.encoding.tables)) or n
        return cut is not None and n <= limit and n <= 2 * sum(len(piece.rows) for piece in cut)

    def whole(self, role: Role) -> Part:
        return Part(role, "all", np.arange(len(self.encoded(role))))


def person_of_rows(context: Context, role: Role) -> Codes:
    return person_groups(context.persons(role))


def order_of_rows(context: Context, role: Role) -> Array:
    """Value of each row in the order; NaN where it is missing, or where no column orders the rows; shape (n,)."""
    at = context.encoding.positions([name for name in [context.schema.order] if name is not None])
    table = context.encoded(role)
    return table.numbers[:, at[0]] if len(at) else np.full(len(table), np.nan)


def successive_rows(context: Context, role: Role) -> tuple[Array, Array]:
    """Positions of successive rows of a person, in their order or else as they are in the table; shape (n_pairs,)."""

    def find() -> tuple[Array, Array]:
        groups, times = person_of_rows(context, role), order_of_rows(context, role)
        rows = np.lexsort((np.where(np.isnan(times), np.inf, times), groups))
        same = groups[rows][1:] == groups[rows][:-1]
        return rows[:-1][same], rows[1:][same]

    return context.once(("pairs of rows", role), find)
