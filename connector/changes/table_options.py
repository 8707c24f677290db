"""Table options of ALTER TABLE that describe the table or its storage, and leave each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.changes.tokens import Token

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


def only_describes(clause: list[Token]) -> bool:
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
