"""Reaching a server, logging in, and TLS; its URL; whether it can go on with a stream.

It cannot if it lags, has purged or reset its log, has diverged, or is another one.
"""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, transient_error

UNREACHABLE = transient_error(
    "S101",
    "{server}: cannot connect: {why}",
    "check that the server runs, {source.host}, {source.port} and firewalls",
    cause="No server answers at the address. It may be stopped, the address may be wrong, or "
    "something between here and the server drops what is sent.",
    example={"why": "Connection refused"},
)
NAME_LATER = transient_error(
    "S102",
    "{server}: the name cannot be resolved for now",
    "check {source.host}, and the name servers of this machine",
    cause="The name servers of this machine did not answer, or asked to come back later.",
)
NAME_UNKNOWN = ErrorCode(
    "S103",
    "{server}: the name cannot be resolved",
    "check {source.host}",
    end=End.PASSING,
    cause="The name servers of this machine answered that no machine has this name. They may also "
    "do so while the machine, or its pod, is started again.",
)
LOGIN_METHOD = ErrorCode(
    "S104",
    "{server}: login failed: {why}",
    "check the account's authentication plugin",
    cause="The server asked for a login method that this program does not have. The plugin of the "
    "account decides which method it is.",
    example={"why": "Authentication plugin 'client_ed25519' not configured"},
)
ANOTHER_ANSWERED = transient_error(
    "S105",
    "{server}: the server that answered is not the one that was checked",
    "name each server itself in {source.host} and {source.failover_hosts}, not an address that "
    "several share",
    cause="Two logins at one address came to two servers: a proxy or a shared address leads to "
    "any of them. A position in the log of one server means nothing on another.",
    url_fix="name the server itself in the URL, not an address that several share",
)

NO_GREETING = transient_error(
    "S114",
    "{server}: no MySQL or MariaDB server greets: {reason}",
    cause="MySQL and MariaDB speak first. Often a proxy, or another program, listens at the port.",
)
SILENT = NO_GREETING.because(
    "the port accepted a connection, and then nothing came for {seconds:g} s; check "
    "{source.host} and {source.port}, and that the server is not stuck",
    was="S106",
)
CLOSED_AT_ONCE = NO_GREETING.because(
    "the connection was closed at once; check that the server runs, and {source.host} and "
    "{source.port}",
    was="S107",
)

