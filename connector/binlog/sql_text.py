"""SQL as text: the tokens and table names of a statement, and quoted names and literals.

A statement is split into words, identifiers, strings and marks, as far as its effects on tables
depend on them.

Values become text in single quotes, copied word by word as far as they need no escape. For people,
control characters and bytes that are not text of a character set are written in hexadecimal, such
as 1b after a backslash and x. For a server, only a few characters have an escape.

https://dev.mysql.com/doc/refman/8.4/en/language-structure.html
https://dev.mysql.com/doc/refman/8.4/en/string-literals.html
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.text_writer import character_length


def quoted_identifier(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def ansi_identifier(name: str) -> str:
    """Return a name in quotes that a client of any character set finds, under ANSI_QUOTES.

    In gbk, big5, cp932, sjis and gb18030, a backtick may be the second byte of a character. A
    double quote never is, but clients take a backslash before it for an escape. Raises ValueError
    for the few names that neither of the two can quote.
    """
    if name.isascii():
        return quoted_identifier(name)
    if "\\" not in name:
        doubled = name.replace('"', '""')
        return f'"{doubled}"'
    if any(not before.isascii() for before, after in pairwise(f"{name}`") if after == "`"):
        raise ValueError(name)
    return quoted_identifier(name)


def quoted_name(database: str, table: str) -> str:
    """Return the quoted name of a table, with that of its database."""
    return f"{quoted_identifier(database)}.{quoted_identifier(table)}"


def sql_text(value: str) -> str:
    """Return a string literal with the same meaning in every character set of the session."""
    return f"_utf8mb4 X'{value.encode().hex()}'"


QUOTE: Final = 0x27
_BACKSLASH: Final = 0x5C
_CONTROLS_END: Final = 0x20
_DELETE: Final = 0x7F
_ASCII_END: Final = 0x80

ESCAPES: Final[dict[int, str]] = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}
# By byte, as it is written.
_BYTE_TEXTS: Final = [ESCAPES.get(code, chr(code)).encode() for code in range(0x80)] + [
    f"\\x{code:02x}".encode() for code in range(0x80, 0x100)
]

# What ends a string for a server, or what its lexer replaces.
SQL_ESCAPES: Final[dict[int, str]] = {
    0x00: "\\0",
    0x1A: "\\Z",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}
SQL_TEXTS: Final = [SQL_ESCAPES.get(code, chr(code)).encode() for code in range(0x80)]

# The same in each byte of a word. Compiled, a constant of more than 62 bits would be an object.
_WORD: Final = 8
_ONES: Final = 0x0101_0101_0101_0101
_NO_CONTROLS: Final = 0x2020_2020_2020_2020  # one of the bits 0x20 and 0x40
_QUOTES: Final = 0x2727_2727_2727_2727
_HALF_BACKSLASHES: Final = 0x2E2E_2E2E_2E2E_2E2E
_HALF_DELETES: Final = 0x3FBF_BFBF_BFBF_BFBF
_LOWER_HIGH_BITS: Final = 0x0080_8080_8080_8080  # without the sign


def quoted_text(value: str) -> str:
    """Return text in quotes."""
    return f"'{value.translate(ESCAPES)}'"


def put_text(
    out: BytesWriter, data: bytes, start: i64, end: i64, texts: list[bytes] = _BYTE_TEXTS
) -> bool:
    """Append `data[start:end]` escaped, without quotes; return whether it is UTF-8.

    If it is not, a part of it may have been appended.
    """
    at = start
    while at < end:
        while at + _WORD <= end:
            word = read_i64_le(data, at)
            if not _is_plain(word):
                break
            write_i64_le(out, word)
            at += _WORD
        # The rest, or everything up to the byte that was found.
        while at < end:
            byte: i64 = data[at]
            if byte >= _ASCII_END:
                length = character_length(data, at, end)
                if not length:
                    return False
                after = at + length
                while at < after:
                    byte = data[at]
                    out.append(u8(byte))
                    at += 1
                if at < end and data[at] < _ASCII_END:
                    break
            elif _is_escaped(byte):
                out.write(texts[byte])
                at += 1
                break
            else:
                out.append(u8(byte))
                at += 1
    return True


def put_bytes(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    r"""Append `data[start:end]` escaped, without quotes; bytes that are not ASCII as `\xNN`."""
    at = start
    while at < end:
        while at + _WORD <= end:
            word = read_i64_le(data, at)
            if not _is_plain(word):
                break
            write_i64_le(out, word)
            at += _WORD
        stop = min(at + _WORD, end)
        while at < stop:
            byte: i64 = data[at]
            if byte >= _ASCII_END or _is_escaped(byte):
                out.write(_BYTE_TEXTS[byte])
            else:
                out.append(u8(byte))
            at += 1


def _is_escaped(byte: i64) -> bool:
    """Return whether an ASCII character may have an escape."""
    return byte < _CONTROLS_END or byte in (QUOTE, _BACKSLASH, _DELETE)


def _is_plain(word: i64) -> bool:
    """Return whether eight bytes are ASCII without an escape; all are tested together."""
    if (word | word >> 1) & _NO_CONTROLS != _NO_CONTROLS:
        return False
    # A byte that becomes 0 borrows from its highest bit, which is 0 in ASCII.
    quotes = (word ^ _QUOTES) - _ONES
    backslashes = (word ^ i64(_HALF_BACKSLASHES) << 1) - _ONES
    deletes = (word ^ (i64(_HALF_DELETES) << 1 | 1)) - _ONES
    high_bits = word | quotes | backslashes | deletes
    return high_bits >= 0 and not high_bits & _LOWER_HIGH_BITS


class SessionSyntax(NamedTuple):
    """How the settings of a session split a statement into tokens; the defaults are a server's."""

    backslash_escapes: bool = True  # in strings; sql_mode NO_BACKSLASH_ESCAPES
    ansi_quotes: bool = False  # "quoted" is a name; sql_mode ANSI_QUOTES
    no_break_space: bool = False  # U+00A0 is white space, as in sets of one byte a character


