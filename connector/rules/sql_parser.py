"""The text of a statement becomes facts, and the reasons for which the text alone is unsafe.

What the parser does not understand is said. Functions keep the names that the text has, so that
none is taken for another.

Rows of an unsafe statement are logged in MIXED and in ROW format, so its text comes from STATEMENT
format. A statement that is safe by its text can be unsafe by its tables, triggers and functions.
"""

import re
from dataclasses import replace
from typing import ClassVar, Final

from sqlglot import expressions as exp
from sqlglot.expressions import Expr
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from connector.foundation.errors import ConfigError
from connector.foundation.server_version import Product, ServerVersion
from connector.rules import rules_errors, syntax_tree
from connector.rules.functions import SAFE_FUNCTIONS, unsafe_functions
from connector.rules.server import SessionState
from connector.rules.statement_facts import INSERTS, Kind, StatementFacts
from connector.rules.statement_text import (
    Dialect,
    ParsedStatement,
    keyword_statement,
    tokens_of,
    word,
)
from connector.rules.unsafe_statements import UnsafeReason, unsafe_reasons

# Words that change nothing in the rest of the statement, and that the parser does not know.
_LEFT_OUT: Final = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "QUICK", "DELAYED", "IGNORE"})
_CHANGES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_PLAIN: Final[dict[type[exp.Expr], Kind]] = {
    exp.TruncateTable: Kind.TRUNCATE,
    exp.Select: Kind.SELECT,
}


# Functions whose text alone tells that they are built in.
BUILT_IN: Final = frozenset(MySQLParser.FUNCTIONS) | SAFE_FUNCTIONS


class _Parser(MySQLParser):
    FUNCTIONS: ClassVar = {}

    def _warn_unsupported(self) -> None:
        """Say nothing here: the tree of such a statement is refused."""


def parse(text: str) -> ParsedStatement:
    """Return what one statement says.

    Raises ConfigError for text that is not understood in full, without showing its values.
    """
    tokens = tokens_of(text)
    plain = keyword_statement(text, tokens)
    if plain is None:
        return _parse(text, tokens)
    if not plain.expressions:
        return plain.parsed
    inner = _parse(plain.expressions, tokens_of(plain.expressions))
    return replace(
        plain.parsed,
        read=inner.read,
        functions=inner.functions,
        stored=inner.stored,
        variables=inner.variables,
    )


def _parse(text: str, tokens: list[Token]) -> ParsedStatement:
    replaces = word(tokens, 0) == "REPLACE"
    if replaces:
        # The parser takes it as a word that it does not know; the rest is that of an INSERT.
        tokens = [_token(TokenType.INSERT, "INSERT", tokens[0]), *tokens[1:]]
    words, kept = _head(tokens)
    try:
        (tree,) = _Parser(dialect=Dialect()).parse(_known(kept), text)
    except Exception as error:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD) from error
    if tree is None:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    kind = _kind(tree, replace=replaces)
    assigned = tuple(syntax_tree.assigned_columns(tree))
    written = tuple(syntax_tree.written_tables(tree))
    read = tuple(syntax_tree.read_tables(tree))
    listed, places = syntax_tree.listed_columns(tree), syntax_tree.default_places(tree)
    defaults = syntax_tree.default_columns(tree) | {
        name for place, name in enumerate(listed) if place in places
    }
    like = tree.find(exp.LikeProperty) if isinstance(tree, exp.Create) else None
    locks = list(tree.find_all(exp.Lock))
    return ParsedStatement(
        kind,
        written,
        read,
        frozenset(syntax_tree.functions_of(tree)),
        frozenset(syntax_tree.stored_functions(tree)),
        frozenset(node.name.lower() for node in tree.find_all(exp.SessionParameter)),
        assigned,
        listed=listed,
        defaults=defaults,
        default_places=places,
        engine=syntax_tree.engine_of_created(tree),
        columns=syntax_tree.created_columns(tree),
        unique_keys=syntax_tree.created_keys(tree),
        like=None if like is None else syntax_tree.table_name(like.this),
        limit=tree.find(exp.Limit) is not None,
        ignore="IGNORE" in words,
        replace="REPLACE" in words,
        on_duplicate=tree.find(exp.OnConflict) is not None,
        delayed="DELAYED" in words,
        skip_locked=any(lock.args.get("wait") is False for lock in locks),
        nowait=any(lock.args.get("wait") is True for lock in locks),
        auto_increment_not_first=syntax_tree.created_counter_not_first(tree),
        logs_seeds=_logs_seeds(kind, tree),
    )


def _logs_seeds(kind: Kind, tree: Expr) -> bool:
    """Whether MariaDB takes RAND in the statement for safe, as it does while it parses INSERT.

    After its SELECT, the statement is INSERT ... SELECT for the parser, and not safe.
    """
    conflict = tree.find(exp.OnConflict)
    later = (
        kind is Kind.INSERT_SELECT
        and conflict is not None
        and "RAND" in syntax_tree.functions_of(conflict)
    )
    return kind in INSERTS and not later


def _token(kind: TokenType, text: str, place: Token) -> Token:
    return Token(kind, text, place.line, place.col, place.start, place.end)


