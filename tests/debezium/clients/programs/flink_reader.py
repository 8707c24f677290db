"""flink_reader.py BROKER JAR TOPICS: prints the rows that changelogs leave, a JSON line each.

It runs in an environment of its own. TOPICS are JSON, {topic: [definitions of columns]}. A topic is
read to its end with the format debezium-json, and what Flink emits is applied as it says: +I and +U
add a row, -U and -D take it away. Bytes become hexadecimal text, decimals their digits.
"""

import json
import sys
from collections import Counter
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment


def plain(value: object) -> object:
    """Return a value that JSON has; a ROW is a list.

    A document is written anew: a copied row has it with other spaces than a change of the row.
    """
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        return json.dumps(json.loads(value), sort_keys=True)
    if isinstance(value, Row):
        return list(map(plain, value))
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return f"{value:f}" if isinstance(value, Decimal) else value


def left_by(environment: TableEnvironment, broker: str, topic: str, columns: list[str]) -> None:
    """Read a topic to its end, and print a line."""
    environment.execute_sql(f"""
        CREATE TABLE `{topic}` ({", ".join(columns)}) WITH (
            'connector' = 'kafka',
            'topic' = '{topic}',
            'properties.bootstrap.servers' = '{broker}',
            'properties.isolation.level' = 'read_committed',
            'scan.startup.mode' = 'earliest-offset',
            'scan.bounded.mode' = 'latest-offset',
            'format' = 'debezium-json'
        )""")
    names = [column.split()[0].strip("`") for column in columns]
    left: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    with environment.execute_sql(f"SELECT * FROM `{topic}`").collect() as rows:
        for row in rows:
            kind = str(row.get_row_kind())
            seen[kind] += 1
            text = json.dumps(dict(zip(names, map(plain, row), strict=True)))
            left[text] += 1 if kind.startswith("+") else -1
            assert left[text] >= 0, f"taken away before it was there: {text}"
    found = list(map(json.loads, left.elements()))
    print(json.dumps({"topic": topic, "changes": seen.total(), "rows": found}))


def main() -> None:
    """Read the topics, one after the other."""
    broker, jar, topics = sys.argv[1:]
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("pipeline.jars", f"file://{jar}")
    environment.get_config().set("parallelism.default", "1")
    for topic, columns in json.loads(topics).items():
        left_by(environment, broker, topic, columns)


if __name__ == "__main__":
    main()