NOT_MYSQL = ErrorCode(
    "S108",
    "{server}: what came is not the protocol of MySQL",
    "check {source.host} and {source.port}",
    cause="Another program listens at the port (SSH, a mail server, the X Protocol of MySQL "
    "itself, whose port is 33060), or something on the way changes what the server sends.",
)
CLEAR_TEXT = ErrorCode(
    "S109",
    "{server}: the password is not sent: the server asks for it in clear text ({method}), and no "
    "certificate proves who it is",
    "set {source.tls.mode} to verify_identity, with {source.tls.ca}",
    cause="By this login method, any program that answers at the address learns the password. "
    "Accounts of PAM and LDAP have it, and tokens of cloud services. If the account has another "
    "method, a program may pretend to be the server.",
    example={"method": "mysql_clear_password"},
    url_fix="set {source.tls.mode} to VERIFY_IDENTITY, with {source.tls.ca}",
)
KEY_NOT_CHOSEN = ErrorCode(
    "S110",
    "{server}: the password is not sent: {method} needs TLS, or a public key that you choose",
    "set {source.tls.mode} to verify_identity, with {source.tls.ca}; without TLS, name the "
    "server's public_key.pem in {source.tls.server_public_key}, or set "
    "{source.tls.get_server_public_key} to true if nobody else can answer at this address",
    cause="The connection has no TLS, and the server does not have the account in its cache. It "
    "then wants the password encrypted with its public key. With a key that it sends itself, any "
    "program that answers at the address learns the password.",
    example={"method": "caching_sha2_password"},
    url_fix="set {source.tls.mode} to VERIFY_IDENTITY, with {source.tls.ca}; without TLS, name the "
    "server's public_key.pem in {source.tls.server_public_key}, or set "
    "{source.tls.get_server_public_key} to true if nobody else can answer at this address",
)
NO_TLS = ErrorCode(
    "S111",
    "{server}: the server offers no TLS",
    "set up TLS on the server, or set {source.tls.mode} to preferred",
    cause="The configuration asks for encryption, and the server was started without it.",
    url_fix="set up TLS on the server, or set {source.tls.mode} to PREFERRED",
)
CERTIFICATE_REFUSED = ErrorCode(
    "S112",
    "{server}: the server's certificate is refused: {why}",
    "check {source.tls.ca} and {source.host}, or lower {source.tls.mode}",
    cause="The certificate is not signed by the given authority, is not valid now, or names "
    "another host.",
    example={"why": "self-signed certificate in certificate chain"},
)
NO_TLS_SESSION = ErrorCode(
    "S113",
    "{server}: no TLS session: {why}",
    "check the server's TLS settings, or set {source.tls.mode} to disabled",
    cause="Client and server found no protocol version or cipher that both of them accept.",
    example={"why": "WRONG_VERSION_NUMBER"},
    url_fix="check the server's TLS settings, or set {source.tls.mode} to DISABLED",
)
_PEM = "name a PEM file that this user may read"
_UNREADABLE = "The file does not exist, is not readable for this user, or is of another kind."
TLS_CA = configuration_error(
    "C183",
    "{source.tls.ca} {path}: {why}",
    _PEM,
    cause=_UNREADABLE,
    example={"path": "/etc/ca.pem"},
)
TLS_CERTIFICATE = configuration_error(
    "C184",
    "{source.tls.certificate} {path}: {why}",
    _PEM,
    cause=_UNREADABLE,
    example={"path": "/etc/client.pem"},
)
PUBLIC_KEY = configuration_error(
    "C182",
    "{source.tls.server_public_key} {path}: {why}",
    "name the file public_key.pem of the server's data directory",
    cause=_UNREADABLE,
    example={"path": "/etc/public_key.pem"},
)
NOT_ENCODED = configuration_error(
    "C201",
    "the source's URL is not mysql://user:password@host:port/",
    "percent-encode user and password",
    cause="A character of the user or of the password has a meaning of its own in a URL. Nothing "
    "of the URL is shown: it may be a part of the password.",
)
FORM = configuration_error(
    "C202",
    "the source's URL is not mysql://user:password@host:port/",
    "write it in this form; options follow a question mark",
    cause="The URL has another scheme, no host, a path or a fragment.",
)
UNKNOWN_OPTION = configuration_error(
    "C203",
    "the source's URL has the unknown option {option}",
    "there are {known}",
    cause="The options have the names of MySQL's clients.",
    example={"option": "ssl-mod", "known": ("ssl-mode", "ssl-ca")},
)
WRONG_OPTION = configuration_error(
    "C204",
    "the source's URL: {option}: {why}",
    "correct the URL",
    cause="A part of the URL has a value that it cannot have.",
    example={"option": "server-id", "why": "Input should be greater than or equal to 1"},
)
WRONG_OPTIONS = configuration_error(
    "C205",
    "the source's URL has parts with wrong values:{problems:lines}",
    "correct the URL",
    cause="Several parts of the URL have values that they cannot have.",
    example={"problems": ("server-id: Input should be greater than or equal to 1", "port: 0")},
)


_LACKS = "{server}: the server does not have transactions that were already read: {gtids}"
LAGS = transient_error(
    "S411",
    f"{_LACKS}. It is a replica that lags; the connector waits for it",
    "look at SHOW REPLICA STATUS, or name a server that has them in {source.failover_hosts}",
    cause="The stream was read from another server of the topology, and this replica has not "
    "received so much yet.",
    url_fix="look at SHOW REPLICA STATUS",
)
COMMITTING = transient_error(
    "S412",
    "{server}: the server is still committing transactions that it has sent: {gtids}. The "
    "connector waits for them",
    "if that lasts, look for sessions that wait for the acknowledgement of a semi-synchronous "
    "replica",
    cause="A server writes a transaction to its log, and sends it, before the commit is complete.",
)
_OVER = "give the pipeline a new name and start over"

LOGS_PURGED = ErrorCode(
    "S424",
    "{server}: {reason}",
    "if the stream goes on without them, changes are lost: give the pipeline a new name and "
    "start over, or point it at a replica that still has them; keep logs longer with {setting}",
    url_fix="read a replica that still has them; keep logs longer with {setting}",
    cause="The server has deleted logs that the stream had not read: the pipeline stood still for "
    "longer than logs are kept.",
)
PURGED = LOGS_PURGED.because(
    "the server has purged transactions that were not read: {gtids}",
    setting="binlog_expire_logs_seconds",
    was="S421",
)
PURGED_MARIADB = LOGS_PURGED.because(
    "the server's first log starts after {purged}, but only {read} was read",
    setting="expire_logs_days",
    was="S422",
)
PURGED_ALL_MARIADB = LOGS_PURGED.because(
    "the server's first log starts after {purged}, but nothing was read",
    setting="expire_logs_days",
    was="S423",
)

