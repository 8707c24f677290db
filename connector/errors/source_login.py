"""S100: reaching a server, logging in, and TLS."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

_SERVER = "source db1:3306"

UNREACHABLE = ErrorCode(
    "S101",
    "{server}: cannot connect: {why}",
    "check that the server runs, {source.host}, {source.port} and firewalls",
    end=End.RETRIED,
    cause=(
        "No server answers at the address. It may be stopped, the address may be wrong, or "
        "something between here and the server drops what is sent."
    ),
    example={"server": _SERVER, "why": "Connection refused"},
)
NAME_LATER = ErrorCode(
    "S102",
    "{server}: the name cannot be resolved for now",
    "check {source.host}, and the name servers of this machine",
    end=End.RETRIED,
    cause="The name servers of this machine did not answer, or asked to come back later.",
    example={"server": _SERVER},
)
NAME_UNKNOWN = ErrorCode(
    "S103",
    "{server}: the name cannot be resolved",
    "check {source.host}",
    end=End.PASSING,
    cause=(
        "The name servers of this machine answered that no machine has this name. They may also do "
        "so while the machine, or its pod, is started again."
    ),
    example={"server": _SERVER},
)
LOGIN_METHOD = ErrorCode(
    "S104",
    "{server}: login failed: {why}",
    "check the account's authentication plugin",
    cause=(
        "The server asked for a login method that this program does not have. The plugin of the "
        "account decides which method it is."
    ),
    example={"server": _SERVER, "why": "Authentication plugin 'client_ed25519' not configured"},
)
ANOTHER_ANSWERED = ErrorCode(
    "S105",
    "{server}: the server that answered is not the one that was checked",
    "name each server itself in {source.host} and {source.failover_hosts}, not an address that "
    "several share",
    end=End.RETRIED,
    cause=(
        "Two logins at one address came to two servers: a proxy or a shared address leads to any "
        "of them. A position in the log of one server means nothing on another."
    ),
    example={"server": _SERVER},
    url_fix="name the server itself in the URL, not an address that several share",
)
NO_TLS = ErrorCode(
    "S111",
    "{server}: the server offers no TLS",
    "set up TLS on the server, or set {source.tls.mode} to preferred",
    cause="The configuration asks for encryption, and the server was started without it.",
    example={"server": _SERVER},
    url_fix="set up TLS on the server, or set {source.tls.mode} to PREFERRED",
)
CERTIFICATE_REFUSED = ErrorCode(
    "S112",
    "{server}: the server's certificate is refused: {why}",
    "check {source.tls.ca} and {source.host}, or lower {source.tls.mode}",
    cause=(
        "The certificate is not signed by the given authority, is not valid now, or names another "
        "host."
    ),
    example={"server": _SERVER, "why": "self-signed certificate in certificate chain"},
)
NO_TLS_SESSION = ErrorCode(
    "S113",
    "{server}: no TLS session: {why}",
    "check the server's TLS settings, or set {source.tls.mode} to disabled",
    cause="Client and server found no protocol version or cipher that both of them accept.",
    example={"server": _SERVER, "why": "WRONG_VERSION_NUMBER"},
    url_fix="check the server's TLS settings, or set {source.tls.mode} to DISABLED",
)