# Version comments (`/*! … */`, MariaDB `/*M! … */`) are code; their markers are dropped and their
# content stays. `#` and `-- ` comments and plain block comments are dropped whole. What has no end
# takes the rest, so that no text is searched more than once. Possessive, because a repeat that
# can go back keeps a frame for each character.
_PATTERN: Final = r"""
    (?P<space>[SPACES]++|\#[^\n]*+|--(?=[\0-\x20\x7fSPACES]|\Z)[^\n]*+|/\*M?![0-9]*+|\*/
             |/\*(?:[^*]++|\*(?!/))*+(?:\*/)?)
  | (?P<quoted>`(?:[^`]++|``)*+(?:`|\Z))
  | (?P<string>[xXbB]?'(?:STRING|'')*+(?:'|\\?\Z)|"(?:NAME|"")*+(?:"|\\?\Z))
  | (?P<word>[0-9]+\.[0-9]+(?![A-Za-z_$])|[A-Za-z0-9_$@LETTERS]++)
  | (?P<mark>.)
    """


@dataclass(slots=True)
class Token:
    """One word, identifier, string or mark of a statement."""

    text: str  # as written; identifiers without their backticks
    kind: str  # "word", "quoted", "string" or "mark"

    @property
    def is_name(self) -> bool:
        """Whether this can name a table: a word, `quoted`, or "quoted" under ANSI_QUOTES."""
        return self.kind in ("word", "quoted") or self.text.startswith('"')

    @property
    def name(self) -> str:
        """The identifier without quotes of any kind."""
        if self.kind == "string":
            return self.text[1:-1].replace('""', '"')
        return self.text

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of the unquoted `words` (upper case)."""
        return self.kind == "word" and self.text.upper() in words


@cache
def _token(syntax: SessionSyntax) -> re.Pattern[str]:
    """Return what finds tokens; to compile it takes longer than to read a short log."""
    # In Unicode, more characters are white space, but to a server they are letters.
    spaces, letters = r"\ \t\n\v\f\r", r"\u0080-\U0010ffff"
    if syntax.no_break_space:
        spaces, letters = rf"{spaces}\xa0", r"\u0080-\u009f\u00a1-\U0010ffff"
    string = r"[^'\\]++|\\." if syntax.backslash_escapes else "[^']++"
    name = r'[^"\\]++|\\.' if syntax.backslash_escapes and not syntax.ansi_quotes else '[^"]++'
    pattern = _PATTERN
    for placeholder, characters in (
        ("SPACES", spaces), ("LETTERS", letters), ("STRING", string), ("NAME", name)
    ):  # fmt: skip
        pattern = pattern.replace(placeholder, characters)
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


DEFAULT_SYNTAX: Final = SessionSyntax()


def tokenize(query: str, syntax: SessionSyntax = DEFAULT_SYNTAX) -> Iterator[Token]:
    """Yield the tokens of `query` without comments and white space, found one by one.

    A `database.table` without quotes becomes three tokens, like a quoted one.
    """
    for match in _token(syntax).finditer(query):
        kind = match.lastgroup or "mark"
        text = match.group()
        if kind == "space":
            continue
        if kind == "quoted":
            text = text[1:-1].replace("``", "`")
        yield Token(text, kind)


def open_parentheses(tokens: list[Token]) -> list[int]:
    """Return for each token how many parentheses are open after it."""
    depth = 0
    depths: list[int] = []
    for token in tokens:
        if token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        depths.append(depth)
    return depths


# Database and table.
TableName = tuple[str, str]

# The most that one name of a table takes: IF NOT EXISTS database . table
NAME_TOKENS: Final = 6


def without_wait_options(tokens: list[Token]) -> list[Token]:
    """Return RENAME TABLE without MariaDB's `WAIT n` and `NOWAIT` after names."""
    kept: list[Token] = []
    for token in tokens:
        if kept and kept[-1].is_word("WAIT") and token.text.isdigit():
            kept.pop()
        elif not (token.is_word("NOWAIT") and kept and kept[-1].is_name):
            kept.append(token)
    return kept