_UNTOLD = "new transactions cannot be distinguished from those that were read: "
_URL_READ = "read a server that has them"
RESET = ErrorCode(
    "S431",
    "{server}: the server's logs were reset, or a backup was restored: it lacks transactions of "
    "its own that were already read: {gtids}",
    f"{_UNTOLD}{_OVER}, or point it at a server that has them",
    cause="The transactions were first committed on this very server, and it does not know them: "
    "after RESET BINARY LOGS AND GTIDS, or after a backup was restored.",
    url_fix=f"{_UNTOLD}{_URL_READ}",
)
LOST = ErrorCode(
    "S432",
    "{server}: the server has received transactions that were already read, but its logs do not "
    "have them: {gtids}. They were reset, or its data was restored or copied",
    f"{_OVER}, or point it at a server that has them",
    cause="The replica has received the transactions, so it will not receive them again, and its "
    "own logs lack them.",
    url_fix=_URL_READ,
)
_POINT = f"point the pipeline at a server that has them, or {_OVER}"
SOURCES_RESET = ErrorCode(
    "S433",
    f"{_LACKS}. It is a replica of servers whose logs were reset, so it will not receive them",
    _POINT,
    cause="Every server that could send them to this replica has lost them.",
    url_fix=_URL_READ,
)

LOGS_RESET = ErrorCode(
    "S437",
    "{server}: the logs were reset since {file}:{position} was read: {reason}",
    "new transactions cannot be distinguished from those that were read: give the pipeline a new "
    "name and start over",
    url_fix="new transactions cannot be distinguished from those that were read: start at a "
    "position that the server still has",
    cause="The numbers, ends and times of log files only grow until the logs are reset.",
)
RESET_NEWEST_FILE = LOGS_RESET.because("its newest file is {newest}", was="S434")
RESET_FILE_END = LOGS_RESET.because("the file ends at {end}", was="S435")
RESET_FILE_TIME = LOGS_RESET.because("the file was begun at {begun}, not at {before}", was="S436")

LACKS = ErrorCode(
    "S441",
    f"{_LACKS}. It is no replica, so it will not receive them: it belongs to another topology, its "
    "logs were reset, or they were lost when it took over",
    _POINT,
    cause="The stream was read from another server, which sent more than this one has.",
    url_fix=_URL_READ,
)
DIVERGED = ErrorCode(
    "S442",
    "{server}: the server has another transaction instead of {gtid}, which was already read; "
    "domain {domain} goes up to {last} there. It has diverged from the server that was read",
    f"point the pipeline at a server that has it, or {_OVER}",
    cause="Two servers committed transactions with the same numbers of one domain, as after a "
    "failover that left the old primary running.",
    example={"gtid": "0-1-77", "domain": 0, "last": "0-2-80"},
    url_fix="read a server that has it",
)
DOMAINS_GONE = ErrorCode(
    "S443",
    "{server}: the server does not know the domains of transactions that were already read: "
    "{gtids}. They belong to another topology, were lost when the server took over, or were "
    "deleted by FLUSH BINARY LOGS DELETE_DOMAIN_ID; without the log file that was read last, "
    "nobody can tell",
    "if they were deleted, and their last transactions were read, give the pipeline a new name and "
    f'set {{source.start}} = "{{start}}"; else {_POINT}',
    cause="The server has everything else that was read. While the file in which the stream "
    "stands still exists, the connector knows that a deleted domain was read to its end, and goes "
    "on.",
    example={"start": "gtid:0-1-77"},
    url_fix=_URL_READ,
)
_NEW_NAME = "give the pipeline a new name and set {source.start}"
NO_GTID_NEXT = ErrorCode(
    "S905",
    "{server}: a stream by GTID would leave out the next transaction, at {file}:{position}, "
    "because it has no GTID",
    f'SET GLOBAL gtid_mode = ON_PERMISSIVE, and {_NEW_NAME} = "position:{{file}}:{{position}}", so '
    "that nothing is lost; set the mode ON again once what has no GTID was read",
    cause="The server's gtid_mode was not ON for a while. By GTID, it does not send what it "
    "logged meanwhile, and does not say so. By position it sends all, unless the mode is ON; but "
    "a stream by position cannot change its server.",
)
