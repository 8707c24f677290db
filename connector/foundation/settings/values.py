"""Types of single settings; their errors say in words what is allowed."""

import re
from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import nearest
from connector.foundation.record_formats import FLAT_FIELDS
from connector.foundation.settings import settings_errors
from connector.foundation.settings.file_settings import UnfitValueError
from connector.foundation.settings.log_folder import is_folder, require_folder

_PORT_MAX = 65535
_SERVER = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+)(?::([0-9]{1,5}))?")


def _as_server(address: str) -> str:
    _port_of(address, settings_errors.ADDRESS)
    return address


def as_listen_address(address: str) -> str:
    """Return an address to listen on; raises UnfitValueError unless it is HOST:PORT."""
    if _port_of(address, settings_errors.LISTEN) is None:
        raise UnfitValueError(settings_errors.LISTEN)
    return address


def _port_of(address: str, form: ErrorCode) -> int | None:
    """Return the port of HOST:PORT, None of HOST; raises UnfitValueError, for others by `form`."""
    match = _SERVER.fullmatch(address)
    if match is None:
        raise UnfitValueError(form)
    if match[1] is None:
        return None
    port = int(match[1])
    if not 1 <= port <= _PORT_MAX:
        raise UnfitValueError(settings_errors.PORT)
    return port


def _as_broker(address: str) -> str:
    return require_folder(address) if is_folder(address) else _as_server(address)


def _matching(pattern: str, code: ErrorCode) -> AfterValidator:
    """Return a check that raises `code` if the value does not match the pattern."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise UnfitValueError(code)
        return value

    return AfterValidator(check)


def as_table_pattern(value: str) -> str:
    """Return a pattern of tables; raises UnfitValueError unless it is DATABASE.TABLE."""
    database, _, table = value.partition(".")
    if not (database and table):
        is_database = bool(value) and "." not in value
        raise UnfitValueError(
            settings_errors.DATABASE if is_database else settings_errors.TABLE, value=value
        )
    return value


def _as_column_pattern(value: str) -> str:
    parts = value.split(".", 2)
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - database, table and column
        raise UnfitValueError(settings_errors.COLUMN, value=value)
    return value


def _as_message_key(value: str) -> str:
    table, _, columns = value.partition(":")
    database, _, name = table.partition(".")
    if not (database and name and all(part.strip() for part in columns.split(","))):
        raise UnfitValueError(settings_errors.MESSAGE_KEY, value=value)
    return value


def _as_flat_field(value: str) -> str:
    if value not in FLAT_FIELDS:
        raise UnfitValueError(settings_errors.FLAT_FIELD, value=value)
    return value


def _as_registry_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or "@" in value or "?" in value or "#" in value:
        # The value is not shown: it may have a password.
        raise UnfitValueError(settings_errors.REGISTRY_URL)
    return value.rstrip("/")


def _as_start(value: str) -> str:
    if not re.fullmatch(_START, value, re.DOTALL):
        word, colon, rest = value.partition(":")
        if word in _START_FORMS:
            raise UnfitValueError(_START_FORMS[word], value=value)
        meant = nearest(word, [*_START_WORDS, *_START_FORMS])
        if meant is None:
            raise UnfitValueError(settings_errors.START, value=value)
        raise UnfitValueError(
            settings_errors.SIMILAR_START, value=value, meant=f"{meant}{colon}{rest}"
        )
    return value


_START_WORDS = ("snapshot", "earliest", "latest")
_START_FORMS = {
    "gtid": settings_errors.START_GTID,
    "position": settings_errors.START_POSITION,
    "timestamp": settings_errors.START_TIME,
}
_START = (
    r"snapshot|earliest|latest|gtid:.*|position:[^:]+\.[0-9]+:[0-9]+(\+[0-9]+\+[0-9]+)?"
    r"|timestamp:[0-9]{4}-[0-9]{2}-[0-9]{2}.+"
)
TOPIC_PREFIX: Final = r"[A-Za-z0-9_-]+"

Port = Annotated[int, Field(ge=1, le=65535)]
TablePattern = Annotated[str, AfterValidator(as_table_pattern)]
ColumnPattern = Annotated[str, AfterValidator(_as_column_pattern)]
MessageKey = Annotated[str, AfterValidator(_as_message_key)]
FlatField = Annotated[str, AfterValidator(_as_flat_field)]
RegistryUrl = Annotated[str, AfterValidator(_as_registry_url)]
StartSetting = Annotated[str, AfterValidator(_as_start)]
ServerAddress = Annotated[str, AfterValidator(_as_server)]
# Or the URL of a folder that has the log.
BrokerAddress = Annotated[str, AfterValidator(_as_broker)]
ListenAddress = Annotated[str, AfterValidator(as_listen_address)]
CollectorAddress = Annotated[str, _matching(r"https?://[^\s?#@]+", settings_errors.COLLECTOR)]
PipelineName = Annotated[str, _matching(r"[A-Za-z0-9._-]+", settings_errors.NAME)]
TopicPrefix = Annotated[str, _matching(TOPIC_PREFIX, settings_errors.PREFIX)]


def is_loopback(host: str) -> bool:
    """Return whether a server at this address can be reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
