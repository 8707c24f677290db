"""Properties of the connection to the database become keys of `[source]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.migration.connector_file import REFERENCE

if TYPE_CHECKING:
    from connector.migration.draft import Draft

_MS: Final = 1000
# Debezium takes a random one of this range; here it must stay the same.
_SERVER_ID: Final = 5800
# Connector/J's permission to take the RSA key that a server without TLS sends.
_KEY_OF_SERVER: Final = "driver.allowPublicKeyRetrieval"
_VARIABLE: Final = "BINLOG_CONNECTOR_SOURCE__PASSWORD"
_SSL: Final = {
    "disabled": "disabled",
    "disable": "disabled",
    "preferred": "preferred",
    "required": "required",
    "trust": "required",
    "verify_ca": "verify_ca",
    "verify-ca": "verify_ca",
    "verify_identity": "verify_identity",
    "verify-full": "verify_identity",
}


def convert_source(draft: Draft, *, secrets: bool) -> None:
    """Convert host, account and TLS; raises ConfigError if the host is missing."""
    host = draft.require("database.hostname", draft.pop("database.hostname"), "add it to the file")
    draft.take("database.hostname", "source.host", host)
    draft.number("database.port", "source.port")
    user = draft.pop("database.user")
    if user is not None:
        draft.take("database.user", "source.user", user)
    convert_password(draft, "database.password", "source.password", _VARIABLE, secrets=secrets)
    if "database.server.id" not in draft.left:
        draft.set("source.server_id", _SERVER_ID, "Debezium takes a random number")
    draft.number("database.server.id", "source.server_id")
    draft.number("connect.timeout.ms", "source.connect_timeout_seconds", _MS)
    default = "disable" if draft.connector.is_mariadb else "preferred"
    mode = draft.pop("database.ssl.mode") or default
    found = draft.one_of("database.ssl.mode", mode, _SSL)
    draft.take("database.ssl.mode", "source.tls.mode", found, mode)
    if draft.left.get(_KEY_OF_SERVER, "").lower() == "true":
        draft.flag(_KEY_OF_SERVER, "source.tls.get_server_public_key")


def convert_password(draft: Draft, name: str, key: str, variable: str, *, secrets: bool) -> None:
    """Copy a password if `secrets` are wanted; else say where to put it, without showing it."""
    value = draft.left.pop(name, None)
    if value is None:
        return
    reference = REFERENCE.fullmatch(value)
    if reference is not None and reference[1] in ("dir", "directory"):
        draft.set(f"{key}_file", f"{reference[2]}/{reference[3]}", f"{name} = {value}")
    elif reference is not None and reference[1] == "env":
        draft.say(key, f"{name} = {value}", f'give it by: export {variable}="${reference[3]}"')
    elif reference is not None:
        draft.say(
            key,
            f"{name} = {value}",
            f"write it alone into a file, and name the file: {key.rpartition('.')[2]}_file,",
            f"or give it by: export {variable}=...",
        )
    elif secrets:
        draft.set(key, value, f"{name} = (below)")
    else:
        draft.say(
            key,
            f"{name} = (not shown)",
            f"give it by: export {variable}=...",
            f"or write it into a file, and name the file: {key.rpartition('.')[2]}_file",
        )
