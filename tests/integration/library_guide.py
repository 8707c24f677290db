"""The examples of `docs/library.md`, and what they are said to print."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_stack import MysqlServer, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

GUIDE = Path(__file__).parents[2] / "docs" / "library.md"
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)

_SHOP = (
    "SET timestamp = UNIX_TIMESTAMP('2026-01-02 10:00:00')",
    "CREATE DATABASE shop",
    (
        "CREATE TABLE shop.products "
        "(id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2), added DATE)"
    ),
    "FLUSH BINARY LOGS",
    (
        "INSERT INTO shop.products VALUES "
        "(1, 'tea', 4.50, '2026-01-02'), (2, 'mug', 12.00, '2026-01-02')"
    ),
    "SET timestamp = UNIX_TIMESTAMP('2026-01-03 10:00:00')",
    "UPDATE shop.products SET price = 4.20 WHERE id = 1",
    "DELETE FROM shop.products WHERE id = 2",
    "FLUSH BINARY LOGS",
    "SET GLOBAL binlog_row_metadata = MINIMAL",
)
_WITHOUT_NAMES = (
    "INSERT INTO shop.products VALUES (3, 'pot', 20.00, '2026-01-03')",
    "FLUSH BINARY LOGS",
)


@contextlib.contextmanager
def shop(folder: Path) -> Iterator[str]:
    """Give the URL of a server with the shop, and put its logs into `folder`."""
    with MysqlServer(folder / "server") as server:
        endpoint = server.endpoint
        _execute(endpoint, *_SHOP)
        # Sessions take a setting over when they begin.
        _execute(endpoint, *_WITHOUT_NAMES)
        ((base,),) = _execute(endpoint, "SELECT @@log_bin_basename")
        names = [str(row[0]) for row in _execute(endpoint, "SHOW BINARY LOGS")]
        first, second = (Path(str(base)).with_name(name).read_bytes() for name in names[-3:-1])
        (folder / "binlog.000001").write_bytes(first)
        (folder / "binlog.000002.gz").write_bytes(gzip.compress(second))
        (folder / "without-metadata.000001").write_bytes(second)
        yield f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}/"


def _execute(endpoint: Endpoint, *statements: str) -> tuple[tuple[object, ...], ...]:
    with connect(endpoint) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


@dataclass(frozen=True)
class Example:
    """A block of code, and the block of text behind it."""

    chapter: str
    code: str
    output: str

    def run(self, names: dict[str, Any]) -> str:
        """Run the code with `names`, which it may add to, and return what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(self.code, str(GUIDE), "exec"), names)  # our own document
        return printed.getvalue()


def examples() -> list[Example]:
    """Return all examples, in their order."""
    text = GUIDE.read_text(encoding="utf-8")
    found = [
        Example(chapter.partition("\n")[0], code, output)
        for chapter in text.split("\n## ")
        for code, output in _EXAMPLE.findall(chapter)
    ]
    assert len(found) == text.count("```python")
    return found
