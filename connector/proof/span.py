"""The range of a proof in one epoch: the server, where its log is read from, and where to stop.

The positions of a sequence belong to the log of one server. When the stream moves to another one,
the epoch rises, and the stream goes on there by GTID; so does the proof.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import file_number
from connector.contract import Sequence
from connector.errors import SourceRefused, proof
from connector.proof.ends import End
from connector.proof.outcome import Place
from connector.source.choice import CheckedSource, check_server
from connector.source.server.binary_logs import binary_logs
from connector.source.server.hosts import address_of, candidates
from connector.source.server.mysql_server import MysqlServer
from connector.source.server.same_server import open_same_server

if TYPE_CHECKING:
    from connector.progress.progress_record import Progress
    from connector.proof.delivered import Epoch
    from connector.settings.sections import SourceSettings


@dataclass(frozen=True, slots=True)
class Span:
    """Where the proof of one epoch begins, and where it ends."""

    epoch: int
    source: CheckedSource
    # The progress that it continues from; None if it starts at a position of the log.
    last: Progress | None
    until: End
    # The end of what was delivered.
    delivered: Place
    # The sizes of the log's files in bytes.
    logs: dict[str, int]
    # Whether it begins exactly where the span of the epoch before ends.
    follows: bool = False
    # Why it does not begin where the epoch does; "" if it does.
    why: str = ""


class SpanFinder:
    """Finds the span of one epoch; methods raise SourceUnavailable or SourceRefused."""

    def __init__(
        self, settings: SourceSettings, epoch: Epoch, until: End | None, *, is_newest: bool
    ) -> None:
        """Find the span of `epoch` up to `until`; None stands for the end of the epoch."""
        assert epoch.newest is not None
        self._epoch = epoch
        self._newest = newest = epoch.newest
        self._until = until or End((file_number(newest.file), newest.position))
        self._is_newest = is_newest
        self._settings = settings

    def _open(self) -> None:
        """Find the server of the epoch, and look whether it still has the end of its part."""
        newest = self._newest
        self._server, self._logs = _server(self._settings, newest)
        if not self._is_newest:
            check_server(self._server, newest)
        elif not newest.file:
            # Another server has gone on by GTID, and has sent nothing yet.
            return
        if newest.file not in self._logs:
            raise SourceRefused(
                proof.LOG_GONE,
                source=address_of(self._server),
                first=next(iter(self._logs)),
                file=newest.file,
            )

    def starting(self, start: str) -> Span:
        """Start where the user says, as `source.start` would."""
        self._open()
        return self._span(self._checked(start), None)

    def oldest(self, lowest: bytes | None, why: str = "") -> Span:
        """Start at the oldest position of which progress or topics and the log tell."""
        if not why:
            self._open()
        begun = self._epoch.begun
        if begun is not None:
            # Only this progress says which part of the first transaction the topics do not have.
            with suppress(SourceRefused):
                return self._span(check_server(self._server, begun), begun, why=why)
        oldest, logs = self._epoch.oldest, self._logs
        found = _lowest(lowest, self._epoch.number)
        if oldest is not None and (found is None or _place(oldest) <= found):
            if oldest.file in logs:
                return self._span(check_server(self._server, oldest), oldest, why=why)
        elif found is not None:
            name = next((file for file in logs if file_number(file) == found[0]), None)
            base = self._newest.file.rpartition(".")[0]
            if name is not None and name.startswith(f"{base}."):
                return self._span(self._before(name, found[1]), None, why=why)
        return self._span(self._checked("earliest"), None, why=why)

    def going_on(self, lowest: bytes | None, *, follows: bool) -> Span:
        """Start where the epoch before has ended; later if the log no longer goes back so far."""
        self._open()
        before = self._epoch.before
        if (
            before is None
            or before.gtid_set is None
            or before.epoch != self._epoch.number - 1
            or before.server_uuid == self._newest.server_uuid
        ):
            why = str(SourceRefused(proof.NO_PROGRESS, epoch=self._epoch.number - 1))
            return self.oldest(lowest, why)
        try:
            source = check_server(self._server, before)
        except SourceRefused as error:
            return self.oldest(lowest, str(error))
        return self._span(source, before, follows=follows)

    def _span(
        self, source: CheckedSource, last: Progress | None, *, follows: bool = False, why: str = ""
    ) -> Span:
        newest = self._newest
        return Span(
            self._epoch.number,
            source,
            last,
            self._until,
            Place(newest.file, newest.position, newest.gtid_set),
            self._logs,
            follows,
            why,
        )

    def _checked(self, start: str) -> CheckedSource:
        return check_server(self._server.model_copy(update={"start": start}), None)

    def _before(self, file: str, position: int) -> CheckedSource:
        """Return the source at the record with the lowest sequence.

        A transaction has the position of its first byte, a copied row that of the byte before.
        """
        with suppress(SourceRefused):
            return self._checked(f"position:{file}:{position}")
        return self._checked(f"position:{file}:{position + 1}")


def _server(settings: SourceSettings, newest: Progress) -> tuple[SourceSettings, dict[str, int]]:
    """Return the settings of the server that had sent `newest`, and its log files."""
    server = open_same_server(settings, newest.source, newest.server_uuid, MysqlServer.connect)
    if server is None:
        raise SourceRefused(
            proof.OTHER_SERVER,
            server_uuid=newest.server_uuid,
            source=newest.source,
            servers=[address_of(asked) for asked in candidates(settings, newest.source)],
        )
    with server:
        return server.settings, binary_logs(server)


def _lowest(lowest: bytes | None, epoch: int) -> tuple[int, int] | None:
    if lowest is None:
        return None
    sequence = Sequence.parse(lowest.decode())
    return (sequence.file, sequence.position) if sequence.epoch == epoch else None


def _place(progress: Progress) -> tuple[int, int]:
    return file_number(progress.file), progress.position