def _head(tokens: list[Token]) -> tuple[set[str], list[Token]]:
    """Return the modifiers, and the tokens without them."""
    words: set[str] = set()
    if word(tokens, 0) == "CREATE":
        for at in range(1, len(tokens)):
            behind = word(tokens, at + (2 if word(tokens, at + 1) == "AS" else 1))
            # OR REPLACE VIEW is another thing.
            if word(tokens, at) in ("IGNORE", "REPLACE") and behind in ("SELECT", "(", "WITH"):
                return {word(tokens, at)}, [*tokens[:at], *tokens[at + 1 :]]
        return words, tokens
    if word(tokens, 0) not in _CHANGES:
        return words, tokens
    rest = tokens[1:]
    while word(rest, 0) in _LEFT_OUT:
        words.add(word(rest, 0))
        rest = rest[1:]
    return words, [tokens[0], *rest]


def _known(tokens: list[Token]) -> list[Token]:
    """Return the tokens without what the parser does not know: DEFAULT(column), SELECT … INTO."""
    head = word(tokens, 0)
    if head in _CHANGES or head == "SELECT":
        tokens = [
            _token(TokenType.VAR, token.text, token)
            if word(tokens, at) == "DEFAULT" and word(tokens, at + 1) == "("
            else token
            for at, token in enumerate(tokens)
        ]
    if head not in {"SELECT", "WITH"}:
        return tokens
    start = next((at for at in range(len(tokens)) if word(tokens, at) == "INTO"), None)
    if start is None:
        return tokens
    end = start + 1
    if word(tokens, end) in ("OUTFILE", "DUMPFILE"):
        while end < len(tokens) and word(tokens, end) not in ("FROM", "FOR"):
            end += 1
        return [*tokens[:start], *tokens[end:]]
    while True:
        end += 2 if word(tokens, end) == "@" else 1
        if word(tokens, end) != ",":
            return [*tokens[:start], *tokens[end:]]
        end += 1


def _kind(tree: Expr, *, replace: bool) -> Kind:
    if isinstance(tree, exp.Insert):
        selects = isinstance(tree.expression, exp.Query) and not isinstance(
            tree.expression, exp.Values
        )
        if replace:
            return Kind.REPLACE_SELECT if selects else Kind.REPLACE
        return Kind.INSERT_SELECT if selects else Kind.INSERT
    if isinstance(tree, exp.Update):
        return Kind.UPDATE
    if isinstance(tree, exp.Delete):
        return Kind.DELETE
    if isinstance(tree, exp.Create) and tree.args.get("kind") == "TABLE":
        return _kind_of_create(tree)
    if isinstance(tree, exp.Drop) and tree.args.get("kind") == "TABLE":
        return Kind.DROP_TEMPORARY if tree.args.get("temporary") else Kind.DROP_TABLE
    for known, kind in _PLAIN.items():
        if isinstance(tree, known):
            return kind
    raise ConfigError(rules_errors.NOT_UNDERSTOOD)


def _kind_of_create(tree: exp.Create) -> Kind:
    selects = tree.expression is not None
    if tree.find(exp.TemporaryProperty) is not None:
        return Kind.CREATE_TEMPORARY_SELECT if selects else Kind.CREATE_TEMPORARY
    return Kind.CREATE_TABLE_SELECT if selects else Kind.CREATE_TABLE


# A longer text takes long to parse, and mostly is an INSERT with many values.
_LENGTH_MAX: Final = 16 * 1024
# The oldest versions know the fewest reasons.
_OLDEST_MYSQL: Final = ServerVersion(Product.MYSQL, (5, 7, 0))
_OLDEST_MARIADB: Final = ServerVersion(Product.MARIADB, (10, 5, 0))
# Without one of these words, no text is unsafe by itself. They are found much faster than parsed.
_UNSAFE_WORDS: Final = (
    "LIMIT", "IGNORE", "REPLACE", "DUPLICATE", "LOCKED", "NOWAIT",
    *(unsafe_functions(_OLDEST_MYSQL) | unsafe_functions(_OLDEST_MARIADB)),
)  # fmt: skip
_UNSAFE_TEXT: Final = re.compile(rf"@@|\b(?:{'|'.join(sorted(_UNSAFE_WORDS))})\b", re.IGNORECASE)


def reasons_in_text(text: str, *, mysql: bool) -> frozenset[UnsafeReason]:
    """Return the reasons for which the words of a statement are unsafe; none if it is not known."""
    if len(text) > _LENGTH_MAX or _UNSAFE_TEXT.search(text) is None:
        return frozenset()
    try:
        parsed = parse(text)
    except ConfigError:
        return frozenset()
    server = _OLDEST_MYSQL if mysql else _OLDEST_MARIADB
    facts = StatementFacts(
        parsed.kind,
        (),
        parsed.functions_on(server),
        parsed.variables,
        limit=parsed.limit and parsed.kind is not Kind.SELECT,
        ignore=parsed.ignore,
        on_duplicate=parsed.on_duplicate,
        skip_locked=parsed.skip_locked,
    )
    return unsafe_reasons(facts, SessionState(), server)
