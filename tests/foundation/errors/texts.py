"""Texts of the catalogue with facts: what tests compare with what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.errors.message import Message, Words

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


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
    """Return what a program shows of a text with this code, or of the start of one."""
    return f"[{code}] {said}"
