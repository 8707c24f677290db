"""By which rule a server has logged a text: what can be said without asking the server.

Rows of an unsafe statement are logged in MIXED and in ROW format, so its text comes from STATEMENT
format. A statement that is safe by its text can be unsafe by its tables, triggers and functions.
"""

from __future__ import annotations

import re
from typing import Final

from connector.errors import ConfigError
from connector.logging_rules.server_version import Product, ServerVersion
from connector.logging_rules.session_state import SessionState
from connector.logging_rules.sql_facts import parse
from connector.logging_rules.statement_facts import Kind, StatementFacts
from connector.logging_rules.unsafe import Reason, unsafe_reasons
from connector.logging_rules.unsafe_functions import unsafe_functions

# A longer text takes long to parse, and mostly is an INSERT with many values.
_LENGTH_MAX: Final = 16 * 1024
# The oldest versions know the fewest reasons.
_MYSQL: Final = ServerVersion(Product.MYSQL, (5, 7, 0))
_MARIADB: Final = ServerVersion(Product.MARIADB, (10, 5, 0))
# Without one of these words, no text is unsafe by itself. They are found much faster than parsed.
_WORDS: Final = (
    "LIMIT", "IGNORE", "REPLACE", "DUPLICATE", "LOCKED", "NOWAIT",
    *(unsafe_functions(_MYSQL) | unsafe_functions(_MARIADB)),
)  # fmt: skip
_SUSPECT: Final = re.compile(rf"@@|\b(?:{'|'.join(sorted(_WORDS))})\b", re.IGNORECASE)


def reasons_in_text(text: str, *, mysql: bool) -> frozenset[Reason]:
    """Return the reasons for which the words of a statement are unsafe; none if it is not known."""
    if len(text) > _LENGTH_MAX or _SUSPECT.search(text) is None:
        return frozenset()
    try:
        parsed = parse(text)
    except ConfigError:
        return frozenset()
    server = _MYSQL if mysql else _MARIADB
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
