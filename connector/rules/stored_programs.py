"""The body of a stored program: the statements in it, and the tables that they write.

Which branch is taken, and how often a loop runs, is in the data. So the statements of all branches
are returned, and whether each of them runs once, in their order.

https://dev.mysql.com/doc/refman/8.4/en/sql-compound-statements.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from connector.foundation.errors import ConfigError
from connector.rules import rules_errors
from connector.rules.sql_parser import parse
from connector.rules.statement_text import TableName, text_of, tokens_of, word, words

# They change nothing and call nothing.
_QUIET: Final = frozenset(
    {"OPEN", "FETCH", "CLOSE", "GET", "SIGNAL", "RESIGNAL", "LEAVE", "ITERATE", "DEALLOCATE"}
)
# The statements after them do not run, or others run in their place.
_LEAVES: Final = frozenset({"SIGNAL", "RESIGNAL", "LEAVE", "ITERATE", "RETURN"})
_ENDS: Final = frozenset({"END", "ELSE", "ELSEIF", "WHEN", "UNTIL"})


@dataclass(frozen=True, slots=True)
class Program:
    """The statements of a program; an expression, as of IF, is a SELECT of it."""

    statements: tuple[str, ...]
    in_order: bool  # there are no branches, loops or handlers


def split_program(body: str) -> Program:
    """Return the statements of the body of a trigger, an event or a routine.

    Raises ConfigError for a body that is not understood.
    """
    reader = _Reader(body, tokens_of(body))
    reader.statement()
    reader.end()
    return Program(tuple(reader.found), reader.in_order)


class _Reader:
    """Reads one statement after the other, from the first token to the last."""

    def __init__(self, body: str, tokens: list[Token]) -> None:
        self._body = body
        self._tokens = tokens
        self._at = 0
        self.found: list[str] = []
        self.in_order = True

    def statement(self) -> None:
        """Read one statement, up to the semicolon after it."""
        if self._type(1) is TokenType.COLON:
            self._at += 2
        control = {
            "BEGIN": self._block,
            "IF": self._if,
            "CASE": self._case,
            "LOOP": self._loop,
            "WHILE": self._while,
            "REPEAT": self._repeat,
            "FOR": self._for,
            "DECLARE": self._declare,
        }.get(self._word())
        if control is not None:
            control()
            return
        self.in_order &= self._word() not in _LEAVES
        if self._word() == "RETURN":
            self._at += 1
            self._expression(self._until())
        elif self._word() in _QUIET:
            self._until()
        else:
            self.found.append(text_of(self._body, self._until()))

    def end(self) -> None:
        """Read the end of the body."""
        while self._type() is TokenType.SEMICOLON:
            self._at += 1
        self._demand(self._at == len(self._tokens))

    def _word(self, ahead: int = 0) -> str:
        return word(self._tokens, self._at + ahead)

    def _type(self, ahead: int = 0) -> TokenType | None:
        index = self._at + ahead
        return self._tokens[index].token_type if index < len(self._tokens) else None

    @staticmethod
    def _demand(condition: bool) -> None:
        if not condition:
            raise ConfigError(rules_errors.NOT_UNDERSTOOD)

    def _take(self, *expected: str) -> None:
        for token in expected:
            self._demand(self._word() == token)
            self._at += 1

    def _until(self, *ends: str) -> list[Token]:
        """Return the tokens up to a semicolon or one of the words, which is not in a CASE."""
        start, depth, cases = self._at, 0, 0
        while self._at < len(self._tokens):
            token_type = self._type()
            if token_type is TokenType.SEMICOLON:
                break
            if not depth and not cases and self._word() in ends:
                break
            depth += (token_type is TokenType.L_PAREN) - (token_type is TokenType.R_PAREN)
            cases += (self._word() == "CASE") - (self._word() == "END")
            self._at += 1
        self._demand(start < self._at)
        return self._tokens[start : self._at]

    def _expression(self, tokens: list[Token]) -> None:
        self.found.append(f"SELECT {text_of(self._body, tokens)}")

    def _statements(self) -> None:
        while self._word() not in _ENDS:
            self._demand(self._type() is not None)
            self.statement()
            self._demand(self._type() is TokenType.SEMICOLON)
            self._at += 1

    def _label(self) -> None:
        if self._type() not in (None, TokenType.SEMICOLON):
            self._at += 1

    def _block(self) -> None:
        self._take("BEGIN")
        if words(self._tokens, 2, self._at) == ("NOT", "ATOMIC"):
            self._at += 2
        self._statements()
        self._take("END")
        self._label()

    def _if(self) -> None:
        self.in_order = False
        self._take("IF")
        self._expression(self._until("THEN"))
        self._take("THEN")
        self._statements()
        while self._word() == "ELSEIF":
            self._take("ELSEIF")
            self._expression(self._until("THEN"))
            self._take("THEN")
            self._statements()
        self._else("IF")

    def _case(self) -> None:
        self.in_order = False
        self._take("CASE")
        if self._word() != "WHEN":
            self._expression(self._until("WHEN"))
        while self._word() == "WHEN":
            self._take("WHEN")
            self._expression(self._until("THEN"))
            self._take("THEN")
            self._statements()
        self._else("CASE")

    def _else(self, kind: str) -> None:
        if self._word() == "ELSE":
            self._take("ELSE")
            self._statements()
        self._take("END", kind)

    def _body_of_loop(self, kind: str) -> None:
        self.in_order = False
        self._statements()
        self._take("END", kind)
        self._label()

    def _loop(self) -> None:
        self._take("LOOP")
        self._body_of_loop("LOOP")

    def _while(self) -> None:
        self._take("WHILE")
        self._expression(self._until("DO"))
        self._take("DO")
        self._body_of_loop("WHILE")

    def _repeat(self) -> None:
        self.in_order = False
        self._take("REPEAT")
        self._statements()
        self._take("UNTIL")
        self._expression(self._until("END"))
        self._take("END", "REPEAT")
        self._label()

    def _for(self) -> None:
        """Read the loop of MariaDB over a query, a cursor or numbers."""
        self._take("FOR")
        self._until("IN")
        self._take("IN")
        over = self._until("DO")
        if over[0].token_type is TokenType.L_PAREN:
            self.found.append(text_of(self._body, over[1:-1]))
        else:
            # A function in the bounds would have to be split from the two points.
            self._demand(all(token.token_type is not TokenType.L_PAREN for token in over))
        self._take("DO")
        self._body_of_loop("FOR")

    def _declare(self) -> None:
        """Read what is declared: a handler and a cursor have a statement, a variable a value."""
        self._take("DECLARE")
        if words(self._tokens, 2, self._at)[1] == "HANDLER":
            self.in_order = False
            self._at += 2
            self._take("FOR")
            self._conditions()
            self.statement()
            return
        head = self._until("DEFAULT", "FOR")
        if self._word() == "DEFAULT":
            self._at += 1
            self._expression(self._until())
        elif self._word() == "FOR":
            self._at += 1
            rest = self._until()
            if "CURSOR" in words(head, len(head)):
                self.found.append(text_of(self._body, rest))

    def _conditions(self) -> None:
        while True:
            if self._word() == "SQLSTATE":
                self._at += 2 if self._word(1) == "VALUE" else 1
            elif self._word() == "NOT":
                self._at += 1
            self._at += 1
            if self._type() is not TokenType.COMMA:
                return
            self._at += 1


_CHANGES: Final = frozenset(
    {"INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE", "WITH", "CALL", "SET"}
)
# The tables of these are in a string that the program makes.
_DYNAMIC: Final = frozenset({"EXECUTE", "PREPARE"})
_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_LOG_SETTINGS: Final = frozenset({"binlog_format", "binlog_row_image", "sql_log_bin"})


@dataclass(slots=True)
class ProgramWrites:
    """What a program does; names without a database are in that of the program."""

    tables: set[TableName] = field(default_factory=set)
    procedures: set[TableName] = field(default_factory=set)
    functions: set[TableName] = field(default_factory=set)  # stored or built in
    log_settings: bool = False  # it sets one of those that say how its session logs
    # Statements that are not understood; "" stands for one that can write any table.
    unknown: list[str] = field(default_factory=list)


def names_log_settings(body: str) -> bool:
    """Return whether the text has the name of a setting about the log, so that it may set it."""
    words = body.lower()
    return any(name in words for name in _LOG_SETTINGS)


def program_writes(body: str) -> ProgramWrites:
    """Return what the program with this body writes and calls."""
    writes = ProgramWrites()
    try:
        writes.functions.update(_functions(body))
        statements = split_program(body).statements
    except ConfigError:
        writes.unknown.append(body)
        return writes
    for statement in statements:
        _take(statement, writes)
    return writes


def _functions(body: str) -> Iterator[TableName]:
    """Yield each name before a parenthesis, also of a table before its columns."""
    tokens = tokens_of(body)
    for index, (token, after) in enumerate(pairwise(tokens)):
        if after.token_type is TokenType.L_PAREN and token.token_type in _NAMES:
            dotted = index > 1 and tokens[index - 1].token_type is TokenType.DOT
            yield tokens[index - 2].text if dotted else "", token.text


def _take(statement: str, writes: ProgramWrites) -> None:
    verb = word(tokens_of(statement), 0)
    if verb in _DYNAMIC:
        writes.unknown.append("")
    if verb not in _CHANGES:
        return
    try:
        parsed = parse(statement)
    except ConfigError:
        writes.unknown.append(statement)
        return
    writes.tables.update(parsed.written)
    writes.procedures.update([parsed.called] if parsed.called is not None else [])
    writes.log_settings |= bool(parsed.settings & _LOG_SETTINGS)
