"""What the text of a statement says, and the statements whose first words say it all.

These are CALL, LOAD DATA, SET, DO, XA, DDL, and the statements of transactions. The SQL parser does
not know them. Their expressions become a statement that it knows. Before that, a text is its words,
each with its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from sqlglot.dialects.mysql import MySQL
from sqlglot.tokenizer_core import Token, TokenType

from connector.foundation.errors import ConfigError
from connector.foundation.server_version import ServerVersion
from connector.rules import rules_errors
from connector.rules.statement_facts import Kind, TableColumn, UniqueKey


class Dialect(MySQL):
    """MySQL whose tokens are all words: by default, some statements are one token each."""

    class Tokenizer(MySQL.Tokenizer):
        """It leaves no statement as a string."""

        COMMANDS: ClassVar = set()


_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER})


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text. Raises ConfigError for one that has none."""
    try:
        return Dialect().tokenize(text)
    except Exception as error:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD) from error


def word(tokens: Sequence[Token], index: int) -> str:
    """Return a token in capitals; "" for a quoted one, and after the end."""
    if not 0 <= index < len(tokens) or tokens[index].token_type in _QUOTED:
        return ""
    return tokens[index].text.upper()


def words(tokens: Sequence[Token], count: int, start: int = 0) -> tuple[str, ...]:
    """Return so many tokens as `word` does."""
    return tuple(word(tokens, index) for index in range(start, start + count))


def text_of(text: str, tokens: Sequence[Token]) -> str:
    """Return the part of the text from the first to the last token."""
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def split(tokens: Sequence[Token], at: TokenType) -> list[list[Token]]:
    """Return the parts between tokens of that type outside of parentheses, without empty ones."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


# Database ("" for the default one) and name.
TableName: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What the text says; the tables and functions that it names are not known yet."""

    kind: Kind
    written: tuple[TableName, ...] = ()
    # Where the statement does not change them; a table that it changes can be among them, too.
    read: tuple[TableName, ...] = ()
    functions: frozenset[str] = frozenset()  # in capitals, built in or stored
    stored: frozenset[TableName] = frozenset()  # functions with a database before their name
    variables: frozenset[str] = frozenset()
    # The columns that get a value, with their table; "" stands for a table that is not said.
    assigned: tuple[tuple[TableName, str], ...] = ()
    listed: tuple[str, ...] = ()  # the columns in the list of an INSERT; none if it has no list
    # The columns that get DEFAULT, by their names or, without a list, by their places.
    defaults: frozenset[str] = frozenset()
    default_places: frozenset[int] = frozenset()
    engine: str = ""  # of a table that is created; "" for the default
    columns: tuple[TableColumn, ...] = ()  # of such a table
    unique_keys: tuple[UniqueKey, ...] = ()
    auto_increment_not_first: bool = False  # no index of such a table begins with its counter
    like: TableName | None = None  # CREATE TABLE … LIKE
    altered: TableName | None = None  # the table of ALTER TABLE, CREATE INDEX and DROP INDEX
    called: TableName | None = None  # the procedure of a CALL
    arguments: int = 0  # of a CALL
    settings: frozenset[str] = frozenset()  # that SET changes, in small letters
    # An INSERT that calls RAND: MariaDB writes the seeds in front of its text, so it is safe.
    logs_seeds: bool = False
    limit: bool = False
    ignore: bool = False
    replace: bool = False
    on_duplicate: bool = False
    delayed: bool = False
    skip_locked: bool = False
    nowait: bool = False

    def functions_on(self, server: ServerVersion) -> frozenset[str]:
        """Return the functions; without RAND if the server logs its seeds, which makes it safe."""
        return (
            self.functions - {"RAND"} if server.is_mariadb and self.logs_seeds else self.functions
        )


