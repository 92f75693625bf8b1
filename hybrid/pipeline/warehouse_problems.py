"""Sections of a configuration that no warehouse can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hybrid.anonymize.models.protocol import SensitiveModel
from hybrid.base.errors import Problem
from hybrid.table import Role
from hybrid.table.sources.sql import SqlOptions

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

RULE = "data.sql.push_down"


def is_pushed_down(config: RunConfig) -> bool:
    """True if the rows stay in the warehouse."""
    place = config.data.place
    return config.frame is None and isinstance(place, SqlOptions) and place.push_down


def problems_of_labels(config: RunConfig) -> Iterator[Problem]:
    """Sections that ``hybrid anonymize`` cannot do in a warehouse."""
    yield from _problems(config)
    data = config.data
    for key in ("max_rows", "order"):
        if getattr(data, key):
            yield Problem(f"{RULE}: data.{key} compares all rows of a person", f"leave data.{key} out")
    if config.protection is not None:
        yield Problem(
            f"{RULE}: protection compares the values of all records",
            "set protect: off: columns that are no quasi-identifiers are then copied as they are",
        )
    if config.split.is_crossed or config.split.share_apart or config.split.rows:
        yield Problem(
            f"{RULE}: every row of the table is anonymized", "set split.control: 0, and no other key of split"
        )
    if config.sample.effective.order == "pre":
        yield Problem(f"{RULE}: sample.order: pre draws from the whole table", "leave sample.order out")


def problems_of_run(config: RunConfig) -> Iterator[Problem]:
    """Sections that a run with a sample cannot do."""
    yield from _problems(config)
    if config.split.release or config.split.rows:
        yield Problem(
            f"{RULE}: the records that come out are those of data.sql.sample_rows",
            "set data.sql.sample_rows, and leave split.rows and split.release out",
        )
    if config.sample.effective.method != "none":
        yield Problem(
            f"{RULE}: the sample is drawn in the warehouse, from all rows with labels",
            "set data.sql.sample_rows, and leave the section sample out",
        )
    if any(column.role is Role.WEIGHT for column in config.data.columns.values()):
        yield Problem(
            f"{RULE}: weights of a sample do not add up to the population",
            "leave the column with the role weight out of a view, or give it another role",
        )
    if config.risk is not None:
        yield Problem(f"{RULE} is about real tables, and risk tries metrics on known leaks", "leave risk out")


def _problems(config: RunConfig) -> Iterator[Problem]:
    """Sections that the search in a warehouse cannot do."""
    options, data = config.anonymize, config.data
    if options is None:
        yield Problem(f"{RULE} needs an anonymize section", "add one, with k and the quasi-identifiers")
        return
    if not options.generalizes:
        yield Problem(f"{RULE}: anonymize.technique looks at all records", "leave technique out")
    if options.engine != "exact":
        yield Problem(f"{RULE}: engine {options.engine} needs the whole table", "use anonymize.engine: exact")
    if options.recoding != "global":
        yield Problem(f"{RULE}: local recoding is not done in a warehouse", "use anonymize.recoding: global")
    if options.loss.name == "association":
        yield Problem(f"{RULE}: the loss association looks at all columns of every row", "use another anonymize.loss")
    if options.suppressed == "coarsen":
        yield Problem(f"{RULE}: coarser labels of small classes are not written there", "leave suppressed out")
    if options.known_rows > 1:
        yield Problem(f"{RULE}: anonymize.known_rows compares all rows of a person", "leave known_rows out")
    if data.person_columns and any(isinstance(model, SensitiveModel) for model in options.models):
        yield Problem(
            f"{RULE}: models of sensitive columns compare the values of each person (data.person)",
            "leave anonymize.models out, or set data.person: none where each row is another person",
        )
    if data.household_columns:
        yield Problem(f"{RULE}: data.household compares all rows of a household", "leave data.household out")
    if config.privacy is not None:
        yield Problem(f"{RULE} is about labels, and privacy.mode: dp about none", "leave privacy out")
