"""The states of earlier runs and the tables of the source become the copies of a pipeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from connector.errors import (
    ConfigError,
    DefiniteError,
    RequestRefused,
    SourceRefused,
    line,
    requests,
    table_rows,
)
from connector.errors import copies as codes
from connector.sink.request import arguments_of, table_name
from connector.snapshot.condition import CHARACTERS_MAX, Condition
from connector.snapshot.copies import Copies
from connector.snapshot.listed_keys import KEYS_CHARACTERS_MAX, KEYS_MAX
from connector.snapshot.plan import followed_tables
from connector.snapshot.reader_pool import ReaderPool
from connector.snapshot.table_state import TableState, snapshot_topic
from connector.source.server.select_session import SelectSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.changes.table_filter import TableFilter
    from connector.envelope.debezium.form import DebeziumForm
    from connector.progress.server_identity import ServerIdentity
    from connector.settings.sections import Settings, SnapshotSettings, SourceSettings
    from connector.snapshot.cascaded_copies import CascadedCopies
    from connector.snapshot.output import CopyOutput
    from connector.snapshot.wanted_copies import WantedCopies
    from connector.source.choice import CheckedSource

_START = "snapshot"
_STOP = "stop"
# Halves of surrogate pairs cannot be stored.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CopyPeers:
    """The functions that read the source for copies."""

    select: Callable[[SourceSettings], SelectSession]
    read: Callable[
        [SourceSettings, SnapshotSettings, ServerIdentity, DebeziumForm | None], ReaderPool
    ]


COPY_PEERS = CopyPeers(SelectSession, ReaderPool)


def open_copies(
    settings: Settings,
    source: CheckedSource,
    recovered: Mapping[str, bytes],
    tables: TableFilter,
    output: CopyOutput,
    peers: CopyPeers,
    lift_fences: Callable[[str, str], None],
    wanted: WantedCopies,
    cascaded: CascadedCopies,
) -> Copies:
    """Return the copies of a pipeline, which continue after `recovered` on `source`.

    `lift_fences` is called with a table whose rows are all copied again; `wanted` has the tables
    that the stream wants copied again, `cascaded` those with rows that foreign keys have changed.

    With `source.start = "snapshot"`, tables without a state are copied, too. The records that this
    function writes are part of the first commit. Raises SourceUnavailable or SourceRefused,
    DecodeError for states of another version, and the errors of writing.
    """
    log = structlog.get_logger()
    states = copy_states(settings, recovered)
    over = [
        state
        for state in states
        if not tables.follows(state.database, state.table) or (state.where and not state.under_way)
    ]
    for state in over:
        # If the table were followed again later, changes in between would be missing.
        output.forget_state(state)
    kept = [state for state in states if state not in over]
    for state in kept:
        if state.phase == "failed":
            log.error("the copy of a table has failed", table=state.name, error=state.error)
    copies = Copies(
        output,
        lambda: peers.read(source.settings, settings.snapshot, source.identity, output.debezium),
        lift_fences,
        wanted,
        cascaded,
        settings.snapshot,
        kept,
        keeps_new_tables=settings.source.start == _START,
        goes_on_without=settings.quarantine.policy != _STOP,
    )
    if settings.source.start == _START:
        with peers.select(source.settings) as session:
            found = followed_tables(session, tables)
        if not found:
            log.warning(**line(codes.NONE_FOLLOWED_YET), tables=settings.source.tables)
        for database, table in found:
            if copies.state(database, table) is None:
                copies.copy(database, table, "start")
    return copies


def copy_states(settings: Settings, recovered: Mapping[str, bytes]) -> list[TableState]:
    """Return the states in `recovered`; raises DecodeError for other versions."""
    topic = snapshot_topic(settings.kafka.topic_prefix)
    return [
        TableState.decode(value, f"{topic}, key {settings.name}/{key},")
        for key, value in recovered.items()
    ]


def request_copy(
    copies: Copies,
    tables: TableFilter,
    offset: int,
    request: Mapping[str, Any],
    noun: str = "request",
) -> None:
    """Copy the tables of a request: `{"tables": [[database, table], …], "where": …, "keys": […]}`.

    The copy of a table that is not in the followed `tables` fails: they may have changed since the
    request. If the condition is none, all copies fail. `noun` is what the log calls the request.
    Raises RequestRefused for a request of another form.
    """
    arguments = arguments_of(request, "tables", "where", "keys")
    where = arguments.get("where", "")
    listed = arguments.get("tables")
    if not isinstance(where, str) or len(where) > CHARACTERS_MAX or _SURROGATE.search(where):
        raise RequestRefused(requests.WHERE_NOT_TEXT, limit=CHARACTERS_MAX)
    if not isinstance(listed, list) or not all(
        isinstance(names, list) and len(names) == len(("database", "table")) for names in listed
    ):
        raise RequestRefused(requests.TABLES_NOT_PAIRS)
    keys = _keys(arguments.get("keys", []))
    if keys and (not where or len(listed) != 1):
        raise RequestRefused(requests.KEYS_ALONE)
    refused: ConfigError | None = None
    if where:
        try:
            Condition.parse(where)
        except ConfigError as error:
            refused = error
    # Each table once; if one of them is no name, nothing is done.
    for database, table in dict.fromkeys(table_name(*names) for names in listed):
        name, asked = f"{database}.{table}", f"{noun} {offset}"
        failed: DefiniteError
        if not tables.follows(database, table):
            failed = SourceRefused(codes.COPY_NOT_FOLLOWED, table=name)
        elif refused is not None:
            failed = ConfigError(table_rows.IN_COPY, table=name, why=refused)
        else:
            copies.copy(database, table, asked, request=offset, where=where, keys=keys)
            continue
        state = TableState(database, table, "failed", asked, offset, where, error=str(failed))
        copies.refuse(state, failed)


def _keys(listed: object) -> list[str]:
    """Return the keys of a request; raises RequestRefused for another list, or a long one.

    Only the table says later whether a text is a key.
    """
    if isinstance(listed, list) and len(listed) <= KEYS_MAX:
        texts = [each for each in listed if isinstance(each, str)]
        is_short = sum(map(len, texts)) <= KEYS_CHARACTERS_MAX
        if len(texts) == len(listed) and is_short and not _SURROGATE.search("".join(texts)):
            return texts
    raise RequestRefused(requests.KEYS_NOT_TEXTS, keys=KEYS_MAX, characters=KEYS_CHARACTERS_MAX)