_TRANSACTIONS: Final = {
    ("BEGIN",): Kind.BEGIN,
    ("START", "TRANSACTION"): Kind.BEGIN,
    ("COMMIT",): Kind.COMMIT,
    ("ROLLBACK",): Kind.ROLLBACK,
    ("SAVEPOINT",): Kind.SAVEPOINT,
    ("RELEASE", "SAVEPOINT"): Kind.RELEASE_SAVEPOINT,
    ("XA", "START"): Kind.XA_START,
    ("XA", "BEGIN"): Kind.XA_START,
    ("XA", "END"): Kind.XA_END,
    ("XA", "PREPARE"): Kind.XA_PREPARE,
    ("XA", "COMMIT"): Kind.XA_COMMIT,
    ("XA", "ROLLBACK"): Kind.XA_ROLLBACK,
}
_OPTIONS_OF_SET: Final = frozenset({"GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"})
# SET with these words has no assignments.
_WITHOUT_VALUE: Final = frozenset({"NAMES", "CHARSET", "CHARACTER", "TRANSACTION"})
# SET PASSWORD is logged like DDL; SET STATEMENT … FOR has another statement in it.
_UNLIKE_OTHERS: Final = frozenset({"PASSWORD", "STATEMENT"})
# What CREATE and DROP are about; only tables can have rows.
_OBJECTS: Final = frozenset(
    {
        "TABLE", "VIEW", "INDEX", "DATABASE", "SCHEMA", "TRIGGER", "FUNCTION", "PROCEDURE", "EVENT",
        "USER", "ROLE", "SEQUENCE", "SERVER", "TABLESPACE",
    }
)  # fmt: skip
_OF_OBJECTS: Final = frozenset({"CREATE", "DROP"})
_TEXTS: Final = frozenset({"ALTER", "RENAME", "GRANT", "REVOKE"})
_OF_TABLES: Final = frozenset({"ANALYZE", "OPTIMIZE", "REPAIR"})
# The most words between CREATE and the name of an index: OR REPLACE ONLINE UNIQUE INDEX.
_MODIFIERS_MAX: Final = 5
_UNLOGGED: Final = frozenset({"LOCAL", "NO_WRITE_TO_BINLOG"})
_ASSIGNS: Final = frozenset({TokenType.EQ, TokenType.COLON_EQ})


@dataclass(frozen=True, slots=True)
class KeywordStatement:
    """What the words say, and the text of a statement that has the expressions."""

    parsed: ParsedStatement
    expressions: str = ""


def keyword_statement(text: str, tokens: Sequence[Token]) -> KeywordStatement | None:
    """Return what one of these statements says; None for any other.

    Raises ConfigError for one of them that is not understood.
    """
    first = word(tokens, 0)
    if first == "CALL":
        return _call(text, tokens)
    if first == "LOAD" and word(tokens, 1) in ("DATA", "XML"):
        return _load(text, tokens)
    if first == "SET":
        return _set(text, tokens)
    if first == "DO":
        return KeywordStatement(ParsedStatement(Kind.SELECT), f"SELECT {text_of(text, tokens[1:])}")
    if _is_ddl(tokens):
        return KeywordStatement(ParsedStatement(Kind.DDL, altered=_altered(tokens)))
    if first in _OF_TABLES and word(tokens, 1) in _UNLOGGED:
        return KeywordStatement(ParsedStatement(Kind.SELECT))
    for start, kind in _TRANSACTIONS.items():
        if words(tokens, len(start)) == start:
            return KeywordStatement(ParsedStatement(_exact(kind, words(tokens, len(tokens)))))
    return None


def _is_ddl(tokens: Sequence[Token]) -> bool:
    """Return whether the text is always what is logged, whichever tables it names."""
    first = word(tokens, 0)
    if first in _OF_TABLES:
        return word(tokens, 1) in ("TABLE", "TABLES")
    if first not in _OF_OBJECTS:
        return first in _TEXTS
    objects = (word(tokens, at) for at in range(1, len(tokens)))
    return next((word for word in objects if word in _OBJECTS), "TABLE") != "TABLE"


def _altered(tokens: Sequence[Token]) -> TableName | None:
    """Return the table of ALTER TABLE, CREATE INDEX or DROP INDEX; None for other DDL."""
    first = word(tokens, 0)
    if first == "ALTER":
        before = "TABLE"
    elif first in _OF_OBJECTS and "INDEX" in words(tokens, _MODIFIERS_MAX, 1):
        before = "ON"
    else:
        return None
    at = next((at for at in range(1, len(tokens)) if word(tokens, at) == before), len(tokens)) + 1
    while word(tokens, at) in ("IF", "EXISTS"):
        at += 1
    return _name(tokens, at)[0] if at < len(tokens) else None


def _exact(kind: Kind, all_words: tuple[str, ...]) -> Kind:
    if kind is Kind.ROLLBACK and "TO" in all_words:
        return Kind.ROLLBACK_TO_SAVEPOINT
    if kind is Kind.XA_COMMIT and all_words[-2:] == ("ONE", "PHASE"):
        return Kind.XA_COMMIT_ONE_PHASE
    return kind


