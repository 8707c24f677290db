"""Options of converters with a schema registry become keys of `[envelope]` and `[registry]`.

https://docs.confluent.io/platform/current/schema-registry/connect.html
https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.migration.patterns import split_list

if TYPE_CHECKING:
    from connector.migration.draft import Draft

# By the last part of the name of a converter.
FORMATS: Final[dict[str, str]] = {"AvroConverter": "avro", "JsonSchemaConverter": "json_schema"}

_URL: Final = "schema.registry.url"
_APICURIO: Final = "apicurio.registry."
# Apicurio's own interface, and the one of Confluent's that it has beside it.
_APICURIO_PATH: Final = "/apis/registry/v2"
_CONFLUENT_PATH: Final = "/apis/ccompat/v7"
_STRATEGIES: Final = {
    "TopicNameStrategy": "topic",
    "RecordNameStrategy": "record",
    "TopicRecordNameStrategy": "topic_record",
}
_OTHER_IDS: Final = (
    "consumers find the id of a schema in four bytes before the record, as Confluent's converters "
    "write it"
)


def convert_registry(draft: Draft, side: str, converter: str) -> bool:
    """Convert a converter of keys or values; return whether it has a counterpart."""
    found = FORMATS.get(converter.rpartition(".")[2])
    if found is None:
        return False
    prefix = f"{side}.converter."
    draft.take(f"{side}.converter", f"envelope.{side}_format", found, converter)
    _convert_url(draft, prefix)
    _convert_login(draft, prefix)
    _convert_subjects(draft, prefix, side)
    return True


def _convert_url(draft: Draft, prefix: str) -> None:
    name = prefix + _URL
    text = draft.pop(name)
    if text is None:
        name = f"{prefix}{_APICURIO}url"
        text = draft.pop(name)
        _convert_apicurio(draft, prefix)
    text = draft.require(
        prefix + _URL, text, "it may be that of the worker: write it into the file"
    )
    urls = [url.rstrip("/").replace(_APICURIO_PATH, _CONFLUENT_PATH) for url in split_list(text)]
    other = draft.value("registry.urls")
    if other is not None and other != urls:
        draft.no_counterpart(name, f"keys and values have one registry, {other}")
        return
    draft.take(name, "registry.urls", urls, text)


def _convert_apicurio(draft: Draft, prefix: str) -> None:
    handler = draft.pop(f"{prefix}{_APICURIO}id-handler") or ""
    short = (draft.pop(f"{prefix}{_APICURIO}as-confluent") or "").lower() == "true"
    in_headers = (draft.pop(f"{prefix}{_APICURIO}headers.enabled") or "true").lower() == "true"
    if in_headers or not (short or handler.endswith("Legacy4ByteIdHandler")):
        draft.no_counterpart(f"{prefix}{_APICURIO}as-confluent", _OTHER_IDS)
    registers = draft.pop(f"{prefix}{_APICURIO}auto-register")
    # Its own default is false.
    draft.set(
        "registry.auto_register",
        (registers or "false").lower() == "true",
        f"{prefix}{_APICURIO}auto-register = {registers or 'false'}",
    )


def _convert_login(draft: Draft, prefix: str) -> None:
    source = draft.pop(f"{prefix}basic.auth.credentials.source")
    name = f"{prefix}basic.auth.user.info"
    login = draft.pop(name, f"{prefix}schema.registry.basic.auth.user.info")
    if login is None:
        if source is not None and source != "USER_INFO":
            draft.say("registry.username", f"{prefix}basic.auth.credentials.source = {source}")
        return
    user = login.partition(":")[0]
    draft.take(name, "registry.username", user, f"{user}:…")
    draft.say(
        "registry.password_file",
        "the password: in a file that registry.password_file names, or in",
        "BINLOG_CONNECTOR_REGISTRY__PASSWORD",
    )


def _convert_subjects(draft: Draft, prefix: str, side: str) -> None:
    registers = draft.pop(f"{prefix}auto.register.schemas")
    if registers is not None:
        is_true = registers.lower() == "true"
        draft.take(f"{prefix}auto.register.schemas", "registry.auto_register", is_true, registers)
    name = f"{prefix}{side}.subject.name.strategy"
    strategy = draft.pop(name)
    if strategy is None:
        return
    found = _STRATEGIES.get(strategy.rpartition(".")[2])
    other = draft.value("registry.subject_strategy")
    if found is None or other not in (None, found):
        draft.no_counterpart(
            name, "subjects of keys and values are named by one of three strategies"
        )
        return
    draft.take(name, "registry.subject_strategy", found, strategy)
