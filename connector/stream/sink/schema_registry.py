"""A schema registry with Confluent's interface, such as Confluent's, Apicurio's or Karapace.

https://docs.confluent.io/platform/current/schema-registry/develop/api.html
"""

import json
import ssl
from base64 import b64encode
from http import HTTPStatus
from typing import Any, Final, final
from urllib.parse import quote
from urllib.request import HTTPSHandler, OpenerDirector, Request, build_opener

from connector.foundation.errors import ConfigError, SinkRefused, SinkUnavailable, UnsupportedChange
from connector.foundation.http_requests import NoAnswer, ask
from connector.foundation.settings.sections import RegistrySettings
from connector.kafka import connection_errors
from connector.stream.envelope.debezium.registry_schemas import SchemaIds, SchemaType

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
# An answer has an id, or a text for people.
_ANSWER_BYTES_MAX: Final = 1024 * 1024
_REFUSED: Final = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
_LOGIN: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
# Those that another attempt may change.
_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
# The registry's codes for what it does not have: a subject, a version, a schema.
_UNKNOWN: Final = (40401, 40402, 40403)
_HEADERS: Final = {"Content-Type": _MEDIA_TYPE, "Accept": _MEDIA_TYPE}


@final
class SchemaRegistry(SchemaIds):
    """Registers schemas, and remembers their ids."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Nothing is asked before the first id; raises ConfigError for an unreadable file."""
        self._urls = settings.urls
        self._registers = settings.auto_register
        self._seconds = settings.timeout_seconds
        self._opener = _opener(settings)
        self._identity: dict[str, str] = {}
        if settings.username is not None:
            login = f"{settings.username}:{settings.read_password()}".encode()
            self._identity["Authorization"] = f"Basic {b64encode(login).decode()}"
        self._ids: dict[tuple[str, str], int] = {}

    def id_of(self, subject: str, schema_type: SchemaType, schema: str) -> int:
        """Return the id of `schema`, as `SchemaIds` says."""
        known = self._ids.get((subject, schema))
        if known is None:
            known = self._asked(subject, schema_type, schema)
            self._ids[subject, schema] = known
        return known

    def check(self) -> str:
        """Return the URL of the registry that answers.

        Raises what `id_of` raises if none does, or if it refuses the login.
        """
        url, status, answer = self._ask("/subjects")
        if status != HTTPStatus.OK or not isinstance(answer, list):
            raise _refusal(url, status, answer)
        return url

    def _asked(self, subject: str, schema_type: SchemaType, schema: str) -> int:
        path = f"/subjects/{quote(subject, safe='')}"
        if self._registers:
            path += "/versions"
        body: dict[str, str] = {"schema": schema}
        if schema_type != "AVRO":
            # A registry that knows only Avro does not know the field.
            body["schemaType"] = schema_type
        url, status, answer = self._ask(path, json.dumps(body).encode())
        facts = answer if isinstance(answer, dict) else {}
        schema_id = facts.get("id")
        if status == HTTPStatus.OK and isinstance(schema_id, int) and 0 <= schema_id < 2**31:
            return schema_id
        if status in _REFUSED:
            why = _reason(status, answer)
            raise UnsupportedChange(
                connection_errors.SCHEMA_REFUSED, url=url, subject=subject, why=why
            )
        if facts.get("error_code") in _UNKNOWN and not self._registers:
            raise UnsupportedChange(connection_errors.SCHEMA_UNKNOWN, url=url, subject=subject)
        raise _refusal(url, status, answer)

    def _ask(self, path: str, body: bytes | None = None) -> tuple[str, int, Any]:
        """Return the URL that answered, the status, and the parsed answer; None for no JSON."""
        why = ""
        for url in self._urls:
            request = Request(url + path, body, _HEADERS)  # noqa: S310 - the setting is checked
            try:
                status, content = ask(
                    self._opener, request, self._identity, self._seconds, _ANSWER_BYTES_MAX
                )
            except NoAnswer as error:
                why = str(error)
            else:
                return url, status, _parsed(content)
        raise SinkUnavailable(
            connection_errors.AWAY,
            answered=False,
            urls=self._urls,
            why=why,
        )


def _opener(settings: RegistrySettings) -> OpenerDirector:
    if not any(url.startswith("https:") for url in settings.urls):
        return build_opener()
    try:
        context = ssl.create_default_context(
            cafile=None if settings.ca is None else str(settings.ca)
        )
        if settings.certificate is not None:
            context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            connection_errors.REGISTRY_FILES, said=error.strerror or str(error)
        ) from error
    return build_opener(HTTPSHandler(context=context))


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _reason(status: int, answer: Any) -> str:
    """Return what the registry says, and its own code."""
    if isinstance(answer, dict) and isinstance(answer.get("message"), str):
        return f"{answer['message']} ({answer.get('error_code', status)})"
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _refusal(url: str, status: int, answer: Any) -> SinkRefused | SinkUnavailable:
    why = _reason(status, answer)
    if status in _LOGIN:
        return SinkRefused(connection_errors.LOGIN, url=url, why=why)
    if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return SinkUnavailable(connection_errors.FAILED, url=url, why=why)
    return SinkRefused(connection_errors.NO_REGISTRY, url=url, why=why)
