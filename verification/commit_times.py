"""When the source committed the transactions of its log, by position: the borders of histories.

The log is read once, from the oldest cut that the mirror lists to its end; later calls read what
was added. Only the events at the bounds of transactions are decoded.
"""

from array import array
from contextlib import closing, suppress
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.binlog.events.transaction import CommitInfo
from connector.binlog.header import file_number
from connector.binlog.log_errors import EventError
from connector.binlog.transactions.transaction import transactions_of
from connector.foundation.contract import Sequence
from connector.foundation.errors import DecodeError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server_log import ServerLog
from stream_jobs.cuts.cut import CutStore
from stream_jobs.source.sequence import PackedSequence
from verification.pipeline import Pipeline

# Each takes 48 bytes; of more, the older half is forgotten.
_TRANSACTIONS_MAX: Final = 2_000_000
_US: Final = 1_000_000


class FoundTimes(NamedTuple):
    """The times of some places."""

    are_known: NDArray[np.bool_]
    us: NDArray[np.int64]  # microseconds since 1970


class CommitTimes(NamedTuple):
    """The commit times of the log of one server, in one epoch of sequences, as far as it was read.

    Of each transaction: the first part of a sequence at its first and at its last byte, and its
    time. They do not change while the log is read on: several comparisons use them at that time.
    """

    epoch: int
    begin: int  # the first part of a sequence
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    us: NDArray[np.int64]

    def times(self, hi: NDArray[np.int64]) -> FoundTimes:
        """Return the times of places, which are first parts of sequences from `begin` on.

        Between two transactions, it is the time of the one before.
        """
        known, times_us = np.zeros(len(hi), np.bool_), np.zeros(len(hi), np.int64)
        for places in (self.ends, self.starts):
            at = np.minimum(np.searchsorted(places, hi), max(len(places) - 1, 0))
            if len(places):
                same = places[at] == hi
                known |= same
                times_us[same] = self.us[at[same]]
        return FoundTimes(known, times_us)


class _LogReader:
    """Reads the times of a log, which goes on."""

    def __init__(self, settings: SourceSettings, epoch: int, file: str, position: int) -> None:
        """Begin at `position` of `file`, between two transactions, of the server of `settings`."""
        self.epoch = epoch
        self._settings = settings
        self._place = file, position
        self._begin = _packed(epoch, file, position)
        self._starts, self._ends, self._us = (array("q") for _ in range(3))
        self._known: CommitTimes | None = None

    def read_on(self) -> None:
        """Read to the end of the log. Raises the errors of a connection and of the log."""
        file, position = self._place
        log = ServerLog(
            self._settings,
            start=f"position:{file}:{position}",
            stop_at_end=True,
            idle_timeout_seconds=None,
            verify_checksum=False,
            of_url=False,
        )
        with closing(log):
            for transaction in transactions_of(log.events()):
                opening = next(transaction.events())
                us = opening.header.timestamp * _US
                if isinstance(opening.body, CommitInfo):
                    us = opening.body.original_commit_timestamp or us
                transaction.pass_over()
                if transaction.ended:
                    end = transaction.next_position
                    self._add(transaction.file, transaction.position, end, us)
                    self._place = transaction.file, end

    @property
    def known(self) -> CommitTimes:
        """The times that were read."""
        if self._known is None:
            numbers = (np.array(own, np.int64) for own in (self._starts, self._ends, self._us))
            self._known = CommitTimes(self.epoch, self._begin, *numbers)
        return self._known

    def _add(self, file: str, position: int, end: int, us: int) -> None:
        self._known = None
        if len(self._us) >= _TRANSACTIONS_MAX:
            half = _TRANSACTIONS_MAX // 2
            self._begin = self._ends[half - 1] + 1
            for numbers in (self._starts, self._ends, self._us):
                del numbers[:half]
        self._starts.append(_packed(self.epoch, file, position))
        self._ends.append(_packed(self.epoch, file, end - 1))
        self._us.append(us)


class CommitTimeCache:
    """The commit times that one process knows, whatever connections come and go."""

    def __init__(self) -> None:
        self._log: _LogReader | None = None
        self._server_uuid = ""
        # Several histories may be compared at the same time.
        self._turn = Lock()

    def up_to_now(self, pipeline: Pipeline, cuts: CutStore) -> tuple[CommitTimes | None, str]:
        """Return the times from the oldest of `cuts` on to the end of the log, or why not.

        Raises MirrorError if a cut cannot be read.
        """
        with self._turn:
            return self._up_to_now(pipeline, cuts)

    def _up_to_now(self, pipeline: Pipeline, cuts: CutStore) -> tuple[CommitTimes | None, str]:
        log = self._log
        try:
            if log is not None and (self._server_uuid, log.epoch) == (
                pipeline.server_uuid,
                pipeline.epoch,
            ):
                # Its place in the log may be gone: then a later cut begins it.
                with suppress(SourceRefused):
                    pipeline.patience.again(log.read_on)
                    return log.known, ""
            self._log = log = _from_oldest(pipeline, cuts)
            if log is None:
                return None, "the mirror lists no cut that the log of the server still has"
            self._server_uuid = pipeline.server_uuid
            pipeline.patience.again(log.read_on)
        except (SourceUnavailable, SourceRefused, EventError, DecodeError) as error:
            # The next call reads on where this one ends.
            return None, str(error)
        return log.known, ""


def _from_oldest(pipeline: Pipeline, cuts: CutStore) -> _LogReader | None:
    """Return what reads times from the oldest cut whose place the log of the server still has."""
    files = {str(row["Log_name"]) for row in pipeline.session.query("SHOW BINARY LOGS")}
    for cut in cuts.read_all():
        file, _, position = cut.position.rpartition(":")
        if Sequence.parse(cut.seq).epoch == pipeline.epoch and file in files:
            return _LogReader(pipeline.server, pipeline.epoch, file, int(position))
    return None


def _packed(epoch: int, file: str, position: int) -> int:
    return PackedSequence.pack(Sequence(epoch, file_number(file), position, 0, 0)).hi
