"""Programs that were written for Debezium's records read ours, and have the rows of the source.

::

    python -m tests.debezium.clients         all of them
    python -m tests.debezium.clients jdbc    one of them: jdbc, confluent, flink or iceberg

Pipelines in the profile `debezium` follow a MySQL server while rows change at random, each in a
format of its own; then the clients read the topics, and what they have made is compared with a
SELECT of the source, value by value. It needs Maven, and Java.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from local_stack import KafkaBroker, MysqlServer
from local_stack.kafka import SchemaRegistryServer
from tests.debezium.clients import confluent, flink, iceberg, jdbc
from tests.debezium.clients.servers import Servers

_CLIENTS = {"jdbc": jdbc, "confluent": confluent, "flink": flink, "iceberg": iceberg}


def main() -> None:
    """Try the client that the command line names, or all; exit with 1 if a row differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.debezium.clients", description=__doc__)
    parser.add_argument("client", nargs="?", choices=_CLIENTS)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [_CLIENTS[arguments.client]] if arguments.client else list(_CLIENTS.values())
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            MysqlServer(folder / "data", version="9") as mysql,
            KafkaBroker(folder / "kafka") as kafka,
            SchemaRegistryServer(folder / "registry") as registry,
        ):
            servers = Servers(folder, mysql, kafka, registry)
            formats: dict[str, dict[str, object]] = {
                prefix: form for each in chosen for prefix, form in each.FORMATS.items()
            }
            servers.stream(formats, arguments.seed)
            for client in chosen:
                for line, found in client.prove(servers):
                    failed |= bool(found)
                    verdict = "equal to the source" if not found else "NOT equal:\n  "
                    print(f"{line}, {verdict}" + "\n  ".join(found), flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
