"""The load of one table, as the driver sees it: how it begins, and what it commits.

A load begins at the newest progress record: its sequence is the watermark. What was read of a part
is committed together with the key of its last row. So a load continues, after any crash, with what
is not committed. If the table is altered meanwhile, the load begins again, at a later watermark;
also if the source has become another server, and no GTIDs tell what it has, or what the topics
have.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot.key_parts import key_parts
from connector.stream.snapshot.keyset import can_be_paged
from connector.stream.snapshot.table_plan import read_statistics
from connector.stream.snapshot.time_limits import TIMEOUTS
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.apply.modes.mode import Mode
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.delta.housekeeping import is_checkpoint_due, write_checkpoint
from stream_jobs.delta.log import Moment
from stream_jobs.errors import MirrorError, shard_errors
from stream_jobs.load import load_errors
from stream_jobs.load.range_task import RangeResult, is_same_table, too_slow
from stream_jobs.load.server_state import is_proven_by_gtids
from stream_jobs.source.column_types import ColumnType, holds_all_values
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.load_state import LoadPart, SourceMoment, TableLoad
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.topic_state import path_in


@dataclass(frozen=True, slots=True)
class WantedLoad:
    """A table that is to be loaded: its topic, its newest columns, and the id of the load."""

    topic: str
    schema: TableSchema
    id: str
    mode: Mode
    # The mirror that the table shares with others.
    merged: MergedTable | None = None
    # Whether all rows were read, but of a server that the connector has left.
    is_again: bool = False


class TableLoading:
    """The load of one table, whose mirror has the rows that were read."""

    def __init__(
        self,
        wanted: WantedLoad,
        own: MirrorTable,
        check_owner: Callable[[], None],
        rewriting: AbstractContextManager[object],
    ) -> None:
        """Go on with the load of the mirror `own`, which no other thread commits to.

        If it is a shard, each commit holds `rewriting`.
        """
        self._rewriting = rewriting if own.is_shard else nullcontext()
        self.wanted = wanted
        self.own = own
        self._check_owner = check_owner
        self._lock = threading.Lock()
        # The parts that a task reads, and since when.
        self._busy: dict[int, Moment] = {}

    @property
    def load(self) -> TableLoad:
        """How far it has come."""
        load = self.own.progress.load
        assert load is not None
        return load

    def take_part(self) -> int | None:
        """Return a part to read next, which nobody reads; None if there is none."""
        with self._lock:
            for place, part in enumerate(self.load.parts):
                if not part.done and place not in self._busy:
                    self._busy[place] = Moment.here()
                    return place
        return None

    def leave_part(self, place: int) -> None:
        """Let a part be read again from where it was committed."""
        with self._lock:
            self._busy.pop(place, None)

    def commit(self, place: int, result: RangeResult, end: Callable[[], SourceMoment]) -> None:
        """Commit what was read of a part; after the last one, ask for the `end`, unless GTIDs tell.

        Raises MirrorError if another process has taken over, or has committed, and if the storage
        fails; the commit may be there then.
        """
        with self._lock:
            self._check_owner()
            load = self.load.after_range(place, result.part, result.rows, result.seen)
            if load.is_read:
                load = replace(load, phase="catching up", end=load.seen_moment or end())
            self.own.began = self._busy[place]
            with self._rewriting:
                self.own.commit_load(result.files, replace(self.own.progress, load=load))
            self._busy.pop(place, None)
            # Batches, which do it otherwise, leave the table alone until all rows are read.
            delta = self.own.delta
            with delta.exclusive():
                if is_checkpoint_due(delta.whole):
                    write_checkpoint(delta.whole)


def opened_loading(
    services: MirrorContext,
    wanted: WantedLoad,
    session: SelectSession,
    moment: DeliveredPosition,
    check_owner: Callable[[], None],
    settings: SnapshotSettings,
    rows_of_a_part: int,
) -> TableLoading | None:
    """Begin the load of a table at a moment, or go on with it; None before it has a topic.

    Raises MirrorError if the table cannot be loaded now, and the errors of the session.
    """
    _refuse_other_mode(wanted)
    table = SelectedTable.describe(session, wanted.schema.database, wanted.schema.table)
    schema = _current_schema(services, wanted, moment)
    schema.refuse_unknown()
    wanted = replace(wanted, schema=schema)
    if table.schema.schema_id != schema.schema_id or not can_be_paged(table):
        raise MirrorError(load_errors.NO_SUCH_COLUMNS, table=schema.name)
    path = path_in(services.storage, schema)
    own = _opened(services, wanted, path)
    known = None if own is None else own.progress.load
    if own is not None and (known is None or known.id != wanted.id):
        where = f"{services.base}/{path}"
        raise MirrorError(load_errors.MIRROR_THERE, table=schema.name, path=where)
    if own is not None and known is not None:
        is_same = own.progress.schema_id == schema.schema_id
        is_same = is_same and is_same_table(table, schema.schema_id, known)
        is_same = is_same and not _is_of_earlier_server(known.watermark, session, moment)
        is_same = is_same and not _is_of_earlier_version(known)
        is_left = known.end is not None and is_on_earlier_server(known.end, moment)
        if is_left:
            _refuse_earlier_server(session, moment)
        elif known.phase != "reading":
            return TableLoading(wanted, own, check_owner, services.rewriting)
        elif is_same:
            _refuse_narrow(own, schema, f"{services.base}/{path}")
            return TableLoading(wanted, own, check_owner, services.rewriting)
    # Before the offsets: if the topic is made again in between, the batches find that out.
    topic_id = services.client.topic_ids([wanted.topic]).get(wanted.topic, "")
    offsets = _first_offsets(services, wanted.topic)
    if not offsets:
        return None
    load = _new_load(wanted.id, session, table, moment, settings, rows_of_a_part)
    check_owner()
    if own is not None and wanted.merged is not None:
        # Its new columns depend on those of the other shards, as those of a new shard do.
        assert schema.chosen.shard is not None
        wanted.merged.remove(schema.chosen.shard, schema.name, services.base)
        own = None
    if own is None:
        own = _created(services, wanted, path, _progress(schema, offsets, load, topic_id))
    else:
        _begin_again(own, wanted, load)
    _refuse_narrow(own, schema, f"{services.base}/{path}")
    return TableLoading(wanted, own, check_owner, services.rewriting)


def _current_schema(
    services: MirrorContext, wanted: WantedLoad, moment: DeliveredPosition
) -> TableSchema:
    """Return the column list of a table at a moment: that of its newest record, or an older one.

    A table that returns to an older list may have no new record.
    """
    current = moment.column_lists.get(wanted.schema.name)
    known = services.registry.history(wanted.topic)
    return next((schema for schema in known if schema.schema_id == current), wanted.schema)


def _refuse_narrow(own: MirrorTable, schema: TableSchema, path: str) -> None:
    """Raise MirrorError if the types of a shared mirror do not hold all values of the table."""
    wanted = {column["name"]: ColumnType.of(column).stored for column in schema.columns}
    narrow = [
        column.name
        for column in own.delta.snapshot.columns
        if column.name in wanted and not holds_all_values(column.type, wanted[column.name])
    ]
    if own.is_shard and narrow:
        raise MirrorError(shard_errors.SHARD_LOAD, table=schema.name, path=path, columns=narrow)


def _opened(services: MirrorContext, wanted: WantedLoad, path: str) -> MirrorTable | None:
    schema, merged = wanted.schema, wanted.merged
    shard = schema.chosen.shard
    return MirrorTable.open(services.storage, path, schema.name, services.base, shard, merged)


def _is_of_earlier_server(
    watermark: SourceMoment, session: SelectSession, moment: DeliveredPosition
) -> bool:
    """Return whether the connector reads the server of the session now, and another one before.

    Then nobody can tell whether the server has everything before the watermark.
    """
    server = session.identity.server_uuid
    return not is_proven_by_gtids(watermark) and watermark.server != server == moment.server_uuid


def _is_of_earlier_version(load: TableLoad) -> bool:
    """Return whether an earlier version has read rows, and did not keep what its SELECTs saw."""
    has_rows = any(part.last or part.done for part in load.parts)
    return load.seen is None and has_rows and is_proven_by_gtids(load.watermark)


def _refuse_earlier_server(session: SelectSession, moment: DeliveredPosition) -> None:
    if session.identity.server_uuid != moment.server_uuid:
        raise MirrorError(load_errors.OTHER_SERVER, server=session.name)


def is_on_earlier_server(end: SourceMoment, delivered: DeliveredPosition) -> bool:
    """Return whether nobody can tell when the topics have everything that was seen at the end.

    It is a position of a server that the connector has left, and GTIDs do not tell, either.
    """
    if has_gtids(end, delivered):
        return False
    return delivered.server_uuid not in ("", end.server)


def has_gtids(end: SourceMoment, delivered: DeliveredPosition) -> bool:
    """Return whether GTIDs tell if the topics have everything before the end of a load."""
    is_same = delivered.flavour == end.flavour
    return is_same and delivered.gtid is not None and end.gtid is not None


def _refuse_other_mode(wanted: WantedLoad) -> None:
    if wanted.mode.name != "current":
        raise MirrorError(load_errors.OTHER_MODE, table=wanted.schema.name, mode=wanted.mode.name)


def _new_load(
    id_: str,
    session: SelectSession,
    table: SelectedTable,
    moment: DeliveredPosition,
    settings: SnapshotSettings,
    rows_of_a_part: int,
) -> TableLoad:
    schema = table.schema
    estimated = read_statistics(session, schema.database, schema.table).get("estimated")
    try:
        parts = key_parts(session, table, settings, rows_of_a_part)
    except (SourceUnavailable, SourceRefused) as error:
        if error.number not in TIMEOUTS:
            raise
        raise too_slow(session, schema.name, settings) from error
    return TableLoad(
        id_,
        "reading",
        moment.bound,
        SourceMoment(moment.server_uuid, moment.flavour, moment.gtid, moment.position),
        tuple(column.declared for column in table.order_columns),
        tuple(LoadPart(low, high) for low, high in parts),
        estimated_rows=int(estimated or 0),
    )


def _created(
    services: MirrorContext, wanted: WantedLoad, path: str, progress: Progress
) -> MirrorTable:
    schema, mode, properties = wanted.schema, wanted.mode, services.properties
    columns = all_columns(schema, 0, mode.columns)
    if wanted.merged is not None:
        return MirrorTable.add_shard(wanted.merged, schema, columns, progress, properties, mode)
    return MirrorTable.create(services.storage, path, schema, columns, progress, properties, mode)


def _begin_again(own: MirrorTable, wanted: WantedLoad, load: TableLoad) -> None:
    """Take away what was read of the table as it was, or from an earlier server."""
    known = own.progress
    progress = _progress(wanted.schema, known.offsets, load, known.topic_id)
    own.commit_new_load(wanted.schema, wanted.mode.columns, progress)


def _first_offsets(services: MirrorContext, topic: str) -> dict[int, int]:
    first = services.client.first_offsets(services.client.partitions(topic))
    return {number: offset for (_, number), offset in first.items()}


def _progress(
    schema: TableSchema, offsets: Mapping[int, int], load: TableLoad, topic_id: str
) -> Progress:
    """Return the progress of a mirror without rows: what is before the watermark does not count."""
    return Progress(
        schema.schema_id,
        # An older list that the table has again was not in force all the time.
        max(schema.first, load.seq),
        len(offsets),
        floor=load.seq,
        offsets=offsets,
        load=load,
        topic_id=topic_id,
    )
