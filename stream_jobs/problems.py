"""What is wrong with a record: a number in Spark's plan, and the code and its facts beside it.

Spark finds the first record with a problem, and the driver turns its number into an error. So no
text is composed for each record, and an error has facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.errors.message import Message

if TYPE_CHECKING:
    from pyspark.sql import Column

    from connector.errors.code import ErrorCode


class Problems:
    """The problems that one plan looks for."""

    def __init__(self) -> None:
        """Know none."""
        self._messages: list[Message] = []

    def add(self, code: ErrorCode, /, **facts: object) -> Column:
        """Return the number of a problem, as a constant."""
        self._messages.append(Message(code, facts))
        return F.lit(len(self._messages) - 1)

    def __getitem__(self, number: int) -> Message:
        return self._messages[number]
