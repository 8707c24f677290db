"""The failure texts, by key: what tests compare with what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors.message import Message
from connector.errors.words import Words
from tests.errors.causes_of_logs import LOGS
from tests.errors.causes_of_settings import SETTINGS
from tests.errors.causes_of_starts import STARTS
from tests.errors.causes_of_tables import TABLES

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode

GROUPS = (*SETTINGS, *STARTS, *LOGS, *TABLES)
CAUSES = {cause.key: cause for group in GROUPS for cause in group.causes}


def text(key: str, /, **values: object) -> str:
    """Return the text of a cause; `values` has each of its placeholders."""
    return CAUSES[key].filled(**values)


def says(said: str, key: str, /, **values: object) -> bool:
    """Return whether the text of a cause was said; `values` are those that are known."""
    return CAUSES[key].pattern(**values).fullmatch(said) is not None


def text_of(code: ErrorCode, /, **facts: object) -> str:
    """Return the text of a code, without the code."""
    return Message(code, facts).text


def shown(code: ErrorCode, /, **facts: object) -> str:
    """Return what a program shows of an error: `str(error)`."""
    message = Message(code, facts)
    return with_code(message.shown_code, message.text)


def shown_by_fence(code: ErrorCode, /, **facts: object) -> str:
    """Return what a fence says of a change that it keeps back."""
    message = Message(code, facts, Words.FENCE)
    return with_code(message.shown_code, message.text)


def with_code(code: ErrorCode, said: str) -> str:
    """Return what a program shows of a text with this code, or of the start of one.

    Once every call site gives facts, the code is before the text.
    """
    del code
    return said
