"""A client that reads the SQL in another character set finds the same ends of names and strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.binlog.header import EventType
from connector.binlog.sql_text import ansi_identifier
from connector.foundation.errors import ConnectorError
from connector.logs import undo_errors
from connector.logs.flashback.sql_literals import string_literal
from connector.logs.flashback.undo import SESSION
from connector.reader import open_binlog
from tests.binlog.files.log_files import COLUMNS, NAMED, LogFile
from tests.binlog.log_bytes import table_map
from tests.foundation.errors.texts import text_of
from tests.logs.flashback.undone import sql_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# First and second bytes of characters; gb18030 also has some of four bytes.
# https://dev.mysql.com/doc/refman/8.4/en/charset-asian-sets.html
_LEADS: Final = {
    "gbk": (range(0x81, 0xFF),),
    "gb18030": (range(0x81, 0xFF),),
    "big5": (range(0xA1, 0xFA),),
    "sjis": (range(0x81, 0xA0), range(0xE0, 0xFD)),
    "cp932": (range(0x81, 0xA0), range(0xE0, 0xFD)),
}
_SECONDS: Final = {
    "gbk": (range(0x40, 0x7F), range(0x80, 0xFF)),
    "gb18030": (range(0x40, 0x7F), range(0x80, 0xFF)),
    "big5": (range(0x40, 0x7F), range(0xA1, 0xFF)),
    "sjis": (range(0x40, 0x7F), range(0x80, 0xFD)),
    "cp932": (range(0x40, 0x7F), range(0x80, 0xFD)),
}
# Their last bytes are the first ones of characters in the sets above.
_HOSTILE: Final = "誠表ソ能é\\'\"`;\n a-"
texts = st.text(st.sampled_from(_HOSTILE), max_size=12)


def characters(sql: bytes, charset: str) -> Iterator[bytes]:
    """Yield the characters as a client of the character set takes them; others are bytes."""
    at = 0
    while at < len(sql):
        length = 1
        if any(sql[at] in part for part in _LEADS[charset]) and at + 1 < len(sql):
            if any(sql[at + 1] in part for part in _SECONDS[charset]):
                length = 2
            elif charset == "gb18030" and sql[at + 1 : at + 2].isdigit() and at + 3 < len(sql):
                length = 4
        yield sql[at : at + length]
        at += length


def statements(sql: bytes, charset: str) -> list[bytes]:
    """Return the pieces that the client sends, as `mysql` takes them apart."""
    found, piece, quote, is_escaped = [], b"", b"", False
    for character in characters(sql, charset):
        piece += character
        if is_escaped:
            is_escaped = False
        elif quote:
            is_escaped = character == b"\\" and quote != b"`"
            if character == quote:
                quote = b""
        elif character in (b"'", b'"', b"`"):
            quote = character
        elif character == b";":
            found.append(piece)
            piece = b""
    return [*found, *([piece] if piece.strip() else [])]


def is_quotable(name: str) -> bool:
    try:
        ansi_identifier(name)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("charset", _LEADS)
@settings(max_examples=60, deadline=None)
@given(name=texts, value=texts, other=texts)
def test_a_statement_ends_where_it_does(charset: str, name: str, value: str, other: str) -> None:
    if not (is_quotable(name) and is_quotable(other)):
        return
    first = (
        f"UPDATE {ansi_identifier(name)} SET {ansi_identifier(other)} = {string_literal(value)};"
    )
    second = f"DELETE FROM {ansi_identifier(other)} WHERE a = {string_literal(name)};"
    sql = f"{first}\n{second}\n".encode()
    assert [each.strip().decode() for each in statements(sql, charset)] == [first, second]


@pytest.mark.parametrize("charset", ["gbk", "gb18030", "cp932", "sjis"])
def test_text_that_breaks_out_of_quotes_is_bytes(charset: str) -> None:
    broken = "'誠\\'; CREATE TABLE pwned (a INT); -- ';"
    assert len(statements(broken.encode(), "gbk")) > 1
    value = string_literal("誠'; CREATE TABLE pwned (a INT); -- ")
    assert value.startswith("_utf8mb4 X'e8aaa0273b")
    assert len(statements(f"{value};".encode(), charset)) == 1


def test_names_are_in_double_quotes_where_a_backtick_could_be_half_a_character() -> None:
    assert len(statements("DELETE FROM `表`; SELECT `a`;".encode(), "gbk")) == 1
    assert ansi_identifier('表"') == '"表"""'
    assert ansi_identifier('a"`') == '`a"```'
    assert any("ANSI_QUOTES" in statement for statement in SESSION)


@pytest.mark.parametrize("name", ["\\é", "\\表`x"])
def test_a_name_that_no_quotes_hold_is_refused(name: str) -> None:
    assert not is_quotable(name)
    body = table_map(COLUMNS, NAMED).replace(b"\x01t\x00", _counted(name.encode()) + b"\0")
    log = LogFile()
    log.query("BEGIN")
    log.add(EventType.TABLE_MAP_EVENT, body)
    log.insert((1, "x"))
    with open_binlog(bytes(log.data), name="binlog.000001") as reader:
        events = list(reader)
    with pytest.raises(ConnectorError) as caught:
        sql_of(events)
    assert text_of(undo_errors.NAME, table=f"db.{name}", name=name) in caught.value.text


def _counted(name: bytes) -> bytes:
    return bytes([len(name)]) + name
