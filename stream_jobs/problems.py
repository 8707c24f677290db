"""The problems of records: a number in Spark's plan, with a code and facts.

Spark finds the first record with a problem, and the driver turns its number into an error. So Spark
composes no text for each record, and an error has facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.errors.message import Message

if TYPE_CHECKING:
    from pyspark.sql import Column

    from connector.errors.code import ErrorCode


class Problems:
    """The possible problems of one plan."""

    def __init__(self) -> None:
        """Begin without a problem."""
        self._messages: list[Message] = []

    def add(self, code: ErrorCode, /, **facts: object) -> Column:
        """Add a problem and return its number, as a constant of the plan."""
        self._messages.append(Message(code, facts))
        return F.lit(len(self._messages) - 1)

    def __getitem__(self, number: int) -> Message:
        return self._messages[number]
