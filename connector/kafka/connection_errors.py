"""Connections to the brokers and to the schema registry; what was asked of Kafka."""

from connector.foundation.errors import code

WAY = code.frame("kafka {servers}: {why}", was="K201")
SEVERAL = code.transient_error(
    "K202",
    "no broker accepts the connection:{problems:lines}",
    cause="The addresses of kafka.bootstrap_servers fail for different reasons, and each has its "
    "line. The attempt is repeated while one of the reasons may pass.",
    example={"problems": ["kafka-1:9092: cannot connect", "kafka-2:9092: authentication failed"]},
)
AT_ADDRESS = code.frame("{address}: {why}", was="K203")
AT_ADVERTISED = code.frame("{address}: {why:what}", was="K204")
NO_CONNECTION = code.transient_error(
    "K211",
    "cannot connect: {why}",
    "check {kafka.bootstrap_servers}, firewalls, and that the brokers are up",
    cause="No program listens at the address, or the network blocks the connection.",
    example={"why": "Connection refused"},
)
NO_NAME = code.ErrorCode(
    "K212",
    "the name cannot be resolved",
    "check {kafka.bootstrap_servers}",
    end=code.End.PASSING,
    cause="The name servers know no such host. They may also say so while the broker, or its pod, "
    "is started again.",
)
NO_NAME_NOW = code.transient_error(
    "K213",
    "the name cannot be resolved for now",
    "check {kafka.bootstrap_servers}, and the name servers of this machine",
    cause="The name servers did not answer.",
)
NOT_KAFKA = code.transient_error(
    "K214",
    "the program that listens there does not answer like Kafka",
    "check {kafka.bootstrap_servers}, and that the brokers are up",
    cause="Another program listens at the address, or the broker is starting or stopping.",
)
ADVERTISED = code.transient_error(
    "K215",
    "a broker answers, but no broker at the addresses that it announces: {addresses}",
    "set advertised.listeners of the brokers to addresses that this machine reaches",
    cause="A broker announces the addresses of all brokers to its clients. With address "
    "translation, containers or tunnels, clients often cannot reach these addresses.",
    example={"addresses": ["kafka-1.internal:9092: the name cannot be resolved"]},
)
FOLDER_IN_USE = code.transient_error(
    "K216",
    "a process has locked the folder of the log, {folder}, and does not answer at its socket",
    "end this process; a log in a folder is for the processes of one machine",
    cause="The process that has the lock serves the log to all others, at a socket in the folder. "
    "This one is just starting or ending, it has stopped, or it runs on another machine or in "
    "another container, with which the folder is shared; such processes need Kafka.",
    example={"folder": "/var/lib/cdc/log"},
)
NO_LEADER = code.notice(
    "K327",
    "no broker leads partition {partition}: an open transaction is ended without it",
    "start the brokers that have it; the next commit of the pipeline to this partition ends the "
    "transaction there, and may show records that were aborted: verify compares them",
    cause="The process before has left a transaction open in this partition and others. For the "
    "time of a request, no broker has led this partition, and the others wait no longer. Kafka 4 "
    "ends a transaction without a partition that has no leader.",
    example={"partition": "cdc.erp.orders-0"},
)
_COMPARED = (
    "The listener was asked for its protocol. Each listener of a broker has one protocol, and "
    "clients must use it."
)

LISTENER_PROTOCOL = code.ErrorCode(
    "K235",
    "the listener {reason}, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, or name the port of a listener {kind} in {kafka.bootstrap_servers}",
    cause="The listener was asked for its protocol. Each listener of a broker has one protocol, "
    "and clients must use it.",
)
NO_TLS = LISTENER_PROTOCOL.because("does not speak TLS", kind="with TLS", was="K221")
TLS_ALONE = LISTENER_PROTOCOL.because("speaks only TLS", kind="without TLS", was="K222")
TAKES_NO_LOGIN = LISTENER_PROTOCOL.because("takes no login", kind="with a login", was="K232")

