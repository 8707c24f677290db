"""Checksums of key ranges: ranges with equal checksums have equal rows.

The checksum of a range is the number of its rows, and the XOR of 64 bits of the SHA-256 of each
row's text. The text has the whole row with its key, so swapping values between rows changes the
checksum, and the order of rows does not. A server computes its checksums itself, over several
connections.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.time_limits import TIMEOUTS, time_limits
from connector.stream.source.select_session import SelectSession
from verification.key_ranges import KeyNumber, KeyRanges
from verification.patience import Patience
from verification.row_text import RowText
from verification.shared_looks import Lender

Open = Callable[[], AbstractContextManager[SelectSession]]


def sql_of_hash(text: str) -> str:
    """Return the expression whose BIT_XOR is the sum; `text` is that of a row.

    A text longer than max_allowed_packet is NULL, with which rows would be equal that are not: its
    sum is random, so that the rows are read.
    """
    # MariaDB's UUID() alone is no text: IFNULL would return UUIDs.
    return f"CAST(CONV(LEFT(SHA2(IFNULL({text}, HEX(UUID())), 256), 16), 16, 10) AS UNSIGNED)"


class Checksums:
    """The sums of some ranges."""

    def __init__(self, count: int) -> None:
        self.rows = np.zeros(count, np.int64)
        self.xors = np.zeros(count, np.uint64)

    def add(self, places: NDArray[np.intp], texts: Iterable[list[bytes]]) -> None:
        """Add rows to the ranges at `places`; `texts` are those of the rows, some at a time."""
        sha256 = hashlib.sha256
        digests = [digest for some in texts for digest in [sha256(text).digest() for text in some]]
        hashes = np.frombuffer(b"".join(digests), ">u8")[::4].astype(np.uint64)
        np.add.at(self.rows, places, 1)
        np.bitwise_xor.at(self.xors, places, hashes)

    def are_equal(self, others: "Checksums", place: int) -> bool:
        """Return whether the sums of a range are those of others."""
        return bool(
            self.rows[place] == others.rows[place] and self.xors[place] == others.xors[place]
        )


_LOOK_SECONDS: Final = 1.0
# Ranges and rows of one SELECT, as far as its ranges are so small.
_RANGES_OF_A_SELECT: Final = 100
_ROWS_OF_A_SELECT: Final = 20_000


def lender_of(open_session: Callable[[], SelectSession], most: int) -> Lender[SelectSession]:
    """Return what lends sessions, at most so many at a time."""
    return Lender(open_session, SelectSession.close, most, lambda session: not session.is_closed)


class ServerChecksums:
    """Sums the ranges of one table, in threads that a context manager ends."""

    def __init__(
        self,
        lent_session: Open,
        pace: SourcePace,
        table: str,
        key: KeyNumber,
        text: RowText,
        patience: Patience | None = None,
    ) -> None:
        """Read `table`, a name in SQL; `lent_session` lends a connection for each statement.

        After a lost connection, a statement is repeated if there is `patience`.
        """
        self._patience = patience
        self._lent_session = lent_session
        self._settings = pace.settings
        self._pace = pace
        self._table = table
        self._key = key
        self._hash = sql_of_hash(text.sql)
        self._closing = threading.Event()
        self._pool = ThreadPoolExecutor(pace.settings.connections, "verify")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def begin(
        self, ranges: KeyRanges, rows_of_a_range: int
    ) -> list[tuple[slice, Future[Checksums | None]]]:
        """Begin to sum `ranges`; return their places, and sums that are there later.

        Each has about so many rows. None in place of sums means that the source did not answer in
        time: the rows have to be read. The futures raise the other errors of a session.
        """
        futures = []
        most = max(1, min(_RANGES_OF_A_SELECT, _ROWS_OF_A_SELECT // rows_of_a_range))
        for places in ranges.runs(most):
            some = ranges.take(places)
            futures.append((places, self._pool.submit(self._sums, some, rows_of_a_range)))
        return futures

    def gathered(
        self,
        begun: list[tuple[slice, Future[Checksums | None]]],
        count: int,
        show: Callable[[int], None],
        note: Callable[[slice, Checksums], None] | None = None,
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Wait for the sums of `count` ranges, and return them, and which of them are known.

        `show` gets rows, and `note` the sums of some ranges as soon as they are known.
        """
        sums, is_known = Checksums(count), np.zeros(count, np.bool_)
        for places, future in begun:
            while not wait([future], _LOOK_SECONDS).done:
                show(0)
            some = future.result()
            if some is not None:
                sums.rows[places], sums.xors[places] = some.rows, some.xors
                is_known[places] = True
                if note is not None:
                    note(places, some)
                show(int(some.rows.sum()))
        return sums, is_known

    def _sums(self, ranges: KeyRanges, rows_of_a_range: int) -> Checksums | None:
        try:
            patience = self._patience
            read = partial(self._read, ranges, rows_of_a_range)
            return read() if patience is None else patience.again(read)
        except (SourceUnavailable, SourceRefused) as error:
            if error.number in TIMEOUTS:
                return None
            if isinstance(error, SourceRefused):
                raise
            # Reading rows waits until the source is there again.
            return None

    def _read(self, ranges: KeyRanges, rows_of_a_range: int) -> Checksums:
        sums, done = Checksums(len(ranges)), 0
        with self._lent_session() as session:
            while done < len(ranges) and not self._closing.is_set():
                with self._pace.read(session, self._closing, (self._table, "sums")) as turn:
                    some = max(1, min(len(ranges), turn.statement_rows // rows_of_a_range))
                    while True:
                        places = slice(done, done + some)
                        turn.rows += self._add(session, ranges.take(places), sums, done)
                        done += some
                        if done >= len(ranges) or not turn.rest():
                            break
        return sums

    def _add(self, session: SelectSession, ranges: KeyRanges, sums: Checksums, place: int) -> int:
        """Add the sums of ranges, whose first place is given; return how many rows they have."""
        count = 0
        for row in session.query(self._sql(session, ranges)):
            at, found = place + int(row["place"] or 0), int(row["found"] or 0)
            sums.rows[at], sums.xors[at] = found, int(row["total"] or 0)
            count += found
        return count

    def _sql(self, session: SelectSession, ranges: KeyRanges) -> str:
        before, hint = time_limits(session, self._settings)
        key = self._key
        bounds = ", ".join(str(key.literal(low)) for low in ranges.low[1:].tolist())
        place = f"INTERVAL({key.expression}, {bounds})" if bounds else "0"
        where = key.between(int(ranges.low[0]), int(ranges.high[-1]))
        return (
            f"{before}SELECT {hint}{place} AS place, COUNT(*) AS found, "  # noqa: S608 - quoted names
            f"BIT_XOR({self._hash}) AS total FROM {self._table} WHERE {where} "
            "GROUP BY 1 ORDER BY NULL"
        )
