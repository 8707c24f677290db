"""Configuration, connecting, server settings and grants."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_GRANT = (
    ": GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account of source.user; see "
    "`binlog-connector config grants.sql`"
)
_SELECT = ": GRANT SELECT on the table TO the account of source.user"
_PASSWORD = (
    ": check source.user and source.password, and that the account may log in from this host"
)
_NEW_PASSWORD = ": give the account a new password"
_PLUGIN = ": use an account with caching_sha2_password"
_UNLOCK = ": ALTER USER ... ACCOUNT UNLOCK"
_NETWORK = ": look at the network between here and the server"
_STOPPING = ": start the server again, or name another one in source.failover_hosts"
_KILLER = ": look for whoever kills connections"
_RUNS = ": check that the server runs"


def _settings(key: str, what: str, fix: str) -> Cause:
    return Cause(key, what, fix, End.CONFIGURATION)


def _number(number: int, fix: str, end: End = End.DEFINITE) -> Cause:
    return Cause(f"server.{number}", f"{{place}}: error {number}: {{said}}", fix, end)


def _passing(number: int, fix: str) -> Cause:
    return _number(number, fix, End.RETRIED)


CONFIGURATION = Group(
    "Configuration",
    "Said by every command, before anything is connected to.",
    (
        _settings(
            "config.tls_file",
            "source.tls.{key} {path}: {why}",
            ": name a PEM file that this user may read",
        ),
    ),
)

LOGIN = Group(
    "Network, login and TLS",
    "`place` is `source HOST:PORT`; `said` is the server's own text.",
    (
        Cause(
            "login.unreachable",
            "{place}: cannot connect: {why}",
            ": check that the server runs, source.host, source.port and firewalls",
            End.RETRIED,
        ),
        Cause(
            "login.name_later",
            "{place}: the name cannot be resolved for now",
            ": check source.host, and the name servers of this machine",
            End.RETRIED,
        ),
        Cause("login.name", "{place}: the name cannot be resolved", ": check source.host"),
        _number(1045, _PASSWORD),
        _number(1698, _PASSWORD),
        Cause(
            "login.plugin",
            "{place}: login failed: {why}",
            ": check the account's authentication plugin",
        ),
        _number(1251, _PLUGIN),
        _number(2059, _PLUGIN),
        _number(1129, ": run FLUSH HOSTS on the server"),
        _number(1130, ": create the account for this host"),
        _number(1820, _NEW_PASSWORD),
        _number(1862, _NEW_PASSWORD),
        _number(3118, _UNLOCK),
        _number(4151, _UNLOCK),
        _number(3159, ": set source.tls.mode to required"),
        Cause(
            "tls.none",
            "{place}: the server offers no TLS",
            ": set up TLS on the server, or set source.tls.mode to preferred",
        ),
        Cause(
            "tls.certificate",
            "{place}: the server's certificate is refused: {why}",
            ": check source.tls.ca and source.host, or lower source.tls.mode",
        ),
        Cause(
            "tls.session",
            "{place}: no TLS session: {why}",
            ": check the server's TLS settings, or set source.tls.mode to disabled",
        ),
        Cause(
            "login.another",
            "{place}: another server answered than the one that was checked",
            ": name each server itself in source.host and source.failover_hosts, not an address "
            "that several share",
            End.RETRIED,
        ),
    ),
)

CONDITIONS = Group(
    "Conditions of a server that pass",
    "The connection is made anew, and what was not committed is read again.",
    (
        _passing(1040, ": raise max_connections, or close idle connections"),
        *(_passing(number, _STOPPING) for number in (1053, 1077, 1079)),
        *(_passing(number, _NETWORK) for number in (1152, 1158, 1159, 1160)),
        _passing(1161, ": look at the network, or raise net_write_timeout"),
        _passing(1203, ": raise max_user_connections"),
        _passing(1205, ": look for a session that holds locks"),
        _passing(1226, ": raise the resource limits of this account"),
        _passing(1317, ": look for whoever kills queries"),
        _passing(1927, _KILLER),
        _passing(2003, ": check that the server runs, source.host and source.port"),
        *(_passing(number, _RUNS) for number in (2006, 2013)),
        _passing(3024, ": raise max_execution_time"),
        _passing(3032, ": the server is in offline mode: SET GLOBAL offline_mode = OFF"),
        _passing(3169, _KILLER),
        _passing(4031, ": raise wait_timeout"),
    ),
)

SERVER = Group(
    "Server settings and grants",
    "`check` shows all of them with what is good, and advice that is no error.",
    (
        Cause(
            "server.settings",
            "{place}: the server cannot be followed as it is set up:\n"
            "  {setting} is {value}, wanted {wanted}",
            ": {statement}",
        ),
        *(_number(number, _SELECT) for number in (1044, 1142, 1143)),
        _number(1227, _GRANT),
        Cause("server.grant", "{place}: error 1045: {said}", _GRANT),
        _number(1381, ": start the server with log_bin"),
        _number(1220, ": choose a position that SHOW BINLOG EVENTS prints"),
        _number(
            2026, ": set source.tls.mode, source.tls.ca and source.host to what the server offers"
        ),
        Cause(
            "server.unknown",
            "{place}: error {number}: {said}",
            ": look the number up in the server's error reference",
        ),
    ),
)

SETTINGS = (CONFIGURATION, LOGIN, CONDITIONS, SERVER)
