"""Values between two others of a column, as far as their bytes say what lies between.

They are guesses, which only have to be good for speed: the server compares keys, and nobody else.
A text is in the character set of its column, or there is no such guess: to compare characters that
the set lacks, the server would have to convert the column of each row.
"""

import re
import struct
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from decimal import Context, Decimal
from typing import Final

from connector.binlog.character_sets import decode_leniently, encode_exactly
from connector.foundation.contract import INTEGER_TYPES
from connector.stream.source.selected_table import KeyColumn

_BYTES: Final = frozenset({"binary", "varbinary", "bit"})


def guesses(column: KeyColumn, charset: str, first: bytes, last: bytes) -> Iterator[str]:
    """Yield literals between two cells of a column, the best one first; none of unknown types.

    `charset` is MySQL's name of the character set of a text.
    """
    if column.packed_type:
        middle = _between_bytes(first, last)
        yield column.literal(middle + first[len(middle) :])
        if column.packed_type == "UUID":
            yield column.literal(_between_uuids(first, last))
    elif column.type in _BYTES:
        yield column.literal(_between_bytes(first, last))
    elif column.type in ("char", "varchar"):
        both = (decode_leniently(cell, charset) for cell in (first, last))
        for text in dict.fromkeys(_between_texts(*both)):
            cell = encode_exactly(text, charset)
            if cell is not None:
                yield column.literal(cell)
    elif column.type in ("float", "double"):
        for number in _between_floats(float(first), float(last)):
            yield column.literal(repr(number).encode())
    elif (between := _BETWEEN.get(column.type)) is not None:
        yield column.literal(between(first.decode("ascii"), last.decode("ascii")).encode())


def _between_integers(first: str, last: str) -> str:
    return str((int(first) + int(last) + 1) // 2)


# A DECIMAL has up to 65 digits.
_EXACT: Final = Context(prec=80)


def _between_decimals(first: str, last: str) -> str:
    low, high = Decimal(first), Decimal(last)
    middle = _EXACT.divide(_EXACT.add(low, high), Decimal(2))
    return format(middle, f".{max(0, -int(low.as_tuple().exponent))}f")


def _between_floats(low: float, high: float) -> Iterator[float]:
    yield low / 2 + high / 2
    # Where their sizes differ much, the middle of these: doubles are in the order of their bits.
    yield _double((_number(low) + _number(high)) // 2)


_SIGN: Final = 1 << 63


def _number(value: float) -> int:
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    return int(_SIGN - bits if bits & _SIGN else bits)


def _double(number: int) -> float:
    bits = _SIGN - number if number < 0 else number
    (value,) = struct.unpack(">d", struct.pack(">Q", bits))
    return float(value)


def _between_days(first: str, last: str) -> str:
    low, high = _moment(first), _moment(last)
    return (low + (high - low) / 2).date().isoformat()


_WHOLE_SECONDS: Final = len("2026-01-01 12:00:00")


def _between_moments(first: str, last: str) -> str:
    low, high = _moment(first), _moment(last)
    middle = (low + (high - low) / 2).isoformat(" ", "microseconds")
    # With as many digits of the second as the column has.
    return middle[: max(_WHOLE_SECONDS, len(first))]


def _moment(text: str) -> datetime:
    """Return a date, maybe with a time; a near one if no calendar has it."""
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    year, month, day = (max(1, int(part)) for part in text[:10].split("-"))
    return datetime(year, month, min(day, 28))  # noqa: DTZ001 - the source's


_TIME: Final = re.compile(r"(-?)([0-9]+):([0-9]+):([0-9]+)(?:\.([0-9]+))?")
_SECOND_US: Final = 1_000_000


def _between_times(first: str, last: str) -> str:
    middle = (_microseconds(first) + _microseconds(last)) // 2
    seconds, us = divmod(abs(middle), _SECOND_US)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    sign = "-" if middle < 0 else ""
    digits = len(first.partition(".")[2])
    fraction = f".{us:06}"[: digits + 1] if digits else ""
    return f"{sign}{hour:02}:{minute:02}:{second:02}{fraction}"


def _microseconds(text: str) -> int:
    found = _TIME.fullmatch(text)
    assert found is not None, text
    sign, hours, minutes, seconds, fraction = found.groups(default="")
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    us = whole * _SECOND_US + int(fraction.ljust(6, "0"))
    return -us if sign else us


_BETWEEN: Final[dict[str, Callable[[str, str], str]]] = {
    **dict.fromkeys((*INTEGER_TYPES, "year", "enum", "set"), _between_integers),
    "decimal": _between_decimals,
    "date": _between_days,
    "datetime": _between_moments,
    "timestamp": _between_moments,
    "time": _between_times,
}
# Bytes after the first difference that count.
_COUNTED: Final = 8
# The parts of a UUID as MariaDB compares them, except for the versions from 6 on.
_UUID_PARTS: Final = (slice(10, 16), slice(8, 10), slice(6, 8), slice(4, 6), slice(0, 4))
_SURROGATES: Final = range(0xD800, 0xE000)


def _between_bytes(first: bytes, last: bytes) -> bytes:
    place = _difference(first, last)
    parts = (each[place : place + _COUNTED].ljust(_COUNTED, b"\0") for each in (first, last))
    low, high = (int.from_bytes(part, "big") for part in parts)
    return first[:place] + ((low + high + 1) // 2).to_bytes(_COUNTED, "big")[: len(last) - place]


def _between_uuids(first: bytes, last: bytes) -> bytes:
    place = next(part for part in _UUID_PARTS if first[part] != last[part])
    low, high = (int.from_bytes(each[place], "big") for each in (first, last))
    middle = ((low + high + 1) // 2).to_bytes(place.stop - place.start, "big")
    return first[: place.start] + middle + first[place.stop :]


def _between_texts(first: str, last: str) -> Iterator[str]:
    """Yield texts between two others, as far as their characters say that."""
    # Some collations compare code points, others first the letters without case and accents.
    for low, high in ((first, last), (_letters(first), _letters(last))):
        place = _difference(low, high)
        yield high[:place] + _between_characters(low[place:] or " ", high[place:] or " ")
    # Both begin alike: what follows decides.
    place = _difference(first, last)
    for character in "8Tm":
        yield first[: place + 1] + character


def _between_characters(first: str, last: str) -> str:
    """Return a character between those with which two texts begin."""
    middle = (ord(first[0]) + ord(last[0]) + 1) // 2
    # Surrogates are no characters.
    return chr(_SURROGATES.stop if middle in _SURROGATES else middle)


def _letters(text: str) -> str:
    return "".join(unicodedata.normalize("NFD", character)[0] for character in text).upper()


def _difference(first: bytes | str, last: bytes | str) -> int:
    """Return the index of the first byte, or character, that differs."""
    pairs = enumerate(zip(first, last, strict=False))
    differing = (place for place, (one, other) in pairs if one != other)
    return next(differing, min(len(first), len(last)))
