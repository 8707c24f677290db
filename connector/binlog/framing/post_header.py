"""The fixed part of an event, which FORMAT_DESCRIPTION gives a length for, becomes a cursor.

::

    header │ post-header: n bytes │ variable part
             ◀─ known fields ─▶ (a newer server's fields)

An older server's fixed part may be shorter than the known fields, a newer one's longer; the
variable part starts where the log says in any case.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.codec.payload import PayloadReader

if TYPE_CHECKING:
    from mypy_extensions import i64


def read_post_header(body: PayloadReader, length: int | None, known: i64) -> PayloadReader:
    """Read `length` bytes and return a cursor over the first `known` of them.

    None means that the log does not describe the type: its length is `known`.
    """
    described: i64 = known if length is None else length
    start = body.take(described)
    return PayloadReader(body.data, start, start + min(described, known))
