"""The formats of the profile `debezium`, end to end, beside a tuned Debezium with the same one.

Both read the same binlogs, as in `replay`, and write the same keys and values. Schemas in Avro are
in a private registry; Debezium writes them with Apicurio's converter, as Confluent's.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from benchmarks.builds import Builds
from benchmarks.connectors import OurConnector
from benchmarks.debezium import TUNED, DebeziumConnector
from benchmarks.process import say
from benchmarks.replay import DATABASE, merge, run_once
from benchmarks.rounds import rounds
from benchmarks.stack import stack
from local_stack.kafka import SchemaRegistryServer

if TYPE_CHECKING:
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home

_AVRO: Final = "io.apicurio.registry.utils.converter.AvroConverter"
_NAMES: Final = {"field.name.adjustment.mode": "avro", "schema.name.adjustment.mode": "avro"}
_SIDES: Final = ("key", "value")


def measure_formats(
    home: Home, data: dict[str, DataFile], runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of both programs by format, and print the ratios; raises RunFailed."""
    jars = Builds(home.cache).connect()
    folder = home.folder("registry")
    shutil.rmtree(folder, ignore_errors=True)
    measured: dict[str, dict[str, Any]] = {}
    with ExitStack() as started:
        servers = started.enter_context(stack(home))
        registry = started.enter_context(SchemaRegistryServer(folder, home.cache))
        for turn in rounds(runs):
            for name, (keys, options) in _formats(registry).items():
                topics = f"{name}{turn.number}"
                ours = OurConnector(servers, f"o-{topics}", DATABASE, compiled, keys)
                theirs = DebeziumConnector(
                    servers, f"d-{topics}", DATABASE, jars, {**TUNED, **options}
                )
                found = measured.setdefault(name, {"ours": {}, "debezium": {}})
                for who, connector in (("ours", ours), ("debezium", theirs)):
                    say(f"formats, {turn}: {name}, {connector.name}")
                    run = run_once(servers, connector, data, count=False)
                    if turn.counts:
                        merge(found[who], run)
    for name, both in measured.items():
        for phase in ("oltp", "bulk"):
            own, other = (both[who][phase]["messages_per_s"] for who in ("ours", "debezium"))
            say(
                f"formats, {name}, {phase}: {own:,.0f} records/s, Debezium {other:,.0f}: "
                f"{own / other:.1f} times as fast"
            )
    return measured


def _formats(registry: SchemaRegistryServer) -> dict[str, tuple[str, dict[str, str]]]:
    """Return our keys of the configuration and Debezium's options, by format."""
    address = registry.endpoint
    with_schema = {f"{side}.converter.schemas.enable": "true" for side in _SIDES}
    avro = {f"{side}.converter": _AVRO for side in _SIDES}
    options = {
        "url": f"http://{address.host}:{address.port}/apis/registry/v2",
        "auto-register": "true",
        "headers.enabled": "false",
        "as-confluent": "true",
        "use-id": "contentId",
    }
    for side in _SIDES:
        avro |= {f"{side}.converter.apicurio.registry.{name}": options[name] for name in options}
    profile = '[envelope]\nprofile = "debezium"\n'
    return {
        "json": (profile, {}),
        "schemas": (
            f'{profile}key_format = "json_with_schema"\nvalue_format = "json_with_schema"\n',
            with_schema,
        ),
        "avro": (
            (
                f'{profile}key_format = "avro"\nvalue_format = "avro"\nfield_names = "avro"\n'
                f'schema_names = "avro"\n[registry]\nurls = ["{registry.url}"]\n'
            ),
            avro | _NAMES,
        ),
    }
