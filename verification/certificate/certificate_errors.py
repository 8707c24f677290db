"""`verify --certificate` and `verify --check`."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, notice

UNREADABLE = configuration_error(
    "V161",
    "{path} is not a certificate: {why}",
    "give the file as `verify --certificate` has written it",
    cause="The file is no JSON, or lacks what a certificate has: it is another file, or damaged.",
    example={"path": "shop.json", "why": "Unterminated string starting at line 41"},
)
OTHER_FORM = configuration_error(
    "V162",
    "{path} has version {found} of the form of certificates, and this program reads the versions "
    "{known}",
    "check it with the version of binlog-connector that its made_by names",
    cause="The form of certificates has changed between the two versions of this program.",
    example={"path": "shop.json", "found": 3, "known": "1 and 2"},
)
CHANGED = ErrorCode(
    "V163",
    "{path} was changed after it was made: {why}",
    "get the file from those who made it",
    cause="The SHA-256 or the signature in a certificate is not that of its content.",
    example={"path": "shop.json", "why": "its SHA-256 is another"},
)
OTHER_KEY = ErrorCode(
    "V164",
    "{path} was signed with another key, whose fingerprint is {found}",
    "give the public key of those who made it, as they have published it",
    cause="The signature holds, but not by the key of --public-key: anybody can sign with a key of "
    "their own.",
    example={"path": "shop.json", "found": "SHA256:W5C3f0Uv6gE8SlC2n1tJkYV0g7s0V9W7kPzJm0lX2a8"},
)
NOT_SIGNED = ErrorCode(
    "V165",
    "{path} has no signature",
    "have it made again with --sign-key, or leave out --public-key",
    cause="--public-key asks who made the certificate, and nobody has signed it.",
    example={"path": "shop.json"},
)
KEY_FILE = configuration_error(
    "V166",
    "{path} cannot be the file of {option}: {why}",
    "make a key with `openssl genpkey -algorithm ed25519 -out key.pem`, and its public key with "
    "`openssl pkey -in key.pem -pubout -out public.pem`",
    cause="Certificates are signed with a key of Ed25519, which is in a file of PEM.",
    example={"path": "key.pem", "option": "--sign-key", "why": "it is a key of another kind"},
)
NOT_WRITTEN = configuration_error(
    "V167",
    "the certificate cannot be written to {path}: {said}",
    "name a file in a folder that this user can write to",
    cause="The file of --certificate is written when all tables were compared.",
    example={"path": "/srv/shop.json", "said": "Permission denied"},
)

NOT_CERTIFIED = notice(
    "V168",
    "table {table}: {reason}",
    cause="SQL of the source and of the other side cannot say the same of the table, so nobody "
    "could compute its checksums on one side alone.",
)
COLUMNS = NOT_CERTIFIED.because(
    "both sides have no text in common for the columns {columns}",
)
MASKED = NOT_CERTIFIED.because("the mirror has hashes or masks in place of values")
NO_ROWS = NOT_CERTIFIED.because("it has no mirror, or one without the current rows: a journal")
SHARD = NOT_CERTIFIED.because(
    "it is a shard, and SQL of its mirror would sum the rows of all shards",
)
ZERO_DATES = NOT_CERTIFIED.because(
    "{columns} have dates such as 0000-00-00, which are NULL in the mirror",
)
LEFT_OUT = NOT_CERTIFIED.because("the cut {cut} does not have it: {why}")
FOREIGN_COLUMNS = NOT_CERTIFIED.because(
    "both sides have no text in common for the columns {columns}; with skip = true for them in the "
    "file of --tables, the others can be certified",
)
NO_STATE = NOT_CERTIFIED.because("{target} has no snapshot yet")
ROUNDED = NOT_CERTIFIED.because(
    "the columns {columns} are compared with fewer digits or with a tolerance",
)

MOVING = ErrorCode(
    "V169",
    "table {table}: it was copied or emptied, or its columns have changed, since cut {cut}",
    "try again when the mirror has a newer cut",
    end=End.COMMAND,
    cause="What the source had at the cut is computed from what it has now and the changes since. "
    "A copy and a TRUNCATE do not name the rows that they replace.",
    example={"cut": 42},
)
BUSY = ErrorCode(
    "V170",
    "table {table}: each of {count} snapshots of the source met a transaction that was being "
    "committed",
    "try again when fewer transactions change the table at the same time",
    end=End.COMMAND,
    cause="MySQL does not tell whether a snapshot has a transaction that was being committed when "
    "it was taken. Of a table of another program, its rows tell, unless the transaction has "
    "changed very many, or rows that are not in the log as a whole.",
    example={"count": 10},
)
TOO_LONG = ErrorCode(
    "V180",
    "table {table}: it cannot be compared by checksums: the text of a row is longer than "
    "max_allowed_packet of the source",
    "raise max_allowed_packet at the source (up to 1 GiB), and try again",
    end=End.COMMAND,
    cause="MySQL and MariaDB give NULL for a text that is longer than max_allowed_packet, so SQL "
    "cannot compute the hash of such a row. Nothing is known about whether the table differs.",
)
NO_TABLE = ErrorCode(
    "V171",
    "table {table}: {place} does not have it",
    "look at the path and the name; a table that was made again is another one",
    cause="The certificate is of a table that was dropped, moved, or made again since.",
    example={"place": "/data/mirror/erp/orders"},
)
VERSION_GONE = ErrorCode(
    "V172",
    "table {table}: version {version} of {place} cannot be read any more: {why:what}",
    "check the source in place of the table; keep old versions for longer: "
    "mirror.retention_hours of a mirror, and VACUUM or expire_snapshots of other tables",
    cause="VACUUM, the job after mirror.retention_hours, or the program that expires snapshots, "
    "has removed files of the version.",
    example={"place": "/data/mirror/erp/orders", "version": 812},
)
OTHER_COLUMNS = ErrorCode(
    "V173",
    "table {table}: its columns at {place} are not those of the certificate",
    "check the table in place of the source",
    cause="The columns of the table have changed since the certificate was made.",
    example={"place": "source db1:3306"},
)
OTHER_SOURCE = ErrorCode(
    "V174",
    "{server} lacks transactions of the certificate: {gtids}",
    "give the server that the certificate is of, or one of its replicas when it has caught up",
    end=End.COMMAND,
    cause="The server has not yet had the state that the certificate is of.",
    example={"server": "source db1:3306"},
)
NOTHING = ErrorCode(
    "V175",
    "{path} is not written, because no table can be certified",
    "name other tables",
    cause="The command has named the reason of each table. A certificate of no table would hold "
    "whatever the source and the mirror have.",
    example={"path": "shop.json"},
)
NO_VERSIONS = configuration_error(
    "V176",
    "--certificate: {target} has no versions: {why}",
    "compare it without --certificate; tables of delta: and iceberg: can be certified",
    cause="A certificate names a version of the target that anybody can read again later.",
    example={
        "target": "parquet:/lake/orders",
        "why": "the files of a folder are replaced, and nothing names those that were read",
    },
)
NO_COMMON_MOMENT = ErrorCode(
    "V177",
    "table {table}: no moment of the source in the last {seconds} s has the rows of {target}, "
    "{state}",
    "try again when fewer transactions change the table; if the target is written more seldom, "
    "give the seconds with --lag",
    end=End.COMMAND,
    cause="Its rows are equal, or lag for less than --lag allows, but not all of them as of one "
    "moment: the version ends in the middle of a transaction, or has changes of different age. "
    "Before a TRUNCATE, an XA transaction, a row that the log has in part "
    "(binlog_row_image=MINIMAL), or a change that is not in the log, no moment can be computed.",
    example={"target": "delta:/lake/orders", "state": "version 812", "seconds": 60},
)
NOT_ONE_TABLE = ErrorCode(
    "V179",
    "table {table}: version {version} of {place} is not the mirror of this table alone",
    "make the certificate again with this version of binlog-connector, which leaves out shards",
    cause="Shards share the mirror, or another program than the job has made the table.",
    example={"place": "/data/mirror/erp/orders", "version": 812},
)
