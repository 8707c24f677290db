"""C140: the configuration: what chosen settings need, and which do not go together."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_CONFIGURATION = End.CONFIGURATION

OTLP_EXTRA = ErrorCode(
    "C118",
    "{metrics.otlp} needs more packages ({said})",
    "pip install 'binlog-connector[otel]'",
    end=_CONFIGURATION,
    cause="Figures and spans are exported with packages of the extra `otel`.",
    example={"said": "No module named 'opentelemetry'"},
)
OTLP_PAUSE = ErrorCode(
    "C119",
    "{variable} is {value!r}, wanted milliseconds above 0",
    "correct or remove it",
    end=_CONFIGURATION,
    cause="OpenTelemetry's variable says how often figures are exported.",
    example={"variable": "OTEL_METRIC_EXPORT_INTERVAL", "value": "60s"},
)
OF_DEBEZIUM = ErrorCode(
    "C143",
    '{key} = {value} needs profile = "debezium"',
    end=_CONFIGURATION,
    cause=(
        "The profile `exact` has one form for each value. Decimals, for example, are text with "
        "all their digits."
    ),
    example={"key": "decimals", "value": '"double"'},
)
ONE_MASK = ErrorCode(
    "C145",
    "the mask of {columns} needs exactly one of chars, truncate and hash",
    end=_CONFIGURATION,
    cause="A column has one text in records.",
    example={"columns": ("shop.users.email",)},
)
OF_FLAT = ErrorCode(
    "C149",
    '{key} = {value} needs shape = "flat"',
    end=_CONFIGURATION,
    cause="An envelope tells deletes and the fields of the source by itself.",
    example={"key": "flat_deletes", "value": '"rewrite"'},
)
OWN_TOPIC = ErrorCode(
    "C151",
    "rows cannot go to topic {topic}, which holds records of the connector's own",
    end=_CONFIGURATION,
    cause=(
        "The topics <prefix> and <prefix>.schema, .progress, .snapshot, .fences, .quarantine, "
        ".commands, .transaction and .heartbeat are those of the connector."
    ),
    example={"topic": "shop.schema"},
)
TOPIC_IN_USE = ErrorCode(
    "C153",
    "notifications cannot go to topic {topic}, which holds other records of the connector",
    end=_CONFIGURATION,
    cause=OWN_TOPIC.cause,
    example={"topic": "shop.heartbeat"},
)
EXPANDED_TEXT = ErrorCode(
    "C154",
    'expand_payload needs value_format = "json" or "json_with_schema"',
    end=_CONFIGURATION,
    cause=(
        "A value that is expanded is JSON. With plain, a JSON document is the value as it is, "
        "without being expanded."
    ),
)
NO_HEARTBEATS = ErrorCode(
    "C155",
    "source.heartbeat_statement needs heartbeats: delivery.heartbeat_interval_seconds is 0",
    "set delivery.heartbeat_interval_seconds to the seconds between two executions",
    end=_CONFIGURATION,
    cause="The statement is executed with each heartbeat, and without an interval there is none.",
)
NO_REGISTRY_URLS = ErrorCode(
    "C187",
    "{key} = {value} needs the URLs of a schema registry",
    'name them: registry.urls = ["http://registry:8081"]',
    end=_CONFIGURATION,
    cause="Records in these formats have only the id of their schema, which a registry has.",
    example={"key": "value_format", "value": '"avro"'},
)
REGISTRY_FILES = ErrorCode(
    "C190",
    "{registry.ca}, {registry.certificate} or {registry.key} cannot be read: {said}",
    "name PEM files that the connector may read",
    end=_CONFIGURATION,
    cause="They are needed for a registry with https.",
    example={"said": "No such file or directory"},
)
FLAT_EVENT = ErrorCode(
    "C192",
    'value_format = "cloudevents" needs shape = "envelope"',
    end=_CONFIGURATION,
    cause="A CloudEvent has the envelope as its data.",
)
