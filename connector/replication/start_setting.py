"""The setting `source.start` becomes a position in the source's log.

The GTID set of a start point is complete: it names all transactions that are not to be read, also
those that the server has purged. So the set in the progress record is never partial, and another
server of the same topology can continue with it.

`start_validation` checks whether the server has everything after the position.
"""

import re
from dataclasses import replace

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.header import FIRST_POSITION
from connector.foundation.errors import DecodeError, SourceRefused
from connector.replication import dump_errors, start_validation
from connector.replication.log_search import find_time, gtids_before, log_head
from connector.replication.server import replication_status
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint

_US = 1_000_000
_BEGUN = re.compile(r"((?:gtid|position):.*)\+([0-9]+)\+([0-9]+)", re.DOTALL)
# Event types between transactions; those that begin with "Gtid" are not listed.
_BETWEEN_TRANSACTIONS = frozenset(
    {"Anonymous_Gtid", "Binlog_checkpoint", "Format_desc", "Previous_gtids", "Rotate", "Stop"}
)
# What comes after the last transaction of a file; "" is its end.
_AFTER_TRANSACTIONS = frozenset({"", "Rotate", "Stop"})


def resolve_start(server: MysqlServer, start: str) -> StartPoint:
    """Return the position that `start` of the configuration names.

    `start` is "snapshot" (the tables are copied as they are now, so the stream begins here),
    "earliest", "latest", "gtid:SET", "position:FILE:POS" or "timestamp:TIME". After a set or a
    position, "+EVENTS+ROWS" says what of the next transaction was delivered before. Raises
    SourceRefused if the server has no such position, SourceUnavailable if the connection breaks.
    """
    if begun := _BEGUN.fullmatch(start):
        point = resolve_start(server, begun[1])
        return replace(point, begun_events=int(begun[2]), begun_rows=int(begun[3]))
    match start.split(":", 1):
        case ["earliest"]:
            return _earliest(server)
        case ["latest" | "snapshot"]:
            return _latest(server)
        case ["gtid", text]:
            return _after_gtids(server, text)
        case ["position", position_text]:
            file, _, position = position_text.rpartition(":")
            return _at_position(server, file, int(position))
        case ["timestamp", text]:
            return find_time(server, text)
    raise SourceRefused(dump_errors.FORM, start=start)


def _earliest(server: MysqlServer) -> StartPoint:
    if server.identity.flavour == "mariadb":
        return start_validation.first_mariadb_point(server)
    first = next(iter(replication_status.binary_logs(server)))
    gtids = None
    if server.identity.gtid:
        gtids = GtidSet.parse(server.global_value("gtid_purged") or "")
    return StartPoint("mysql", gtids, first, FIRST_POSITION)


def _latest(server: MysqlServer) -> StartPoint:
    # In whole seconds, as MariaDB's log has them, and before the position: so no later transaction
    # was committed before it.
    (clock,) = server.query("SELECT UNIX_TIMESTAMP() AS now")
    time_us = int(str(clock["now"])) * _US
    status = replication_status.binary_log_status(server)
    if status is None:
        raise SourceRefused(dump_errors.LOG_OFF, server=server.name)
    file, position = str(status["File"]), int(str(status["Position"]))
    if server.identity.flavour == "mariadb":
        return replace(start_validation.mariadb_point(server, file, position), time_us=time_us)
    gtids = None
    if server.identity.gtid:
        # From the same row, so from the same moment as file and position.
        gtids = GtidSet.parse(str(status["Executed_Gtid_Set"]))
    return StartPoint("mysql", gtids, file, position, time_us=time_us)


def _after_gtids(server: MysqlServer, text: str) -> StartPoint:
    try:
        if server.identity.flavour == "mariadb":
            return StartPoint("mariadb", MariadbGtidSet.parse(text), "", FIRST_POSITION)
        if server.identity.gtid:
            return StartPoint("mysql", GtidSet.parse(text), "", FIRST_POSITION)
    except DecodeError as error:
        raise SourceRefused(dump_errors.GTIDS, why=error) from error
    raise SourceRefused(dump_errors.NO_GTIDS, server=server.name, mode=server.variable("gtid_mode"))


def _at_position(server: MysqlServer, file: str, position: int) -> StartPoint:
    logs = start_validation.require_position(server, file, position)
    # For a position inside an event, MySQL shows the next event; MariaDB answers with error 1220.
    events = replication_status.next_events(server, file, position, 1)
    next_position = int(str(events[0]["Pos"])) if events else logs[file]
    if next_position != position:
        raise replication_status.no_event(server.name, file, position)
    event_type = str(events[0]["Event_type"]) if events else ""
    if event_type and not (event_type in _BETWEEN_TRANSACTIONS or event_type.startswith("Gtid")):
        raise SourceRefused(
            dump_errors.INSIDE_TRANSACTION,
            server=server.name,
            file=file,
            position=position,
            event=event_type,
        )
    if server.identity.flavour == "mariadb":
        return start_validation.mariadb_point(server, file, position)
    gtids = None
    if server.identity.gtid:
        # Before a dump of the file, which would end at such a transaction.
        start_validation.require_gtids(
            server, list(replication_status.binary_logs(server)), file, position
        )
        # Listed before the events were: a file that another one follows gets no more of them.
        later = list(logs)[list(logs).index(file) + 1 :]
        if later and event_type in _AFTER_TRANSACTIONS:
            # The file may hold such transactions before its end.
            gtids = log_head(server, later[0]).gtid_set
        else:
            gtids = gtids_before(server, file, position)
    return StartPoint("mysql", gtids, file, position)
