"""What a server has, beside the watermark of a load: whether its rows may be read, and when.

On MySQL with GTIDs, each server can tell this of itself. Elsewhere, only the server of the
watermark can.
"""

from typing import Final
from uuid import UUID

from connector.binlog.gtid import GtidSet
from connector.foundation.errors.message import Message, Words
from connector.replication.server.replication_status import replica_status_query
from connector.stream.snapshot import watermark
from connector.stream.source.select_session import SelectSession
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.tables.load_state import SourceMoment

# A replica is waited for so long.
LAG_SECONDS: Final = 5


def is_proven_by_gtids(moment: SourceMoment | DeliveredPosition) -> bool:
    """Return whether any server can tell that it has everything before a moment."""
    return moment.flavour == "mysql" and moment.gtid is not None


def delivered_position(session: SelectSession, moment: SourceMoment) -> watermark.DeliveredPosition:
    """Return what a SELECT must see. Raises MirrorError on a server that cannot tell."""
    by_gtid = is_proven_by_gtids(moment)
    identity = session.identity
    if identity.flavour != "mysql" if by_gtid else identity.server_uuid != moment.server:
        raise MirrorError(load_errors.OTHER_SERVER, server=session.name)
    place = watermark.LogPosition.parse(moment.position)
    # It comes from a topic, and goes into SQL.
    gtid_set = str(GtidSet.parse(moment.gtid or "")) if by_gtid else None
    return watermark.DeliveredPosition(gtid_set, place)


def refuse_late(session: SelectSession, gtid_set: str, seconds: int = LAG_SECONDS) -> None:
    """Raise MirrorError if a replica does not get a set in time; the job must be able to end."""
    sql = f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtid_set}', {seconds}) AS timed_out"
    if session.query(sql)[0]["timed_out"] != "0":
        raise MirrorError(load_errors.LAGS, server=session.name)


def refuse_own_transactions(session: SelectSession, moment: DeliveredPosition) -> None:
    """Raise MirrorError if a replica has transactions that the topics will never have."""
    identity = session.identity
    if identity.flavour != "mysql" or moment.gtid is None:
        return
    own = own_gtids(executed_gtids(session), identity.server_uuid, moment)
    if own:
        raise MirrorError(load_errors.OWN_TRANSACTIONS, server=session.name, gtids=own)


def refuse_filters(session: SelectSession, moment: DeliveredPosition) -> None:
    """Raise MirrorError if a replica may lack rows that the topics have, in spite of its GTIDs."""
    identity = session.identity
    if not is_proven_by_gtids(moment) or not is_replica(identity.server_uuid, moment):
        return
    if filters := replication_filters(session):
        raise MirrorError(load_errors.FILTERS, server=session.name, filters=filters)


def is_replica(server: str, moment: DeliveredPosition) -> bool:
    """Return whether a server is another one than the connector's, as far as is known."""
    return moment.server_uuid not in ("", server)


def replication_filters(session: SelectSession) -> str:
    """Return the filters of all channels of a MySQL replica; mostly none."""
    channels = session.query(replica_status_query(session.identity))
    filters = {
        f"{name}={value}": None
        for row in channels
        for name, value in row.items()
        if name.startswith("Replicate_") and value
    }
    return " ".join(filters)


def own_gtids(executed: str, server: str, moment: DeliveredPosition) -> str:
    """Return what a server has executed that the topics will never have; mostly nothing.

    These are transactions of servers of which the topics have nothing, or of a replica itself.
    """
    if moment.gtid is None or not is_replica(server, moment):
        return ""
    known = GtidSet.parse(moment.gtid)
    own = []
    for member in filter(None, str(GtidSet.parse(executed) - known).split(",")):
        origin = member.partition(":")[0]
        is_coming = origin == moment.server_uuid or known.has_server(UUID(origin))
        if origin == server or not is_coming:
            own.append(member)
    return ",".join(own)


def executed_gtids(session: SelectSession) -> str:
    """Return the GTIDs that a MySQL server has executed, after all earlier SELECTs."""
    return _gtids(session, "gtid_executed")


def _gtids(session: SelectSession, variable: str) -> str:
    (row,) = session.query(f"SELECT @@GLOBAL.{variable} AS found")
    return (row["found"] or "").replace("\n", "")


def current_moment(session: SelectSession) -> SourceMoment:
    """Return what the server has executed, after all earlier SELECTs."""
    identity = session.identity
    end = watermark.log_end(session)
    name = "gtid_binlog_pos" if identity.flavour == "mariadb" else "gtid_executed"
    gtid = _gtids(session, name)
    return SourceMoment(
        identity.server_uuid, identity.flavour, gtid or None, f"log.{end.file}:{end.position}"
    )


def in_words_of_url(problem: Message) -> Message:
    """Return a problem of a server in the words of `first_load.url`."""
    facts = {**problem.facts}
    if facts.get("key") == "source.password_command":
        facts["key"] = "first_load.password_command"
    return Message(problem.code, facts, Words.URL)
