"""The session of docs/tasks/audit.md: a pipeline of Debezium and Spark, and five usual faults.

    python -m tests.integration.verification.audit_session

MySQL, Debezium's source, Kafka and a recipe of Structured Streaming keep a Delta table; what goes
wrong in such pipelines is done to it by SQL. It prints what the command says then. It needs Maven.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests import forked_command
from tests.debezium.clients.sink import converters
from tests.integration.verification import damage, spark_recipe
from tests.integration.verification.debezium_source import (
    TOPIC,
    debezium_source,
    source_and_broker,
)
from tests.integration.verification.foreign_tables import ForeignTable

ROWS: Final = 5000
# The source, until the pipeline has copied it.
BEGINNING: Final = (
    """
    CREATE TABLE orders (
        id INT PRIMARY KEY, price DECIMAL(10,2), note VARCHAR(40), placed DATETIME(3), day DATE
    )
    """,
    f"""
    INSERT INTO orders WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < {ROWS})
    SELECT /*+ SET_VAR(cte_max_recursion_depth = {ROWS}) */ i, i / 4, CONCAT('order ', i),
        TIMESTAMP '2026-01-01 00:00:00' + INTERVAL i MINUTE, DATE '2026-01-01' + INTERVAL i DAY
    FROM n
    """,
    "UPDATE orders SET note = '🎁 for Zoë' WHERE id = 815",
)
# What the pipeline is to apply.
CHANGES: Final = (
    "UPDATE orders SET price = 20.00 WHERE id = 4711",
    "UPDATE orders SET price = 17.50 WHERE id = 4711",
    "DELETE FROM orders WHERE id = 1203",
    "INSERT INTO orders VALUES (5001, 9.90, 'lost', '2026-03-01', '2026-03-01')",
)
_ROW: Final = "id int, price string, note string, placed bigint, day int"
_FAULTS: Final = (
    # The first change of a key in a batch was taken, not the last one.
    "UPDATE orders SET price = base64(X'07D0') WHERE id = 4711",
    # A DELETE was skipped.
    """
    INSERT INTO orders SELECT id + 1, base64(X'757B'), 'order 1203', placed + 60000, day + 1
    FROM orders WHERE id = 1202
    """,
    # Offsets were committed before rows.
    "DELETE FROM orders WHERE id = 5001",
    # A batch was appended again.
    "INSERT INTO orders SELECT * FROM orders WHERE id = 77",
    # A program does not use UTF-8.
    "UPDATE orders SET note = '? for Zo?' WHERE id = 815",
)


def main() -> None:
    """Make the pipeline and its faults, and print the session."""
    with TemporaryDirectory() as name, source_and_broker(Path(name)) as servers:
        table = ForeignTable(servers.source, "shop", servers.folder)
        table.execute(*BEGINNING)
        lake = spark_recipe.delta(servers.folder)
        own = converters(servers, avro=False, schemas=False)
        with debezium_source(servers, own) as source:
            damage.wait_until(lambda: bool(servers.records(TOPIC)), source.check, "a record")
            with spark_recipe.recipe(servers, lake, _ROW, {}) as job:

                def wait(condition: str) -> None:
                    damage.wait_until(
                        lambda: job.execute(f"SELECT {condition} FROM orders") == [[True]],
                        source.check,
                        condition,
                    )

                wait(f"count(*) = {ROWS}")
                table.execute(*CHANGES)
                wait(f"max(id) = 5001 AND count(*) = {ROWS}")
                for statement in _FAULTS:
                    job.execute(statement)
                # What it lacks is older than the lag then.
                time.sleep(61)
                place = f"shop.orders={lake.target}"
                done = forked_command.run("verify", table.url, "--table", place, seconds=200)
    print(done.stdout.replace(lake.target, "delta:/lake/orders"), done.stderr)


if __name__ == "__main__":
    main()
