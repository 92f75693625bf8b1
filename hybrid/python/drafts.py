"""Configuration of a table in memory: guessed, changed by what the caller says, and every guess named."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.config_files import expected
from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence
from hybrid.python.frames import AnyTable, AnyTables, in_memory, is_several, not_a_table

if TYPE_CHECKING:
    from hybrid.hierarchy.load import HierarchySource
    from hybrid.pipeline.config import RunConfig
    from hybrid.pipeline.draft import Draft
    from hybrid.table import Table


_MAPPINGS = {
    "roles": '{"age": "quasi_identifier"}',
    "hierarchies": '{"age": hybrid.hierarchies.intervals(frame["age"], widths=[5, 10])}',
    "settings": '{"protect.min_count": 10}',
}
"""Arguments that are mappings, and an example of each."""
_LISTS = ("quasi_identifiers", "sensitive", "targets")
_OTHERS = ("k", "person", "hierarchies", "settings")


def _refuse_misspelt(arguments: Mapping[str, Any]) -> None:
    unknown = next((name for name in arguments if name not in _OTHERS), None)
    if unknown is not None:
        known = (*_LISTS, "roles", *_OTHERS)
        near = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}"
        raise ConfigError(f"there is no argument {unknown!r}", hint=hint)


@dataclass(frozen=True)
class Wishes:
    """Statements of a caller about a table; everything else is guessed."""

    roles: Mapping[str, str] = field(default_factory=dict)
    """Role of single columns, which no guess then changes."""
    targets: Sequence[str] = ()
    k: int | None = None
    """People of every class, 2 or more; None: 5."""
    person: str | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    """Hierarchies of single columns (:func:`hierarchy_source`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Values of dotted keys of a configuration."""

    @classmethod
    def of(
        cls,
        quasi_identifiers: Sequence[str] = (),
        sensitive: Sequence[str] = (),
        targets: Sequence[str] = (),
        roles: Mapping[str, str] | None = None,
        **others: Any,
    ) -> Wishes:
        """Wishes of the arguments of a function."""
        for what, names in zip(_LISTS, (quasi_identifiers, sensitive, targets), strict=True):
            if isinstance(names, str):
                raise ConfigError(f"{what} is one text", hint=f"give a list: {what}=[{names!r}]")
        _refuse_misspelt(others)
        for what, shown in _MAPPINGS.items():
            value = roles if what == "roles" else others.get(what)
            if value is not None and not isinstance(value, Mapping):
                raise ConfigError(f"{what} is a {type(value).__name__}, not a dict", hint=f"{what}={shown}")
        said = dict.fromkeys(sensitive, "sensitive") | dict.fromkeys(quasi_identifiers, "quasi_identifier")
        if twice := sorted(set(sensitive) & set(quasi_identifiers)):
            raise ConfigError(f"both sensitive and quasi-identifier: {', '.join(twice)}", hint="choose one role")
        k = others.get("k")
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 2):
            raise ConfigError("k is no whole number of 2 or more", hint="5 is usual, 10 for tables that many will see")
        given = {name: value for name, value in others.items() if value is not None}
        return cls(said | dict(roles or {}), tuple(targets), **given)


@dataclass(frozen=True)
class Guessed:
    """A guessed configuration with its tables. Private."""

    draft: Draft
    config: RunConfig
    """Checked, with the tables in memory."""
    notes: tuple[str, ...]
    """Every guess, and what to think about; no cell values."""


def guessed(data: AnyTables, wishes: Wishes) -> Guessed:
    """Guess the configuration of a table, or of linked tables.

    A path of a folder is that of the linked tables in it. What the caller wishes is not guessed.
    """
    return _linked(data, wishes) if is_several(data) else _single(data, wishes)


def _single(data: AnyTable, wishes: Wishes) -> Guessed:
    from hybrid.pipeline.draft import guess

    is_path = isinstance(data, str | Path)
    frame = None if is_path else in_memory(data)
    draft = guess(data if frame is None else frame)
    _change(draft, wishes)
    if wishes.person is not None:
        draft.columns[wishes.person].role = "identifier"
        draft["data.person"] = wishes.person
    for name, source in wishes.hierarchies.items():
        draft.describe(name, hierarchy_source(source))
    roles = {one.role for one in draft.columns.values()}
    if "quasi_identifier" in roles and draft["anonymize"] is None:
        draft["anonymize"] = {"k": 5, "recoding": "local"}
    _drop_models(draft)

    def loaded() -> RunConfig:
        return draft.config if frame is None else draft.config.with_frame(frame)

    return _decided(draft, wishes, loaded, draft.notes)


def _change(draft: Draft, wishes: Wishes) -> None:
    for name, role in wishes.roles.items():
        draft.columns[name].role = role
    for name in wishes.targets:
        draft.columns[name].target = True


def _decided(draft: Draft, wishes: Wishes, loaded: Callable[[], RunConfig], notes: Sequence[str]) -> Guessed:
    """A draft with k and the settings that are wished; ``loaded`` reads it with its tables."""
    from hybrid.pipeline.config_file import with_settings

    if wishes.k is not None and draft["anonymize"] is not None:
        draft["anonymize.k"] = wishes.k
    draft.keep(with_settings(draft.document, wishes.settings))
    keep_models = draft.is_linked or "anonymize.models" in wishes.settings
    texts = list(_decide_texts(draft, loaded(), keep_models=keep_models))
    return Guessed(draft, loaded(), (*_roles(draft, wishes), *texts, *notes))


def _drop_models(draft: Draft, table: Table | None = None, least: int = 0) -> None:
    """Drop guessed privacy models of columns that were given another role, or of which nothing is left to learn.

    The latter are those of which so few people hold each value that fewer than two are kept.
    """
    from hybrid.protect.categories import rarity
    from hybrid.table import Kind
    from hybrid.table.holders import row_holders

    models = draft["anonymize.models"] or []
    kept = [one for one in models if draft.columns[one["attribute"]].role in ("sensitive", "insensitive")]
    if table is not None:
        held = {
            one["attribute"]: rarity(table.frame[one["attribute"]], least, row_holders(table))
            for one in kept
            if table.schema[one["attribute"]].kind is Kind.CATEGORICAL
        }
        kept = [one for one in kept if one["attribute"] not in held or (~held[one["attribute"]].rare).sum() > 1]
    if len(kept) < len(models):
        del draft["anonymize.models"]
        if kept:
            draft["anonymize.models"] = kept


def _roles(draft: Draft, wishes: Wishes) -> Iterator[str]:
    words = {
        "quasi_identifier": "taken for known to others, and generalized",
        "sensitive": "taken for what an attacker wants to learn",
        "insensitive": "taken for neither",
        "identifier": "taken for names of people or records: never learned, replaced by made-up values or left out",
        "undecided": "left out, since it is not clear what they are",
        "excluded": "left out, since nobody needs them",
    }
    by_role: dict[str, list[str]] = {}
    for name, one in draft.columns.items():
        if name not in wishes.roles:
            by_role.setdefault(one.role, []).append(name)
    yield from (f"guessed: {', '.join(by_role[role])}: {said}" for role, said in words.items() if role in by_role)


def _decide_texts(draft: Draft, config: RunConfig, *, keep_models: bool) -> Iterator[str]:
    """Let rare values of texts be drawn anew, where a configuration file would ask a person first; sentences on them.

    That is the default of all other columns, and the strictest choice that keeps a column.
    """
    from hybrid.pipeline.sources import read_sources
    from hybrid.protect.categories import MOST_CHANGED, texts_to_decide

    if config.protection is None:
        return
    for of, table in read_sources(config).tables.items():
        known = table.without_identifiers()
        if not keep_models:
            _drop_models(draft, known, config.protection.least_holders(config.k))
        generalized = known.schema.quasi_identifiers if config.anonymize is not None else ()
        for name, share in texts_to_decide(known, config.protection, config.k, generalized, most=MOST_CHANGED / 2):
            draft["protect", "columns", name] = "sample"
            if share > MOST_CHANGED:
                column = f"{of}.{name}" if of else name
                yield sentence("draft.rare_texts", column=column, share=round(100 * share))


def hierarchy_source(given: Any) -> HierarchySource:
    """Hierarchy as a caller gives it.

    A file (CSV or YAML); the content of such a YAML file, as ``{"type": "intervals", "widths": [5, 10]}``; a table with
    the value in its first column and a label for each level in the others; or a description of
    :mod:`hybrid.hierarchies`.
    """
    from pydantic import TypeAdapter

    from hybrid.base.options import Options
    from hybrid.hierarchy.spec import HierarchySpec
    from hybrid.python.frames import plain

    given = getattr(given, "spec", given)
    if isinstance(given, Options):
        return given  # type: ignore[return-value]
    if isinstance(given, str | Path):
        return Path(given)
    if isinstance(given, Mapping):
        from pydantic import ValidationError

        from hybrid.base.errors import HierarchyError

        try:
            found: HierarchySource = TypeAdapter(HierarchySpec).validate_python(dict(given))
        except ValidationError as error:
            said = "; ".join(expected(one) for one in error.errors())
            raise HierarchyError(f"the description of a hierarchy is wrong: {said}") from None
        return found
    try:
        table = plain(given)
    except ConfigError:
        raise not_a_table(given, "a hierarchy") from None
    return [tuple(map(str, row)) for row in table.itertuples(index=False)]


def _linked(data: Any, wishes: Wishes) -> Guessed:
    from hybrid.base.yaml_document import YamlDocument
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.starter.linked import guess_links
    from hybrid.pipeline.starter.reading import read_folder

    if wishes.hierarchies or wishes.person is not None:
        raise ConfigError("hierarchies and person are for a single table", hint="write a configuration: hybrid init")
    frames = {name: in_memory(one) for name, one in data.items()} if isinstance(data, Mapping) else {}
    folder = Path() if frames else Path(data)
    links = guess_links(_place(frames) if frames else read_folder(folder))
    draft = Draft(YamlDocument(links.to_yaml(folder), "config.yaml"), folder)
    _change(draft, wishes)

    def loaded() -> RunConfig:
        return draft.config.with_hierarchies(links.described).with_frames(frames)

    return _decided(draft, wishes, loaded, links.notes)


def _place(frames: Mapping[str, Any]) -> Any:
    from hybrid.pipeline.starter.reading import FoundTable, Place, guess_frame_reading
    from hybrid.pipeline.starter.references import Declared
    from hybrid.table.typed_table import DATA_FRAME, read_frame

    found = {}
    for name, frame in frames.items():
        options = guess_frame_reading(frame)
        found[name] = FoundTable(Path(DATA_FRAME), options, read_frame(frame, options))
    return Place("tables", found, Declared())
