"""K200: the way to the brokers."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

_PROTOCOL = {"protocol": "PLAINTEXT"}
_COMPARED = (
    "The listener was asked by which protocol it speaks. Each listener of a broker has one "
    "protocol, and clients must use it."
)

WAY = ErrorCode(
    "K201",
    "kafka {servers}: {why}",
    end=End.RETRIED,
    frame=True,
    cause="No broker of kafka.bootstrap_servers lets the connector in.",
    example={"servers": "kafka-1:9092", "why": "cannot connect: Connection refused"},
)
SEVERAL = ErrorCode(
    "K202",
    "no broker lets us in:{problems:lines}",
    end=End.RETRIED,
    cause=(
        "The addresses of kafka.bootstrap_servers fail for different reasons, and each has its "
        "line. The attempt is repeated while one of the reasons may pass."
    ),
    example={"problems": ["kafka-1:9092: cannot connect", "kafka-2:9092: authentication failed"]},
)
AT_ADDRESS = ErrorCode(
    "K203",
    "{address}: {why}",
    end=End.RETRIED,
    frame=True,
    cause="One of several addresses does not let the connector in.",
    example={"address": "kafka-1:9092", "why": "cannot connect: Connection refused"},
)
AT_ADVERTISED = ErrorCode(
    "K204",
    "{address}: {why:what}",
    end=End.RETRIED,
    frame=True,
    cause="An address that a broker gave does not let the connector in.",
    example={"address": "kafka-1:9092", "why": "cannot connect: Connection refused"},
)
NO_CONNECTION = ErrorCode(
    "K211",
    "cannot connect: {why}",
    "check {kafka.bootstrap_servers}, firewalls, and that the brokers are up",
    end=End.RETRIED,
    cause="Nobody listens at the address, or the network does not carry the connection.",
    example={"why": "Connection refused"},
)
NO_NAME = ErrorCode(
    "K212",
    "the name cannot be resolved",
    "check {kafka.bootstrap_servers}",
    cause="The name servers know no such host.",
)
NO_NAME_NOW = ErrorCode(
    "K213",
    "the name cannot be resolved for now",
    "check {kafka.bootstrap_servers}, and the name servers of this machine",
    end=End.RETRIED,
    cause="The name servers did not answer.",
)
NOT_KAFKA = ErrorCode(
    "K214",
    "what listens there does not answer as Kafka does",
    "check {kafka.bootstrap_servers}, and that the brokers are up",
    end=End.RETRIED,
    cause="Another program listens at the address, or the broker starts or stops just now.",
)
ADVERTISED = ErrorCode(
    "K215",
    "a broker answers, but none at the addresses that it gives: {addresses}",
    "set advertised.listeners of the brokers to addresses that this machine reaches",
    end=End.RETRIED,
    cause=(
        "A broker tells its clients at which addresses the brokers are. Behind address "
        "translation, in containers and tunnels, these are often not the ones that clients reach."
    ),
    example={"addresses": ["kafka-1.internal:9092: the name cannot be resolved"]},
)
NO_TLS = ErrorCode(
    "K221",
    "the listener does not speak TLS, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, or name the port of a listener with TLS in {kafka.bootstrap_servers}",
    cause=_COMPARED,
    example={"protocol": "SSL", "right": "PLAINTEXT"},
)
TLS_ALONE = ErrorCode(
    "K222",
    "the listener speaks TLS alone, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, or name the port of a listener without TLS in {kafka.bootstrap_servers}",
    cause=_COMPARED,
    example={**_PROTOCOL, "right": "SSL"},
)
NO_SESSION = ErrorCode(
    "K223",
    "no TLS session: {why}",
    "check the TLS settings of the brokers",
    end=End.RETRIED,
    cause="Client and broker do not agree on a version or a cipher, or the connection broke.",
    example={"why": "TLSV1_ALERT_PROTOCOL_VERSION"},
)
CERTIFICATE = ErrorCode(
    "K224",
    "the broker's certificate is refused: {why}",
    "check {kafka.ssl_ca}, and the names in {kafka.bootstrap_servers}",
    cause=(
        "The certificate was not signed by an authority that the connector trusts, has run out, "
        "or names another host."
    ),
    example={"why": "self-signed certificate"},
)
CLIENT_CERTIFICATE = ErrorCode(
    "K225",
    "the broker wants a certificate of this client that it trusts",
    "set {kafka.ssl_certificate} and {kafka.ssl_key}",
    cause="The listener has ssl.client.auth=required.",
)
WANTS_LOGIN = ErrorCode(
    "K231",
    "the listener wants a login by {offered}, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, and set {kafka.sasl_mechanism}, {kafka.sasl_username} and "
    "{kafka.sasl_password}",
    cause=_COMPARED,
    example={"offered": ["SCRAM-SHA-512"], **_PROTOCOL, "right": "SASL_PLAINTEXT"},
)
TAKES_NO_LOGIN = ErrorCode(
    "K232",
    "the listener takes no login, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, or name the port of a listener with a login in {kafka.bootstrap_servers}",
    cause=_COMPARED,
    example={"protocol": "SASL_PLAINTEXT", "right": "PLAINTEXT"},
)
OTHER_MECHANISM = ErrorCode(
    "K233",
    "the listener takes a login by {offered}, and {kafka.sasl_mechanism} is {mechanism}",
    "set one that the listener takes",
    cause="A listener takes the mechanisms of sasl.enabled.mechanisms.",
    example={"offered": ["SCRAM-SHA-512"], "mechanism": "PLAIN"},
)
LOGIN_REFUSED = ErrorCode(
    "K234",
    "authentication failed",
    "check {kafka.sasl_username} and {kafka.sasl_password}",
    cause="The broker does not know the user, or the password is another one.",
)
