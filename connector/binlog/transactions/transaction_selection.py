"""The selection of transactions by GTID and by time, each transaction complete.

A transaction has the time of its first event. Events outside of transactions, such as the format
description, are always returned. `ReadableLog` is what is selected from: files, or a server.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Protocol

from connector.binlog import argument_errors
from connector.binlog.event import Event
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import TRANSACTION_PAYLOAD, BinlogVersion
from connector.binlog.transactions.transaction_bounds import TransactionBounds, TransactionSpan
from connector.foundation.errors import ConfigError, DecodeError

AnyGtid = Gtid | MariadbGtid
AnyGtidSet = GtidSet | MariadbGtidSet


class TransactionSelection:
    """Selects transactions by GTID and by time; all conditions must be true."""

    def __init__(
        self,
        *,
        start_gtid: AnyGtid | str | None = None,
        skip_gtids: AnyGtidSet | str | None = None,
        start_time: datetime | None = None,
        stop_time: datetime | None = None,
    ) -> None:
        """Start at `start_gtid`, leave out `skip_gtids`, and respect the start and stop times.

        A MariaDB position in `skip_gtids` leaves out everything up to it. Raises ConfigError for a
        time without a time zone and for a bad GTID.
        """
        self._start_gtid = _gtid(start_gtid) if isinstance(start_gtid, str) else start_gtid
        self._skip_gtids = _gtid_set(skip_gtids) if isinstance(skip_gtids, str) else skip_gtids
        self._start = _seconds("start_time", start_time)
        self._stop = _seconds("stop_time", stop_time)
        self._chosen = True
        self._finished = False

    def select(self, log: "ReadableLog") -> Iterator[Event]:
        """Iterate over the selected events of `log`.

        Raises ConfigError at the end of a log without `start_gtid`, and if the log's GTIDs are of
        another flavour than `skip_gtids`.
        """
        wishes = (self._start_gtid, self._skip_gtids, self._start, self._stop)
        return log.events() if all(wish is None for wish in wishes) else self._select(log)

    def _select(self, log: "ReadableLog") -> Iterator[Event]:
        bounds = TransactionBounds()
        known: TransactionSpan | None = None
        for event in log.events():
            bounds.receive(event)
            span = bounds.span
            if span is not None and span is not known:
                known = span
                self._chosen = self._chooses(span)
                if self._finished:
                    break
            if event.header.type_code == TRANSACTION_PAYLOAD:
                # The payload is the rest of its transaction, so it need not be unpacked.
                bounds = TransactionBounds()
            if span is None or self._chosen:
                yield event
        if self._start_gtid is not None:
            code = argument_errors.NO_TRANSACTION_BEFORE_STOP
            if not self._finished:
                code = argument_errors.NO_TRANSACTION
            raise ConfigError(code, log=log.name, gtid=self._start_gtid)

    def _chooses(self, span: TransactionSpan) -> bool:
        if self._stop is not None and span.first_timestamp >= self._stop:
            self._finished = True
            return False
        if self._start is not None:
            if span.first_timestamp < self._start:
                return False
            # From here on every transaction is selected, even if a clock went back.
            self._start = None
        if self._start_gtid is not None:
            if span.gtid != self._start_gtid:
                return False
            self._start_gtid = None
        return not self._skips(span.gtid)

    def _skips(self, gtid: AnyGtid | None) -> bool:
        skip = self._skip_gtids
        if not skip or gtid is None:
            return False
        if isinstance(skip, GtidSet):
            if isinstance(gtid, Gtid):
                return gtid in skip
        elif isinstance(gtid, MariadbGtid):
            return gtid in skip
        raise ConfigError(
            argument_errors.OTHER_FLAVOUR, argument="skip_gtids", gtids=skip, gtid=gtid
        )


def _gtid(text: str) -> AnyGtid:
    """Return the GTID: `uuid:number`, `uuid:tag:number`, or MariaDB's `domain-server-number`."""
    try:
        if ":" not in text:
            return MariadbGtid.parse(text)
        gtids = list(islice(GtidSet.parse(text), 2))
    except DecodeError as error:
        raise ConfigError(argument_errors.ARGUMENT, argument="start_gtid", why=error) from error
    if len(gtids) != 1:
        raise ConfigError(argument_errors.NOT_ONE_GTID, text=text)
    return gtids[0]


def _gtid_set(text: str) -> AnyGtidSet:
    """Return the GTID set of MySQL, or the position of MariaDB."""
    try:
        return GtidSet.parse(text) if ":" in text else MariadbGtidSet.parse(text)
    except DecodeError as error:
        raise ConfigError(argument_errors.ARGUMENT, argument="skip_gtids", why=error) from error


def _seconds(name: str, time: datetime | None) -> float | None:
    if time is None:
        return None
    if time.tzinfo is None:
        raise ConfigError(argument_errors.NO_TIME_ZONE, argument=name, time=time.isoformat())
    return time.timestamp()


class ReadableLog(Protocol):
    """A log of files or of a server."""

    @property
    def name(self) -> str:
        """The name of the current file."""
        ...

    @property
    def version(self) -> BinlogVersion:
        """The format version of the current file."""
        ...

    @property
    def format(self) -> FormatDescriptionEvent:
        """The format description; made from known facts if the log has none."""
        ...

    @property
    def position(self) -> int:
        """Where the next event starts, in bytes."""
        ...

    def events(self) -> Iterator[Event]:
        """Yield the events that have not been read yet."""
        ...

    def close(self) -> None:
        """End the iteration, even if it waits in another thread."""
        ...