def _call(text: str, tokens: Sequence[Token]) -> KeywordStatement:
    name, at = _name(tokens, 1)
    arguments = _in_parentheses(tokens, at)
    if at + len(arguments) + (2 if word(tokens, at) == "(" else 0) != len(tokens):
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    parsed = ParsedStatement(
        Kind.CALL, called=name, arguments=len(split(arguments, TokenType.COMMA))
    )
    return KeywordStatement(parsed, f"SELECT {text_of(text, arguments)}" if arguments else "")


def _name(tokens: Sequence[Token], at: int) -> tuple[TableName, int]:
    """Return the name that starts there, and the index after it."""
    if at + 2 < len(tokens) and tokens[at + 1].token_type is TokenType.DOT:
        return (tokens[at].text, tokens[at + 2].text), at + 3
    if at >= len(tokens):
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    return ("", tokens[at].text), at + 1


def _in_parentheses(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    if word(tokens, at) != "(":
        return []
    depth = 0
    for end in range(at, len(tokens)):
        token_type = tokens[end].token_type
        depth += (token_type is TokenType.L_PAREN) - (token_type is TokenType.R_PAREN)
        if not depth:
            return tokens[at + 1 : end]
    raise ConfigError(rules_errors.NOT_UNDERSTOOD)


def _load(text: str, tokens: Sequence[Token]) -> KeywordStatement:
    """Read LOAD DATA: its table, the columns that the file or SET gives, and SET's expressions."""
    into = next(
        (at for at in range(len(tokens)) if words(tokens, 2, at) == ("INTO", "TABLE")), None
    )
    if into is None:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    head = words(tokens, into)
    name, at = _name(tokens, into + 2)
    if word(tokens, at) == "PARTITION":
        at += len(_in_parentheses(tokens, at + 1)) + 3
    listed: Sequence[Token] = []
    assignments: Sequence[Token] = []
    while at < len(tokens):
        if word(tokens, at) == "(":
            listed = _in_parentheses(tokens, at)
            at += len(listed) + 1
        elif word(tokens, at) == "SET" and word(tokens, at - 1) not in ("CHARACTER", "CHAR"):
            assignments = tokens[at + 1 :]
            break
        at += 1
    columns = [part[-1].text for part in split(listed, TokenType.COMMA) if len(part) == 1]
    targets = [_assignment(part)[0] for part in split(assignments, TokenType.COMMA)]
    columns += [target[-1].text for target in targets]
    parsed = ParsedStatement(
        Kind.LOAD_DATA,
        (name,),
        assigned=tuple((name, column) for column in columns),
        listed=tuple(columns) if listed else (),
        ignore="IGNORE" in head,
        replace="REPLACE" in head,
    )
    if not assignments:
        return KeywordStatement(parsed)
    values = [text_of(text, _assignment(part)[1]) for part in split(assignments, TokenType.COMMA)]
    return KeywordStatement(parsed, f"SELECT ({'), ('.join(values)})")


def _assignment(tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """Return what is before and after the sign of an assignment."""
    for at, token in enumerate(tokens):
        if token.token_type in _ASSIGNS and 0 < at < len(tokens) - 1:
            return tokens[:at], tokens[at + 1 :]
    raise ConfigError(rules_errors.NOT_UNDERSTOOD)


def _set(text: str, tokens: Sequence[Token]) -> KeywordStatement:
    """Read SET: its expressions, and the system variables that it could mean."""
    rest = tokens[1:]
    if word(rest, 0) in _OPTIONS_OF_SET and word(rest, 1) == "TRANSACTION":
        rest = rest[1:]
    if word(rest, 0) in _WITHOUT_VALUE:
        settings = frozenset({"transaction"} if word(rest, 0) == "TRANSACTION" else ())
        return KeywordStatement(ParsedStatement(Kind.SELECT, settings=settings))
    if word(rest, 0) in _UNLIKE_OTHERS:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    settings_found: set[str] = set()
    values = []
    for part in split(rest, TokenType.COMMA):
        target, value = _assignment(part)
        # A name alone can be a local variable, too.
        local = word(target, 0) not in ("@", "NEW")
        if local:
            settings_found.add(target[-1].text.lower())
        # ON, DEFAULT or BINARY are no expressions.
        if not (local and len(value) == 1):
            values.append(f"({text_of(text, value)})")
    parsed = ParsedStatement(Kind.SELECT, settings=frozenset(settings_found))
    return KeywordStatement(parsed, f"SELECT {', '.join(values)}" if values else "")
