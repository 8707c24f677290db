"""Replays changes from quarantine, in order, and lifts their fences.

A replay writes piece by piece between transactions of the stream. Its records, its progress and the
end of the fence are committed with the stream. So it continues after a restart, and writes nothing
twice. If a row still cannot be written, it stays in quarantine with all changes that must not
overtake it.

New changes of the table are kept back meanwhile; the fence counts them, and is lifted when nothing
is left. Once everything is written that was kept back before the replay, the stream waits for its
end. Otherwise a table that changes all the time would keep its fence.

If a fence counts more changes than the topic still has, it stays. While the stream waits, nothing
new can come, so this is known when the topic is read to its end.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from connector.foundation.contract import Sequence
from connector.foundation.control_records import QuarantinedRow, QuarantineRecord
from connector.foundation.errors import ConnectorError, DecodeError, UnsupportedChange
from connector.foundation.errors.code import ErrorCode
from connector.stream.envelope.event_encoder import HALVES, US_PER_MS
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.quarantine import quarantine_errors, records
from connector.stream.quarantine.fences import (
    TABLE_ERRORS,
    Fence,
    Fences,
    concerns_table,
    fence_reason,
)

# Bytes of events that are written in one turn, before the stream has its turn.
_TURN_BYTES = 4 * 1024 * 1024
# How long to wait for kept changes that were committed but not read yet.
_PATIENCE_SECONDS = 60.0
_ROW_DIGITS = 8
# Why rows cannot be written again that are not kept as the log has them.
_UNREADABLE = {
    records.COPIED: quarantine_errors.REPLAY_COPIED,
    records.WITHHELD: quarantine_errors.REPLAY_WITHHELD,
}


class QuarantineReader(Protocol):
    """The records of the quarantine from some time on; `log` reads them from Kafka."""

    def read(self) -> Iterator[tuple[int, bytes, QuarantineRecord, bytes]]:
        """Yield offset, key, record and event of each record that was received."""
        ...

    def end(self) -> int:
        """Return the end of the topic, including what is not committed."""
        ...

    def has_read_to(self, end: int) -> bool:
        """Return whether everything before an end was read."""
        ...

    def close(self) -> None: ...


class Replay:
    """Writes what fences of one table keep back."""

    def __init__(
        self,
        pipeline: str,
        fences: list[Fence],
        all_fences: Fences,
        encoder: RecordEncoder,
        position: StreamPosition,
        log: QuarantineReader,
        monotonic: Callable[[], float],
    ) -> None:
        self._left = {id(fence): fence for fence in fences}
        self._database, self._table = fences[0].database, fences[0].table
        self._key = f"{pipeline}/{fences[0].name}".encode()
        self._fences = all_fences
        self._encoder = encoder
        self._position = position
        self._log = log
        self._changes = records.ChangeReader()
        self._monotonic = monotonic
        self._waiting_since = monotonic()
        self._turn_bytes = 0
        here = position.between(0)
        self._begun_seq = str(Sequence(here.epoch, here.file, here.position, here.event, here.row))
        self._has_caught_up = False
        # Since the last change that was kept back: whether the stream has waited for a turn, and
        # then the end of the topic.
        self._has_waited = False
        self._end: int | None = None
        self._rows = self._rows_left

    @property
    def done(self) -> bool:
        """Whether every fence was lifted, or has to stay."""
        return not self._left

    @property
    def holds_stream(self) -> bool:
        """Whether only changes are left that were kept back since the replay began."""
        return self._has_caught_up and not self.done

    def step(self, now_us: int) -> None:
        """Write the next piece.

        Raises the target's errors, and SinkUnavailable or SinkRefused if the topic cannot be read.
        """
        self._note_wait()
        self._turn_bytes = 0
        now_ms = now_us // US_PER_MS
        self._fail_after_statement()
        for _, key, record, event in self._log.read():
            if key == self._key:
                self._waiting_since = self._monotonic()
                self._write(record, event, now_us)
                self._turn_bytes += len(event)
                self._has_caught_up = record["seq"] >= self._begun_seq
            if self.done or self._turn_bytes >= _TURN_BYTES:
                break
        self._rows = self._rows_left
        is_missing = self._has_read_all or (
            self._monotonic() - self._waiting_since > _PATIENCE_SECONDS
        )
        for fence in list(self._left.values()):
            if not self._is_set(fence):
                # Lifted meanwhile, because the table is copied again.
                del self._left[id(fence)]
            elif not fence.rows:
                del self._left[id(fence)]
                self._fences.lift_one(fence, now_ms)
            elif is_missing:
                missing = UnsupportedChange(
                    quarantine_errors.REPLAY_MISSING, rows=fence.rows, table=fence.name
                )
                self._fail([fence], str(missing))

    def close(self) -> None:
        self._log.close()

    @property
    def _rows_left(self) -> int:
        return sum(fence.rows for fence in self._left.values())

    @property
    def _has_read_all(self) -> bool:
        return self._end is not None and self._log.has_read_to(self._end)

    def _note_wait(self) -> None:
        """Note the end of the topic once the stream waits and has committed what it kept back."""
        if not self.holds_stream or self._rows_left > self._rows:
            self._has_waited, self._end = False, None
        elif not self._has_waited:
            # After this turn, the stream commits what it has kept back.
            self._has_waited = True
        elif self._end is None:
            self._end = self._log.end()

    def _is_set(self, fence: Fence) -> bool:
        return any(
            current is fence for current in self._fences.of(self._database, self._table) or ()
        )

    def _fail_after_statement(self) -> None:
        """Let the fence of the whole table stay if that of its database applies to the table.

        Consumers lack what a statement changed, and later changes would overtake it.
        """
        whole = [fence for fence in self._left.values() if fence.key is None]
        if whole and self._fences.of_database(self._database, self._table) is not None:
            self._fail(whole, _unwritable(quarantine_errors.REPLAY_STATEMENT, whole[0].name))

    def _write(self, record: QuarantineRecord, event: bytes, now_us: int) -> None:
        if record["kind"] not in (records.ROWS, *_UNREADABLE):
            self._write_statement(record, event, now_us)
            return
        concerned = self._concerned(record)
        if not concerned:
            return
        code = _UNREADABLE.get(record["kind"])
        if code is not None:
            name = f"{record['database']}.{record['table']}"
            self._fail(concerned, _unwritable(code, name))
            return
        try:
            change = self._changes.rows(record, event)
            count = change.rows.count()
            wanted = {kept["row"]: kept for kept in records.quarantined_rows(record, count)}
            number = -1
            for row in change.rows.split():
                number += 1
                kept = wanted.get(number)
                fences = [] if kept is None else self._pending(record, kept)
                if not fences:
                    continue
                sequence = self._position.between(HALVES)
                try:
                    self._encoder.repeat(change, row, number, sequence, now_us)
                except TABLE_ERRORS as error:
                    self._fail(fences, self._reason(error))
                    continue
                for fence in fences:
                    fence.replayed_seq = _sequence(record, number)
                    if kept is not None and kept["keys"]:
                        fence.rows -= 1
                    self._fences.change(fence)
        except DecodeError as error:
            self._fail(concerned, str(error))
            return
        self._count_event(record)

    def _write_statement(self, record: QuarantineRecord, event: bytes, now_us: int) -> None:
        fences = self._pending(record, {"row": 0, "keys": [], "error": None})
        if not fences:
            return
        if record["kind"] != records.GONE:
            name = f"{record['database']}.{record['table']}"
            self._fail(fences, _unwritable(quarantine_errors.REPLAY_STATEMENT, name))
            return
        try:
            change = self._changes.gone(record, event)
            self._encoder.repeat_truncate(change, self._position.between(HALVES), now_us)
        except TABLE_ERRORS as error:
            self._fail(fences, self._reason(error))
            return
        except DecodeError as error:
            self._fail(fences, str(error))
            return
        self._count_event(record)

    def _reason(self, error: ConnectorError) -> str:
        """Return the reason of a fence that stays for an error; raise one that ends the stream."""
        if not concerns_table(error):
            raise error
        return fence_reason(error, self._database, self._table)

    def _count_event(self, record: QuarantineRecord) -> None:
        """Subtract an event that is kept back as a whole, once all of it was written."""
        fences = self._fences.of(self._database, self._table)
        whole = None if fences is None else fences.whole
        to_its_end = record["kind"] != records.ROWS or record["rest"] is not None
        if whole is None or not to_its_end or id(whole) not in self._left:
            return
        end = record["seq"][:-_ROW_DIGITS] + "9" * _ROW_DIGITS
        if whole.since_seq <= end and whole.replayed_seq < end:
            whole.replayed_seq = end
            whole.rows -= 1
            self._fences.change(whole)

    def _concerned(self, record: QuarantineRecord) -> list[Fence]:
        """Return the fences that keep back rows of a record."""
        fences: dict[int, Fence] = {}
        for kept in record["rows"]:
            for fence in self._pending(record, kept):
                fences[id(fence)] = fence
        if record["rest"] is not None:
            end: QuarantinedRow = {"row": 10**_ROW_DIGITS // HALVES - 1, "keys": [], "error": None}
            for fence in self._pending(record, end):
                fences[id(fence)] = fence
        return list(fences.values())

    def _pending(self, record: QuarantineRecord, kept: QuarantinedRow) -> list[Fence]:
        """Return the fences that keep back a row, if all of them are being replayed."""
        fenced = self._fences.of(self._database, self._table)
        if fenced is None:
            return []
        sequence = _sequence(record, kept["row"])
        if kept["keys"]:
            fences = [
                fence
                for key in kept["keys"]
                if (fence := fenced.keys.get(key.encode())) is not None
                and fence.since_seq <= sequence
                and fence.replayed_seq < sequence
            ]
        else:
            whole = fenced.whole
            fences = []
            if whole is not None and whole.since_seq <= sequence and whole.replayed_seq < sequence:
                fences = [whole]
        waiting = [fence for fence in fences if id(fence) in self._left]
        if len(waiting) < len(fences) and waiting:
            # It must not overtake what the other fences keep back.
            self._fail(waiting, str(UnsupportedChange(quarantine_errors.REPLAY_OTHER_KEY)))
            return []
        return waiting

    def _fail(self, fences: list[Fence], reason: str) -> None:
        """Let fences stay; if the whole table is fenced, all of them, so that nothing overtakes."""
        if any(fence.key is None for fence in self._left.values()):
            fences = list(self._left.values())
        for fence in fences:
            self._left.pop(id(fence), None)
            fence.reason = reason
            fence.answered, fence.replay = fence.replay, None
            self._fences.change(fence)


def _unwritable(code: ErrorCode, table: str) -> str:
    return str(UnsupportedChange(code, table=table))


def _sequence(record: QuarantineRecord, row: int) -> str:
    return f"{record['seq'][:-_ROW_DIGITS]}{row * HALVES:0{_ROW_DIGITS}d}"
