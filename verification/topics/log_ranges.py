"""The ranges of the log that are compared, one for each epoch of the pipeline's progress records.

The positions of a sequence belong to the log of one server. When the stream moves to another
server, the epoch rises, and the stream continues there by GTID; so does the comparison. A user
writes the ends of a range as a position or as a set of GTIDs. Without an end, the last range goes
up to the newest committed progress. Without a beginning, the first range starts at the oldest
position that both the topics and the log have.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace

from connector.binlog.gtid import (
    GtidSet,
    MariadbGtidSet,
    contains_all,
    has_reached,
    parse_gtid_set,
)
from connector.binlog.header import file_number
from connector.foundation.contract import Sequence
from connector.foundation.errors import ConfigError, DecodeError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.replication.server.addresses import address_of, candidates, open_same_server
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.sink.connection import KafkaClients
from connector.stream.sink.recovery import open_records
from connector.stream.source.server_selection import CheckedSource, check_server
from verification import verify_errors
from verification.topics.outcome import PROGRESS, EpochOutcome, Example, Place

_POSITION = re.compile(r"(?P<file>[^:]+\.\d+):(?P<position>\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """A position, a set of transactions, or both: then the one that comes first."""

    position: tuple[int, int] | None  # number of the file, offset
    gtid_set: GtidSet | MariadbGtidSet | None = None
    text: str = ""  # as it was written; "" for the newest progress

    @classmethod
    def parse(cls, option: str, text: str, flavour: str) -> "RangeEnd":
        """Read FILE:POSITION or a GTID set; raises ConfigError for anything else."""
        match = _POSITION.fullmatch(text)
        if match is not None:
            return cls((file_number(match["file"]), int(match["position"])), text=text)
        try:
            return cls(None, parse_gtid_set(text, flavour), text)
        except DecodeError as error:
            raise ConfigError(verify_errors.GTIDS, option=option, text=text, why=error) from error

    @property
    def as_start(self) -> str:
        """The `source.start` of a stream that begins here."""
        return f"gtid:{self.text}" if self.position is None else f"position:{self.text}"

    def reached(self, position: StreamPosition) -> bool:
        """Return whether a stream has come to this end."""
        if self.position is not None and position.file:
            number = file_number(position.file)
            if (number, position.position) >= self.position:
                return True
        return has_reached(position.gtid_set, self.gtid_set)

    def rest(self, position: StreamPosition) -> "RangeEnd":
        """Return the end without the GTIDs of MariaDB that a stream has passed.

        GTIDs of other servers take their place in the position, and do not tell that it has them.
        """
        known, wanted = position.gtid_set, self.gtid_set
        if not (isinstance(known, MariadbGtidSet) and isinstance(wanted, MariadbGtidSet)):
            return self
        left = (gtid for gtid in wanted if not has_reached(known, MariadbGtidSet.of([gtid])))
        return replace(self, gtid_set=MariadbGtidSet.of(left))


@dataclass(frozen=True, slots=True)
class LogRange:
    """Where the proof of one epoch begins, and where it ends."""

    epoch: int
    source: CheckedSource
    # The progress that it continues from; None if it starts at a position of the log.
    last: Progress | None
    until: RangeEnd
    # The end of what was delivered.
    delivered: Place
    # The sizes of the log's files in bytes.
    logs: dict[str, int]
    # Whether it begins exactly where the span of the epoch before ends.
    follows: bool = False
    # Why it does not begin where the epoch does; "" if it does.
    why: str = ""


class LogRangeFinder:
    """Finds the span of one epoch; methods raise SourceUnavailable or SourceRefused."""

    def __init__(
        self,
        settings: SourceSettings,
        epoch: "EpochProgress",
        until: RangeEnd | None,
        *,
        is_newest: bool,
    ) -> None:
        """Find the span of `epoch` up to `until`; None stands for the end of the epoch."""
        assert epoch.newest is not None
        self._epoch = epoch
        self._newest = newest = epoch.newest
        self._until = until or RangeEnd((file_number(newest.file), newest.position))
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
                verify_errors.LOG_GONE,
                source=address_of(self._server),
                first=next(iter(self._logs)),
                file=newest.file,
            )

    def starting(self, start: str) -> LogRange:
        """Start where the user says, as `source.start` would."""
        self._open()
        return self._span(self._checked(start), None)

    def oldest(self, lowest: bytes | None, why: str = "") -> LogRange:
        """Start at the oldest position of which progress or topics and the log tell."""
        if not why:
            self._open()
        begun = self._epoch.begun
        if begun is not None:
            # Only this progress says which part of the first transaction the topics do not have.
            with suppress(SourceRefused):
                return self._span(check_server(self._server, begun), begun, why=why)
        oldest, logs = self._epoch.oldest, self._logs
        lowest_of_epoch = _lowest(lowest, self._epoch.number)
        if oldest is not None and (lowest_of_epoch is None or _place(oldest) <= lowest_of_epoch):
            if oldest.file in logs:
                return self._span(check_server(self._server, oldest), oldest, why=why)
        elif lowest_of_epoch is not None:
            name = next((file for file in logs if file_number(file) == lowest_of_epoch[0]), None)
            base = self._newest.file.rpartition(".")[0]
            if name is not None and name.startswith(f"{base}."):
                return self._span(self._before(name, lowest_of_epoch[1]), None, why=why)
        return self._span(self._checked("earliest"), None, why=why)

    def going_on(self, lowest: bytes | None, *, follows: bool) -> LogRange:
        """Start where the epoch before has ended; later if the log no longer goes back so far."""
        self._open()
        before = self._epoch.before
        if (
            before is None
            or before.gtid_set is None
            or before.epoch != self._epoch.number - 1
            or before.server_uuid == self._newest.server_uuid
        ):
            why = str(SourceRefused(verify_errors.TOPICS_NO_PROGRESS, epoch=self._epoch.number - 1))
            return self.oldest(lowest, why)
        try:
            source = check_server(self._server, before)
        except SourceRefused as error:
            return self.oldest(lowest, str(error))
        return self._span(source, before, follows=follows)

    def _span(
        self, source: CheckedSource, last: Progress | None, *, follows: bool = False, why: str = ""
    ) -> LogRange:
        newest = self._newest
        return LogRange(
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
            verify_errors.TOPICS_OTHER_SERVER,
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


@dataclass(slots=True)
class LogRanges:
    """What can be proven, and the epochs that cannot, each in its order."""

    found: list[LogRange] = field(default_factory=list)
    unproven: list[EpochOutcome] = field(default_factory=list)


def find_log_ranges(
    settings: SourceSettings,
    epochs: "list[EpochProgress]",
    lowest: bytes | None,
    first: RangeEnd | None,
    until: RangeEnd | None,
) -> LogRanges:
    """Return the ranges from `first` to `until`; None stands for the oldest and the newest.

    A position is one in the log of the newest epoch. `lowest` is the lowest sequence of these
    epochs in the topics. Raises SourceUnavailable or SourceRefused if the last epoch cannot be
    proven.
    """
    log_ranges = LogRanges()
    lowest_epoch = epochs[0].number if lowest is None else Sequence.parse(lowest.decode()).epoch
    newest_epoch = epochs[-1]
    epochs = epochs_between(epochs, lowest_epoch, first, until)
    for epoch in epochs:
        is_first = epoch is epochs[0]
        is_last = epoch is epochs[-1]
        finder = LogRangeFinder(
            settings, epoch, until if is_last else None, is_newest=epoch is newest_epoch
        )
        try:
            if is_first and first is not None:
                log_ranges.found.append(finder.starting(first.as_start))
            elif is_first and lowest_epoch == epoch.number:
                log_ranges.found.append(finder.oldest(lowest))
            else:
                follows = bool(log_ranges.found) and log_ranges.found[-1].epoch == epoch.number - 1
                log_ranges.found.append(finder.going_on(lowest, follows=follows))
        except (SourceRefused, SourceUnavailable) as error:
            if is_last:
                raise
            newest = epoch.newest
            assert newest is not None
            log_ranges.unproven.append(
                EpochOutcome(epoch.number, newest.source, newest.server_uuid, unproven=str(error))
            )
    return log_ranges


def epochs_between(
    epochs: "list[EpochProgress]", lowest_epoch: int, first: RangeEnd | None, until: RangeEnd | None
) -> "list[EpochProgress]":
    """Return the epochs that have a part of the range; at least one."""
    if first is None:
        wanted = [epoch for epoch in epochs if epoch.number >= lowest_epoch]
    elif first.position is not None:
        wanted = []
    else:
        wanted = [
            epoch
            for count, epoch in enumerate(epochs, 1)
            if not _is_before(epoch, first, epochs[count:])
        ]
    wanted = wanted or epochs[-1:]
    if until is not None and until.gtid_set is not None:
        # The log decides where in the epoch the end is: numbers of two servers only find it.
        for has in (has_reached, contains_all):
            for count, epoch in enumerate(wanted, 1):
                if has(_gtids(epoch.newest), until.gtid_set):
                    return wanted[:count]
    return wanted


def _is_before(epoch: "EpochProgress", first: RangeEnd, later: "list[EpochProgress]") -> bool:
    """Return whether a range that begins after `first` has nothing of an epoch.

    Numbers of two servers of MariaDB say so only if a `later` epoch surely has what is in `first`.
    """
    newest = _gtids(epoch.newest)
    return has_reached(first.gtid_set, newest) or (
        contains_all(first.gtid_set, newest)
        and any(has_reached(_gtids(each.newest), first.gtid_set) for each in later)
    )


def _gtids(progress: Progress | None) -> GtidSet | MariadbGtidSet | None:
    if progress is None or progress.gtid_set is None:
        return None
    return parse_gtid_set(progress.gtid_set, progress.flavour)


@dataclass(slots=True)
class EpochProgress:
    """The progress in one epoch: all of its sequences are positions in the log of one server."""

    number: int
    # The newest progress of the epoch before, from which this one goes on; None if the topic does
    # not hold it any more.
    before: Progress | None
    # The first and the last progress that name a file of the log.
    oldest: Progress | None = None
    newest: Progress | None = None
    # The first progress, if another program had delivered a part of the next transaction.
    begun: Progress | None = None


@dataclass(slots=True)
class ProgressHistory:
    """The progress of one pipeline, as far back as the topic holds it."""

    newest: Progress | None = None
    epochs: list[EpochProgress] = field(default_factory=list)
    count: int = 0
    goes_back: list[Example] = field(default_factory=list)
    # Whether other pipelines write to the same topics.
    shared: bool = False


def read_progress_history(settings: Settings, clients: KafkaClients) -> ProgressHistory:
    """Read the progress records of the pipeline, and find where they go back.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    topic = progress_topic(settings.kafka.topic_prefix)
    history = ProgressHistory()
    with open_records(settings.kafka, topic, clients) as (_, records):
        for record in records:
            if record.key != settings.name.encode():
                history.shared = True
                continue
            if record.value is None:
                history.newest = None
                history.epochs.clear()
                continue
            progress = Progress.decode(record.value, f"{topic}[0]@{record.offset}")
            before = history.newest
            if before is not None and _log_place(progress) < _log_place(before):
                what = f"it goes back to {progress.file}:{progress.position}"
                history.goes_back.append(
                    Example(PROGRESS, topic, 0, record.offset, progress.seq, "", what)
                )
            if not history.epochs or history.epochs[-1].number != progress.epoch:
                history.epochs.append(EpochProgress(progress.epoch, before))
            epoch = history.epochs[-1]
            if progress.begun_events or progress.begun_rows:
                epoch.begun = epoch.begun or progress
            if progress.file:
                epoch.oldest = epoch.oldest or progress
                epoch.newest = progress
            history.newest = progress
            history.count += 1
    return history


def _log_place(progress: Progress) -> tuple[int, int, int]:
    number = file_number(progress.file) if progress.file else 0
    return progress.epoch, number, progress.position
