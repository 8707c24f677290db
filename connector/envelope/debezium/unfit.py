"""A time that the chosen form of times cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm

_NULL: Final = b"null"


@final
class Unfit:
    """What is written for such a value of one column."""

    __slots__ = ("_as_null", "_column", "_times")

    def __init__(self, column: SchemaColumn, form: DebeziumForm) -> None:
        """Write NULL if that is chosen, and the column can be NULL."""
        self._column = column
        self._times: str = form.times
        self._as_null = form.conversion_failures == "null" and column["nullable"]

    def put(self, out: BytesWriter) -> None:
        """Append NULL, or raise UnsupportedChange."""
        if self._as_null:
            out.write(_NULL)
            return
        raise UnsupportedChange(
            table_rows.TIME_UNFIT,
            column=self._column["name"],
            type=self._column["type"].upper(),
            times=self._times,
        )
