"""Bytes in one of MySQL's character sets become text, as the server's SELECT converts them.

Most logs hold UTF-8 alone. The tables of the other sets take 8 ms to make, so they are imported
when one of these sets occurs.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from collections.abc import Callable

# MySQL's name to Python's, of sets in which no code lacks a character.
_CODECS: dict[str, str] = {
    # Of labels of ENUM and SET; a binary column's values are bytes.
    "binary": "ascii",
    "utf8mb3": "utf_8",
    "utf8mb4": "utf_8",
}


def character_decoder(charset: str, *, exact: bool = False) -> Callable[[bytes], str]:
    """Return the function that decodes one character set, by MySQL's name.

    The function raises DecodeError for bytes outside of the character set. With `exact` it also
    raises for a code without a character, so that no two values have the same text.
    """
    codec = _CODECS.get(charset)
    if codec is None:
        from connector.binlog.charsets.other_sets import (  # noqa: PLC0415  # takes long to import
            other_decoder,
        )

        return other_decoder(charset, exact=exact)

    def decode(data: bytes) -> str:
        try:
            return data.decode(codec)
        except UnicodeDecodeError as error:
            raise DecodeError(
                log_values.NOT_OF_CHARSET, offset=error.start, charset=charset
            ) from None

    return decode


def decode_leniently(data: bytes, charset: str) -> str:
    r"""Return `data` as text; each byte outside of the character set becomes `\xNN`."""
    if charset in _CODECS:
        # Text in the set `binary` is mostly UTF-8.
        return data.decode("utf_8", "backslashreplace")
    from connector.binlog.charsets.other_sets import (  # noqa: PLC0415  # takes long to import
        decode_other_leniently,
    )

    return decode_other_leniently(data, charset)