def _renames(token: Token, following: Token) -> bool:
    """Return whether ALTER TABLE continues with RENAME [TO|AS] name, not COLUMN, INDEX or KEY."""
    return token.is_word("RENAME") and not following.is_word("COLUMN", "INDEX", "KEY")


def alter_table_targets(tokens: list[Token], *, by_rename: bool = False) -> list[TableName]:
    """Return the tables in clauses of ALTER TABLE: new names, and tables that partitions become.

    With `by_rename`, only new names.
    """
    names: list[TableName] = []
    for index, (token, following) in enumerate(pairwise(tokens), 1):
        start = index
        if _renames(token, following):
            while start < len(tokens) and (
                tokens[start].is_word("TO", "AS") or tokens[start].text == "="
            ):
                start += 1
        elif by_rename or not token.is_word("TABLE"):
            continue
        names += table_names(tokens[start : start + NAME_TOKENS])[:1]
    return names


def table_names(tokens: Iterable[Token]) -> list[TableName]:
    """Return the names in `[IF [NOT] EXISTS] name[.name] {, | TO} …`."""
    names: list[TableName] = []
    parts: list[str] = []
    expects_name = True
    for token in tokens:
        if token.is_word("IF", "NOT", "EXISTS") and not parts:
            continue
        if token.kind == "mark" and token.text == ".":
            expects_name = True
        elif (token.kind == "mark" and token.text == ",") or token.is_word("TO"):
            _take_name(names, parts)
            expects_name = True
        elif expects_name and token.is_name:
            parts.append(token.name)
            expects_name = False
        else:
            break
    _take_name(names, parts)
    return names


def _take_name(names: list[TableName], parts: list[str]) -> None:
    if parts:
        names.append((parts[-2] if len(parts) > 1 else "", parts[-1]))
        parts.clear()
