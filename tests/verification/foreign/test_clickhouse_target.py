"""How columns of ClickHouse are selected, and what is refused; the engine itself is asked by
`python -m tests.integration.verification.foreign_clickhouse`.
"""

from __future__ import annotations

import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from connector.foundation.errors import ConfigError, SourceUnavailable
from local_stack.server import free_port
from stream_jobs.errors import MirrorError
from verification.foreign import foreign_errors
from verification.foreign.clickhouse_target import _failure, column_of, opened

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


@pytest.mark.parametrize(
    ("kind", "expression", "own"),
    [
        ("Nullable(Int32)", "`c`", pa.int32()),
        ("LowCardinality(Nullable(String))", "toValidUTF8(`c`)", pa.string()),
        ("SimpleAggregateFunction(anyLast, Nullable(UInt64))", "`c`", pa.uint64()),
        ("FixedString(36)", "toValidUTF8(toStringCutToZero(`c`))", pa.string()),
        ("Decimal(10, 2)", "`c`", pa.decimal128(10, 2)),
        ("Decimal(65, 2)", "toString(`c`)", pa.string()),
        ("Nullable(Date)", "toDate32(`c`)", pa.date32()),
        (
            "DateTime64(3, 'Europe/Berlin')",
            "toUnixTimestamp64Micro(toDateTime64(`c`, 6))",
            pa.timestamp("us", "UTC"),
        ),
        ("Enum8('a' = 1, 'b' = 2)", "toString(`c`)", pa.string()),
        ("Array(String)", "`c`", pa.list_(pa.string())),
        ("Map(String, UInt8)", "toJSONString(`c`)", pa.string()),
        ("UUID", "toString(`c`)", pa.string()),
    ],
)
def test_a_type_says_how_a_column_is_selected(kind: str, expression: str, own: pa.DataType) -> None:
    found = column_of("c", kind, "`c`", is_text=True)
    assert (found.expression, found.kind) == (expression, own)


def test_bytes_stay_bytes() -> None:
    found = column_of("c", "Nullable(String)", "`c`", is_text=False)
    assert (found.expression, found.kind) == ("CAST(`c`, 'Nullable(String)')", pa.binary())


def test_a_server_that_is_away_has_a_code() -> None:
    place = f"//audit:secret@127.0.0.1:{free_port()}/shop.orders"
    with pytest.raises(SourceUnavailable) as raised:
        opened("clickhouse://audit@127.0.0.1/shop.orders", place)
    assert raised.value.code is foreign_errors.TARGET_AWAY
    assert "Connection refused" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_place_without_a_table_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        opened("clickhouse://host/orders", "//host/orders")
    assert raised.value.code is foreign_errors.SERVER_FORM
    assert "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE.TABLE" in str(raised.value)


def test_options_of_a_url_replace_those_of_the_driver() -> None:
    place = f"//audit@127.0.0.1:{free_port()}/shop.orders"
    for option, code in (
        ("connect_timeout=3&query_retries=0", foreign_errors.TARGET_AWAY),
        ("connect_timeout=soon", foreign_errors.TARGET_REFUSED),
        ("nothing=1", foreign_errors.TARGET_REFUSED),
    ):
        with pytest.raises((MirrorError, SourceUnavailable)) as raised:
            opened("clickhouse:…", f"{place}?{option}")
        assert raised.value.code is code


class _Breaking(BaseHTTPRequestHandler):
    """Answers as ClickHouse does, but ends in the middle of rows."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Be silent."""

    def do_POST(self) -> None:
        query = self.rfile.read(int(self.headers["content-length"]))
        if b"ArrowStream" in query:
            rows, table = io.BytesIO(), pa.table({"0": [1, 2, 3]})
            with pa.ipc.new_stream(rows, table.schema) as writer:
                writer.write_table(table)
                writer.write_table(table)
            part = rows.getvalue()[:-100]
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.close_connection = True
            return
        answer = b"25.3.1.1\tUTC\n" if b"version()" in query else b""
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def test_a_server_that_ends_in_the_middle_of_rows_is_away() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Breaking) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            place = f"//audit:secret@127.0.0.1:{server.server_port}/shop.orders"
            target = opened("clickhouse://audit@127.0.0.1/shop.orders", place)
            column = column_of("id", "Int64", "`id`", is_text=True)
            with pytest.raises(SourceUnavailable) as raised:
                list(target._dialect.rows([column], "", ()))
            target.close()
        finally:
            server.shutdown()
            thread.join()
    assert raised.value.code is foreign_errors.TARGET_AWAY
    assert "Connection broken" in str(raised.value)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (497, foreign_errors.TARGET_RIGHTS),
        (516, foreign_errors.TARGET_LOGIN),
        (241, foreign_errors.TARGET_REFUSED),
    ],
)
def test_what_a_server_refuses_is_known_by_the_text_of_a_driver_without_codes(
    number: int, code: ErrorCode
) -> None:
    for said in (
        f"HTTPDriver for http://h:8123 received ClickHouse error code {number}",
        f"HTTPDriver returned response code 500 Code: {number}. DB::Exception: no",
    ):
        assert _failure(DatabaseError(said), "clickhouse:h/d.t").code is code
    away = DatabaseError("HTTPDriver for http://h:8123 returned response code 502")
    assert _failure(away, "clickhouse:h/d.t").code is foreign_errors.TARGET_AWAY
