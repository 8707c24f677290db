"""Faults of a lake's table that a Spark recipe makes, and the proof that all of them are found.

    python -m tests.integration.verification.spark_recipe --format iceberg --faults 1000

MySQL, Debezium's source, Kafka and a recipe of Structured Streaming as people write it keep a Delta
or an Iceberg table; then faults are made in it by SQL, while a load changes all other rows through
the pipeline. It fails if the command misses a fault, or names another row. It needs Maven; of
Iceberg also an environment of its own, since Iceberg has no runtime for the Spark of the job.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.mirror_jobs import DELTA, TUNED
from local_stack import java_runtime, spark_jars
from tests.debezium.clients.sink import converters
from tests.integration.verification.damage import (
    OF_ROWS,
    OF_TEXTS,
    Copy,
    Fault,
    arguments,
    prove,
    wait_until,
)
from tests.integration.verification.debezium_source import (
    TOPIC,
    debezium_source,
    orders,
    source_and_broker,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.debezium.clients.servers import Servers

_CLIENTS: Final = Path(__file__).parents[2] / "debezium" / "clients"
_SETTINGS: Final = {"spark.driver.host": "127.0.0.1", "spark.ui.showConsoleProgress": "false"}
# Debezium's records of the table, and what the recipe makes of them.
_ROW: Final = (
    "id bigint, price string, weight double, note string, kind string, tags string, "
    "picture string, paid boolean, flags string, born int, made bigint, seen string, took bigint, "
    "made_in int, facts string, big string, is_new smallint"
)
_CONVERTED: Final = {
    "picture": "unbase64(picture)",
    "born": "date_from_unix_date(born)",
    "made": "timestamp_micros(made)",
    "seen": "to_timestamp(seen)",
}
_LAST_BIT: Final = (
    "base64(concat(substring(unbase64({0}), 1, length(unbase64({0})) - 1), "
    "CASE hex(substring(unbase64({0}), -1)) WHEN '00' THEN X'01' ELSE X'00' END))"
)
_FAULTS: Final = (
    *OF_TEXTS,
    *OF_ROWS,
    Fault("doubled"),
    Fault("different", "price", _LAST_BIT.format("price")),
    Fault("different", "price", "base64(concat(unbase64(price), X'01'))"),
    Fault("different", "weight", "weight + 0.001"),
    Fault("different", "weight", "CAST(CAST(weight AS FLOAT) AS DOUBLE)"),
    Fault("different", "picture", "substring(picture, 2)"),
    Fault("different", "paid", "NOT paid"),
    Fault("different", "born", "date_sub(born, 1)"),
    Fault("different", "made", "made + INTERVAL 2 HOURS"),
    Fault("different", "made", "date_trunc('SECOND', made)"),
    Fault("different", "seen", "seen - INTERVAL 250 MILLISECONDS"),
    Fault("different", "facts", "'{\"i\": 0}'"),
    Fault("different", "flags", "base64(reverse(unbase64(flags)))"),
    Fault("different", "took", "took + 1000000"),
    Fault("different", "big", _LAST_BIT.format("big")),
    Fault("different", "made_in", "made_in + 1"),
    Fault("different", "is_new", "NULL"),
)


@dataclass(frozen=True)
class Lake:
    """The format of a table, and what Spark needs for it."""

    python: str
    settings: Mapping[str, str]
    table: str  # in SQL
    place: str  # the end of its CREATE TABLE
    target: str  # as the command takes it


def delta(folder: Path) -> Lake:
    """Return how the recipe keeps a Delta table in a folder."""
    settings = {**TUNED, "spark.jars": ",".join(map(str, spark_jars()))}
    path = folder / "lake" / "orders"
    place = f"USING delta LOCATION '{path}'"
    return Lake(sys.executable, settings, "orders", place, f"delta:{path}")


def iceberg(folder: Path, servers: Servers) -> Lake:
    """Return how the recipe keeps an Iceberg table in a folder."""
    catalog, warehouse = "org.apache.iceberg.spark", folder / "lake"
    jars = servers.builds.class_path("spark-iceberg", _CLIENTS / "class_paths" / "spark_iceberg")
    requirements = _CLIENTS / "requirements-spark-iceberg.txt"
    common = {key: value for key, value in DELTA.items() if "delta" not in value}
    settings = {
        **common,
        "spark.jars": ",".join(map(str, Path(jars).parent.glob("*.jar"))),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": f"{catalog}.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": f"{catalog}.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(warehouse),
        # A batch has a session of its own: that of the statements would keep an earlier version.
        "spark.sql.catalog.lake.cache-enabled": "false",
    }
    python = str(servers.builds.environment("spark-iceberg-python", requirements))
    return Lake(
        python, settings, "lake.shop.orders", "USING iceberg", f"iceberg:{warehouse}/shop/orders"
    )


class Recipe:
    """The process of the recipe."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def execute(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run SQL in its session, and return the rows; raises RuntimeError if it has failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.check()
        print(" ".join(statement.split()), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self.check()
        rows: list[list[Any]] = json.loads(answer)
        return rows

    def check(self) -> None:
        """Raise RuntimeError if it has ended."""
        if self._process.poll() is not None:
            message = f"the recipe ended: {self._log.read_text()[-3000:]}"
            raise RuntimeError(message)


@contextmanager
def recipe(
    servers: Servers, lake: Lake, row: str, converted: Mapping[str, str]
) -> Iterator[Recipe]:
    """Keep the table of the topic, which has rows with these fields; some are `converted`."""
    names = [field.split()[0] for field in row.split(", ")]
    folder = servers.folder
    config = folder / "recipe.json"
    config.write_text(
        json.dumps(
            {
                "settings": {**lake.settings, **_SETTINGS},
                "bootstrap": servers.broker.bootstrap,
                "topic": TOPIC,
                "checkpoint": str(folder / "checkpoint"),
                "row": row,
                "columns": [f"{converted.get(name, name)} AS {name}" for name in names],
                "table": lake.table,
                "place": lake.place,
            }
        )
    )
    log = folder / "recipe.log"
    java = str(java_runtime(servers.home.cache).parents[1])
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [lake.python, str(_CLIENTS / "programs" / "spark_merge.py"), str(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=os.environ | {"JAVA_HOME": java, "PYSPARK_PYTHON": lake.python},
        ) as process,
    ):
        # It ends when its input does.
        yield Recipe(process, log)


def main() -> None:
    """Make the pipeline and its faults, and compare."""
    parser = arguments(__doc__, lag=60.0)
    parser.add_argument("--format", choices=("delta", "iceberg"), default="delta")
    given = parser.parse_args()
    with TemporaryDirectory() as name, source_and_broker(Path(name)) as servers:
        table = orders(servers, given.rows)
        folder = servers.folder
        lake = delta(folder) if given.format == "delta" else iceberg(folder, servers)
        source = debezium_source(servers, converters(servers, avro=False, schemas=False))
        with source:
            # Spark reads no topic that is not there.
            wait_until(lambda: bool(servers.records(TOPIC)), source.check, "its first record")
            with recipe(servers, lake, _ROW, _CONVERTED) as job:

                def check() -> None:
                    source.check()
                    job.check()

                prove(
                    Copy(table, lake.target, lake.table, job.execute, check, _FAULTS, "string"),
                    given,
                )


if __name__ == "__main__":
    main()