_PROTOCOL = {"protocol": "PLAINTEXT"}
NO_SESSION = code.transient_error(
    "K223",
    "no TLS session: {why}",
    "check the TLS settings of the brokers",
    cause="Client and broker do not agree on a version or a cipher, or the connection broke.",
    example={"why": "TLSV1_ALERT_PROTOCOL_VERSION"},
)
CERTIFICATE = code.ErrorCode(
    "K224",
    "the broker's certificate is refused: {why}",
    "check {kafka.ssl_ca}, and the names in {kafka.bootstrap_servers}",
    cause="The certificate was not signed by an authority that the connector trusts, has expired, "
    "or names another host.",
    example={"why": "self-signed certificate"},
)
CLIENT_CERTIFICATE = code.ErrorCode(
    "K225",
    "the broker wants a certificate of this client that it trusts",
    "set {kafka.ssl_certificate} and {kafka.ssl_key}",
    cause="The listener has ssl.client.auth=required.",
)
WANTS_LOGIN = code.ErrorCode(
    "K231",
    "the listener wants a login by {offered}, and {kafka.security_protocol} is {protocol}",
    "set it to {right}, and set {kafka.sasl_mechanism}, {kafka.sasl_username} and "
    "{kafka.sasl_password}",
    cause=_COMPARED,
    example={"offered": ["SCRAM-SHA-512"], **_PROTOCOL, "right": "SASL_PLAINTEXT"},
)
OTHER_MECHANISM = code.ErrorCode(
    "K233",
    "the listener takes a login by {offered}, and {kafka.sasl_mechanism} is {mechanism}",
    "set one that the listener takes",
    cause="A listener takes the mechanisms of sasl.enabled.mechanisms.",
    example={"offered": ["SCRAM-SHA-512"], "mechanism": "PLAIN"},
)
LOGIN_REFUSED = code.ErrorCode(
    "K234",
    "authentication failed",
    "check {kafka.sasl_username} and {kafka.sasl_password}",
    end=code.End.PASSING,
    cause="The broker does not know the user, or the password is wrong.",
)
CREATE_TOPICS = code.clause("create topic {topics}", was="K901")
CREATE_TABLES = code.clause("create topics of tables", was="K902")
READ_TOPICS = code.clause("read topic {topics}", was="K903")
WRITE_TOPIC = code.clause("write to topic {topic}", was="K904")
TAKE_OVER = code.clause("take over transactional id {id}", was="K905")
COMMIT = code.clause("commit a transaction", was="K906")
ABORT = code.clause("abort a transaction", was="K907")
LOOK_AT_LIMITS = code.clause("look at its limits", was="K908")
_URL = "http://registry:8081"
AWAY = code.transient_error(
    "K401",
    "schema registry {urls}: no answer: {why}",
    "check {registry.urls}, and that the registry is up",
    cause="A schema that records need is not registered yet, and no registry answered. Known "
    "schemas need no registry.",
    example={"urls": [_URL], "why": "Connection refused"},
)
FAILED = code.transient_error(
    "K402",
    "schema registry {url}: {why}",
    "look at the log of the registry",
    cause="The registry answered that it cannot do this now.",
    example={"why": "Error in the backend data store (50001)"},
)
LOGIN = code.ErrorCode(
    "K403",
    "schema registry {url}: refuses the login: {why}",
    "check {registry.username}, {registry.password_file} and the rights of this user",
    cause="The registry answered with 401 or 403.",
    example={"why": "HTTP 401 Unauthorized"},
)
NO_REGISTRY = code.ErrorCode(
    "K404",
    "{url} is not a schema registry: {why}",
    "name the URL below which the registry has /subjects, such as http://registry:8081 or "
    "http://apicurio:8080/apis/ccompat/v7",
    cause="The answer is not one of a registry with the interface of Confluent's.",
    example={"why": "HTTP 404 Not Found"},
)

KAFKA_FILES = code.configuration_error(
    "C601",
    "kafka.{key} {path}: {reason}",
    "name a PEM file that this user may read",
    cause="The file of a certificate or key is missing, cannot be read, or is of another format.",
)
KAFKA_FILE = KAFKA_FILES.because("{why}")
KAFKA_FILE_NOT_PEM = KAFKA_FILES.because("not a PEM file", was="C602")

REGISTRY_FILES = code.configuration_error(
    "C190",
    "{registry.ca}, {registry.certificate} or {registry.key} cannot be read: {said}",
    "name PEM files that the connector may read",
    cause="They are needed for a registry with https.",
)
SCHEMA_REFUSED = code.table_error(
    "T410",
    "the schema registry {url} refuses the schema of {subject}: {why}",
    "change the compatibility of the subject, or delete the subject, and start again",
    cause="The columns of the table have changed in a way that the compatibility of the subject "
    "forbids, or the name of the subject has a schema of something else.",
    example={
        "subject": "shop.erp.orders-value",
        "why": "Schema being registered is incompatible with an earlier schema (40901)",
    },
)
SCHEMA_UNKNOWN = code.table_error(
    "T411",
    "the schema registry {url} does not have the schema of {subject}, and "
    "{registry.auto_register} is false",
    "register the schema, or set {registry.auto_register} = true",
    cause="With registry.auto_register = false, schemas are registered by somebody else.",
    example={"subject": "shop.erp.orders-value"},
)
NO_ANSWER_IN_TIME = code.clause("no answer within {seconds:g} seconds", was="K106")
NOT_ACKNOWLEDGED = code.clause(
    "batches were not acknowledged within {seconds:g} seconds", was="K107"
)
