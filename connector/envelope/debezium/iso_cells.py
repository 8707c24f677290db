"""DATE, DATETIME and TIME as ISO 8601 with the offset of UTC: the option `isostring`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.codec.digits import put_int
from connector.codec.json_strings import QUOTE
from connector.envelope.cells.selected_cell import SelectedCell, put_slice
from connector.envelope.debezium.temporal_cells import is_time_of_day
from connector.envelope.debezium.temporal_parts import DATE_LENGTH, has_zero_part, two, year_of

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.envelope.debezium.unfit import Unfit

_ZERO: Final = 0x30
_POINT: Final = 0x2E
_T: Final = 0x54
_Z: Final = 0x5A

_YEAR_LENGTH: Final = 4
_CLOCK_LENGTH: Final = 8
_DAY_HOURS: Final = 24

EPOCH_DATE: Final = b'"1970-01-01Z"'


@final
class IsoDateCell(SelectedCell):
    """DATE: `2019-07-09Z`."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for a date with a zero part."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD`."""
        if has_zero_part(data, start):
            out.write(self._zero)
            return
        out.append(u8(QUOTE))
        _put_date(out, data, start, end)
        _put_end(out)


@final
class IsoMomentCell(SelectedCell):
    """DATETIME: `2019-07-09T02:28:57.1Z`, without zeros at the end of the fraction."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for a date with a zero part."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD hh:mm:ss[.ffffff]`."""
        if has_zero_part(data, start):
            out.write(self._zero)
            return
        clock = start + DATE_LENGTH + 1
        out.append(u8(QUOTE))
        _put_date(out, data, start, start + DATE_LENGTH)
        out.append(u8(_T))
        put_slice(out, data, clock, _significant_end(data, clock, end))
        _put_end(out)


@final
class IsoTimeCell(SelectedCell):
    """TIME: `02:28:57.1Z`, the time of a day; 24:00:00 is midnight."""

    __slots__ = ("_unfit",)

    def __init__(self, unfit: Unfit) -> None:
        """Give times that no day has to `unfit`."""
        self._unfit = unfit

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `[-]hh:mm:ss[.ffffff]`."""
        if not is_time_of_day(data, start, end):
            self._unfit.put(out)
            return
        out.append(u8(QUOTE))
        if two(data, start) == _DAY_HOURS:
            out.write(b"00:00:00")
        else:
            put_slice(out, data, start, _significant_end(data, start, end))
        _put_end(out)


def _put_date(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    if data[start] == _ZERO and data[start + 1] == _ZERO:
        put_int(out, year_of(data, start))
        put_slice(out, data, start + _YEAR_LENGTH, end)
    else:
        put_slice(out, data, start, end)


def _significant_end(data: bytes, clock: i64, end: i64) -> i64:
    """Return the end of `hh:mm:ss[.ffffff]` without zeros at the end of the fraction."""
    while end > clock + _CLOCK_LENGTH:
        last: i64 = data[end - 1]
        if last not in (_ZERO, _POINT):
            break
        end -= 1
    return end


def _put_end(out: BytesWriter) -> None:
    out.append(u8(_Z))
    out.append(u8(QUOTE))
