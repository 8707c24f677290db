"""The grammar of ALTER TABLE: clauses, column definitions, table options.

::

    ALTER [ONLINE] [IGNORE] TABLE [IF EXISTS] [database.]name [WAIT n | NOWAIT]
        clause [, clause]… [PARTITION BY … | REMOVE PARTITIONING]

Several table options may follow each other without commas; they are one clause here.

Only column definitions whose effect is known are read. Generated columns, keys, references and
types without a description in schema records are not. Of the table options, only those are listed
that describe the table or its storage, and leave each value as it is.

https://dev.mysql.com/doc/refman/8.4/en/alter-table.html
https://dev.mysql.com/doc/refman/8.4/en/create-table.html
https://mariadb.com/kb/en/alter-table/
"""

from itertools import pairwise
from typing import Final, final

from connector.binlog.sql_text import Token, open_parentheses

# After these words, before PARTITION, the rest of the statement belongs to the clause.
_OF_PARTITIONS: Final = ("ADD", "ANALYZE", "CHECK", "COALESCE", "OPTIMIZE", "REBUILD", "REORGANIZE")
_PARTITIONING: Final = "PARTITION"


def alter_clauses(tokens: list[Token]) -> list[list[Token]]:
    """Return the clauses of the statement `tokens`, each with at least one token.

    PARTITION BY and REMOVE PARTITIONING are the last clause.
    """
    body = tokens[first_clause(tokens) :]
    end = _partitioning(body)
    if len(body) > 1 and body[0].is_word(*_OF_PARTITIONS) and body[1].is_word(_PARTITIONING):
        return [body]
    clauses = split(body[:end])
    if end < len(body):
        clauses.append(body[end:])
    return clauses


def first_clause(tokens: list[Token]) -> int:
    """Return the index of the first token after the name of the table, and after WAIT."""
    end = len(tokens)
    index = next((n for n, token in enumerate(tokens, 1) if token.is_word("TABLE", "TABLES")), end)
    while index < end and tokens[index].is_word("IF", "EXISTS"):
        index += 1
    index += 1
    while index < end and tokens[index].text == ".":
        index += 2
    if index < end and tokens[index].is_word("NOWAIT"):
        index += 1
    elif index < end and tokens[index].is_word("WAIT"):
        index += 2
    return index


def split(tokens: list[Token]) -> list[list[Token]]:
    """Return the parts of `tokens` between commas outside parentheses, without empty ones."""
    parts: list[list[Token]] = [[]]
    for token, depth in zip(tokens, open_parentheses(tokens), strict=True):
        if depth == 0 and token.kind == "mark" and token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def after_parentheses(tokens: list[Token], start: int) -> int:
    """Return the index after the parentheses that open at `start`; `start` if none do."""
    for index, depth in enumerate(open_parentheses(tokens[start:]), start):
        if depth == 0:
            return index + 1 if index > start else start
    return len(tokens)


def skip_words(tokens: list[Token], start: int, *words: str) -> int:
    """Return the index of the first token from `start` on that is none of `words`."""
    while start < len(tokens) and tokens[start].is_word(*words):
        start += 1
    return start


def clause_name(clause: list[Token]) -> str:
    """Return the clause's words up to the first name, such as MODIFY COLUMN price."""
    words: list[str] = []
    for token in clause:
        if token.kind == "word" and token.text.upper() in _KEYWORDS:
            words.append(token.text.upper())
        elif token.is_name and words and words[-1] in _NAMED:
            words.append(token.name)
            break
        else:
            break
    return " ".join(words) or clause[0].text.upper()


# After these a name can follow.
_NAMED: Final = frozenset(
    {"COLUMN", "MODIFY", "CHANGE", "ADD", "DROP", "ALTER", "INDEX", "KEY", "EXISTS", "RENAME"}
    | {"CONSTRAINT"}
)
_KEYWORDS: Final = _NAMED | frozenset(
    {"IF", "NOT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONVERT", "TO", "CHARACTER", "SET"}
    | {"PARTITION", "SYSTEM", "VERSIONING", "PERIOD", "FOR", "ENGINE", "REPAIR", "BY", "REMOVE"}
    | {"PARTITIONING", "FORCE", "ORDER", "WITH", "REORGANIZE", "COALESCE", "REBUILD", "OPTIMIZE"}
    | {"COMMENT", "ALGORITHM", "LOCK", "DEFAULT", "CHARSET", "COLLATE", "ENABLE", "DISABLE", "KEYS"}
)


def _partitioning(tokens: list[Token]) -> int:
    """Return where PARTITION BY or REMOVE PARTITIONING begins; the end if nowhere."""
    depths = open_parentheses(tokens)
    for index, (token, following) in enumerate(pairwise(tokens)):
        if depths[index] == 0 and (
            (token.is_word(_PARTITIONING) and following.is_word("BY"))
            or (token.is_word("REMOVE") and following.is_word("PARTITIONING"))
        ):
            return index
    return len(tokens)


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
        words: list[str] = []
        for token in self.arguments:
            text = token.text[1:-1]
            plain = token.kind == "string" and token.text[0] in "'\""
            if not plain or not text.isascii() or "\\" in text or token.text[0] in text:
                return None
            words.append(text)
        return words


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


_OPTIONS: Final = (
    "ALGORITHM", "AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHECKSUM", "COMMENT",
    "COMPRESSION", "DELAY_KEY_WRITE", "ENCRYPTED", "ENCRYPTION", "ENCRYPTION_KEY_ID",
    "ENGINE_ATTRIBUTE", "INSERT_METHOD", "KEY_BLOCK_SIZE", "LOCK", "MAX_ROWS", "MIN_ROWS",
    "PACK_KEYS", "PAGE_CHECKSUM", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "ROW_FORMAT",
    "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "TRANSACTIONAL",
)  # fmt: skip
# Only the default of columns that are added later.
_DEFAULTS: Final = ("CHARSET", "COLLATE")
_ENGINE: Final = "ENGINE"
_KEPT_ENGINE: Final = "InnoDB"


def is_descriptive_option(clause: list[Token]) -> bool:
    """Return whether the clause is a row of such options, with or without `=`."""
    at = 0
    while at < len(clause):
        if clause[at].is_word("DEFAULT"):
            at += 1
        at = _after_option(clause, at)
        if not at:
            return False
    return bool(clause)


def _after_option(clause: list[Token], at: int) -> int:
    """Return where the option at `at` ends; 0 if it is not one of these."""
    if at >= len(clause):
        return 0
    name = clause[at]
    at += 1
    if name.is_word("CHARACTER") and at < len(clause) and clause[at].is_word("SET"):
        at += 1
    elif not name.is_word(_ENGINE, *_DEFAULTS, *_OPTIONS):
        return 0
    if at < len(clause) and clause[at].text == "=":
        at += 1
    if at >= len(clause) or clause[at].kind == "mark":
        return 0
    if name.is_word(_ENGINE) and clause[at].name.upper() != _KEPT_ENGINE.upper():
        return 0
    return at + 1
