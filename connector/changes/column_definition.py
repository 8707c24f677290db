"""The definition of a column in ALTER TABLE: its type, and what follows the type.

Only definitions whose effect is known are read. Generated columns, keys, references and types
without a description in schema records are not.

https://dev.mysql.com/doc/refman/8.4/en/create-table.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.alter_table import after_parentheses

if TYPE_CHECKING:
    from connector.changes.tokens import Token

# Words of SQL, and the type of a schema record.
_TYPES: Final[dict[str, str]] = {
    word: kind
    for kind, words in {
        "tinyint": "TINYINT BOOL BOOLEAN INT1",
        "smallint": "SMALLINT INT2",
        "mediumint": "MEDIUMINT INT3 MIDDLEINT",
        "int": "INT INTEGER INT4",
        "bigint": "BIGINT INT8",
        "decimal": "DECIMAL DEC NUMERIC FIXED",
        "float": "FLOAT FLOAT4",
        "double": "DOUBLE FLOAT8 REAL",
        "bit": "BIT",
        "char": "CHAR CHARACTER NCHAR",
        "varchar": "VARCHAR NVARCHAR",
        "text": "TINYTEXT TEXT MEDIUMTEXT LONGTEXT",
        "binary": "BINARY",
        "varbinary": "VARBINARY",
        "blob": "TINYBLOB BLOB MEDIUMBLOB LONGBLOB",
        "enum": "ENUM",
        "set": "SET",
        "date": "DATE",
        "time": "TIME",
        "datetime": "DATETIME",
        "timestamp": "TIMESTAMP",
        "year": "YEAR",
        "json": "JSON",
        "geometry": "GEOMETRY POINT LINESTRING POLYGON",
        "vector": "VECTOR",
    }.items()
    for word in words.split()
}
_NOW: Final = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
# Attributes of one word, and of a word and its value, that change no value.
_PLAIN: Final = ("SIGNED", "VISIBLE", "INVISIBLE", "FIRST", "COMPRESSED")
_WITH_VALUE: Final = ("COMMENT", "AFTER", "COLUMN_FORMAT", "STORAGE", "SRID")
_CHARSET: Final = ("ASCII", "UNICODE", "BYTE", "BINARY")
_CHARSET_NAME: Final = ("CHARSET", "COLLATE")


@final
class ColumnDefinition:
    """A column as a clause describes it."""

    __slots__ = (
        "arguments",
        "auto_increment",
        "checked",
        "default",
        "kind",
        "named_charset",
        "not_null",
        "null",
        "unsigned",
    )

    def __init__(self, kind: str) -> None:
        """Describe a column of the type `kind` of schema records."""
        self.kind = kind
        # What is between the parentheses of the type, without commas.
        self.arguments: list[Token] = []
        # The tokens after DEFAULT; empty without one.
        self.default: list[Token] = []
        self.unsigned = False
        self.null = False
        self.not_null = False
        self.auto_increment = False
        self.named_charset = False
        self.checked = False

    @property
    def numbers(self) -> list[int] | None:
        """The numbers in the parentheses of the type; None if there is something else."""
        if not all(token.text.isdecimal() for token in self.arguments):
            return None
        return [int(token.text) for token in self.arguments]

    @property
    def labels(self) -> list[str] | None:
        """The labels of ENUM and SET; None if one is not plain ASCII."""
        found: list[str] = []
        for token in self.arguments:
            text = token.text[1:-1]
            plain = token.kind == "string" and token.text[0] in "'\""
            if not plain or not text.isascii() or "\\" in text or token.text[0] in text:
                return None
            found.append(text)
        return found


def read_definition(tokens: list[Token]) -> ColumnDefinition | None:
    """Read the tokens after a column's name; None if their effect is not known."""
    if not tokens or tokens[0].kind != "word":
        return None
    kind = _TYPES.get(tokens[0].text.upper())
    if kind is None:
        return None
    definition = ColumnDefinition(kind)
    at = 1
    if kind == "double" and len(tokens) > 1 and tokens[1].is_word("PRECISION"):
        at = 2
    end = after_parentheses(tokens, at)
    definition.arguments = [token for token in tokens[at + 1 : end - 1] if token.text != ","]
    at = end
    while at < len(tokens):
        following = _attribute(definition, tokens, at)
        if following == at:
            return None
        at = following
    return definition


def _attribute(definition: ColumnDefinition, tokens: list[Token], at: int) -> int:
    """Read the attribute at `at`; return where the next one begins, `at` if it is not known."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if token.is_word("UNSIGNED", "ZEROFILL"):
        definition.unsigned = True
    elif token.is_word("NULL"):
        definition.null = True
    elif token.is_word("AUTO_INCREMENT"):
        definition.auto_increment = True
    elif token.is_word(*_CHARSET):
        definition.named_charset = True
    elif token.is_word("UNIQUE"):
        return at + 2 if following is not None and following.is_word("KEY") else at + 1
    elif not token.is_word(*_PLAIN):
        return at if following is None else _longer(definition, tokens, at, following)
    return at + 1


def _longer(definition: ColumnDefinition, tokens: list[Token], at: int, following: Token) -> int:
    """Read an attribute of at least two tokens."""
    token = tokens[at]
    if token.is_word("NOT") and following.is_word("NULL"):
        definition.not_null = True
    elif token.is_word(*_CHARSET_NAME):
        definition.named_charset = True
    elif token.is_word("CHARACTER") and following.is_word("SET"):
        definition.named_charset = True
        return at + 3
    elif token.is_word("DEFAULT"):
        end = _after_value(tokens, at + 1)
        definition.default = tokens[at + 1 : end]
        return end
    elif token.is_word("ON") and following.is_word("UPDATE"):
        if at + 2 < len(tokens) and tokens[at + 2].is_word(*_NOW):
            return after_parentheses(tokens, at + 3)
        return at
    elif token.is_word("CHECK") and following.text == "(":
        definition.checked = True
        return after_parentheses(tokens, at + 1)
    elif not token.is_word(*_WITH_VALUE):
        return at
    return at + 2


def _after_value(tokens: list[Token], start: int) -> int:
    """Return where the value of a default ends that begins at `start`."""
    at = start
    if at < len(tokens) and tokens[at].text in ("+", "-"):
        at += 1
    # A character set introducer.
    if at + 1 < len(tokens) and tokens[at].text.startswith("_") and tokens[at + 1].kind == "string":
        at += 1
    if at < len(tokens) and tokens[at].text == "(":
        return after_parentheses(tokens, at)
    return after_parentheses(tokens, at + 1)
