"""What is wrong with a record: a number in Spark's plan, and the code and its facts beside it.

Spark finds the first record with a problem, and the driver turns its number into an error. So no
text is composed for each record, and an error has facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.errors import MirrorError

if TYPE_CHECKING:
    from pyspark.sql import Column

    from connector.contract import Sequence
    from connector.errors.code import ErrorCode


class Problem(NamedTuple):
    """A code, and the facts that the plan knows; where the record lies is known later."""

    code: ErrorCode
    facts: dict[str, object]

    def at(self, topic: str, partition: int, offset: int, sequence: Sequence | None) -> MirrorError:
        """Return the error of the record that lies there."""
        place = {"topic": topic, "partition": partition, "offset": offset, "seq": sequence}
        known = {name: fact for name, fact in place.items() if name in self.code.facts}
        return MirrorError(self.code, **self.facts, **known)


class Problems:
    """The problems that one plan looks for."""

    def __init__(self) -> None:
        """Know none."""
        self._problems: list[Problem] = []

    def add(self, code: ErrorCode, /, **facts: object) -> Column:
        """Return the number of a problem, as a constant."""
        self._problems.append(Problem(code, facts))
        return F.lit(len(self._problems) - 1)

    def __getitem__(self, number: int) -> Problem:
        return self._problems[number]
