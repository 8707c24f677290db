"""Iceberg tables in a REST catalog: what the catalog refuses, and who else has written there.

No error here stops the Delta table, nor the Iceberg table that is found by its path.
"""

from connector.foundation.errors.code import failure, notice

_CATALOG = "https://catalog.example/api"
_TABLE = "shop.orders"
_DOING = "GET /v1/main/namespaces/shop/tables/orders"
_GOES_ON = "The mirror and its Iceberg tables by path continue."

AWAY = notice(
    "M815",
    "the Iceberg catalog {catalog} does not answer {doing}: {why}",
    "check whether the catalog runs; the job tries again every iceberg.every_seconds, and then "
    "publishes everything that is missing",
    cause=f"{_GOES_ON} Until the catalog answers, its readers see its last version, whose files "
    "the job keeps.",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "Connection refused"},
)
LOGIN = notice(
    "M816",
    "the Iceberg catalog {catalog} refuses the login for {doing}: {why}",
    "give a valid token (token, token_file, token_command) or login (client_id, client_secret) in "
    "[iceberg]",
    cause=f"The token is wrong or has expired, or there is none. {_GOES_ON}",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "token has expired"},
)
RIGHTS = notice(
    "M817",
    "the Iceberg catalog {catalog} does not permit {doing}: {why}",
    "grant this right to the account of the job: it creates namespaces, and creates, changes and "
    "drops its tables",
    cause="The catalog knows the account, which lacks a right; some catalogs also answer this to "
    f"an expired token. {_GOES_ON}",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "no privilege TABLE_READ"},
)
REFUSED = notice(
    "M818",
    "the Iceberg catalog {catalog} refuses {doing}: {reason}",
    "look at catalog, warehouse and namespace in [iceberg], and at the log of the catalog; it "
    "must accept tables of format version 3",
    cause=f"The catalog does not accept what the job asks for. {_GOES_ON}",
    example={"catalog": _CATALOG, "doing": _DOING},
)
SAID = REFUSED.because("{said}")
NO_DOCUMENT = REFUSED.because("the answer is not that of an Iceberg REST catalog")
NO_VERSION_3 = REFUSED.because(
    "it makes tables of format version 2, and does not accept those of version 3"
)
OTHER_IDS = REFUSED.because("it has given columns or partitions other ids")
TAKEN = notice(
    "M819",
    "{table} in the Iceberg catalog {catalog} is not a table of this mirror, but {other}",
    "drop this table in the catalog, or choose another namespace in [iceberg]",
    cause=f"The job changes only tables that it has made, for this mirror.path. {_GOES_ON}",
    example={"table": _TABLE, "catalog": _CATALOG, "other": "one at s3://lake/orders"},
)
FOREIGN_CHANGE = notice(
    "M820",
    "{table} in the Iceberg catalog {catalog}: {reason}",
    "let no other program write to this table or compact it; if it was set back, set main to the "
    "newest snapshot again, and otherwise drop it in the catalog: the job "
    'creates it again; or set on_foreign_commit = "replace" in [iceberg]',
    cause="The job continues only from its own snapshots, because the tables of a mirror equal the "
    f"source. The catalog keeps what the other program did. {_GOES_ON}",
    example={"table": _TABLE, "catalog": _CATALOG},
)
FOREIGN_COMMIT = FOREIGN_CHANGE.because("{who} has committed snapshot {snapshot} ({what})")
GONE_BACK = FOREIGN_CHANGE.because(
    "another program has set it back from snapshot {newest} to {snapshot}"
)
CONFLICT = notice(
    "M821",
    "the Iceberg catalog {catalog} refuses {doing}: another commit was first: {why}",
    "nothing, unless it happens again and again: the job retries; if it does, two jobs or another "
    "program write to the table",
    cause="The table has changed after the job had read it, and before its commit.",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "branch main has changed"},
)
SIGNATURE = notice(
    "M826",
    "the Iceberg catalog {catalog} refuses the signature of {doing}: {why}",
    "check the AWS credentials of the job (`aws sts get-caller-identity` shows whose they are), "
    "sigv4_service and sigv4_region in [iceberg], and whether a proxy changes requests",
    cause="The access key is unknown, its secret is wrong, or the signature is for another service "
    f"or region. {_GOES_ON}",
    example={
        "catalog": _CATALOG,
        "doing": _DOING,
        "why": "The request signature we calculated does not match",
    },
)
CREDENTIALS = notice(
    "M827",
    "the job cannot sign {doing} for the Iceberg catalog {catalog} with valid AWS credentials: "
    "{why}",
    "give them in its environment, in a profile, or by the role of its machine or pod; "
    "`aws sts get-caller-identity` as its user must succeed",
    cause="The job finds credentials like the AWS CLI, and renews those of roles before they "
    "expire. If the catalog says that they have expired, it reads profiles and roles again; the "
    f"environment of a process does not change. {_GOES_ON}",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "none are found"},
)
CLOCK = notice(
    "M828",
    "the Iceberg catalog {catalog} refuses {doing}, as signed at a wrong time: {why}",
    "correct the clock of the driver's machine, and keep it correct, for example with chrony",
    cause="A signature is valid for some minutes. The clocks of the job and the catalog differ by "
    f"more. {_GOES_ON}",
    example={
        "catalog": _CATALOG,
        "doing": _DOING,
        "why": "Signature expired: 20261128T100000Z is now earlier than 20261128T101500Z",
    },
)
UNUSABLE = failure(
    "M822",
    "the job cannot use its Iceberg catalog: {reason}",
    "correct [iceberg] in the configuration, or the rights of the account; without "
    "iceberg.catalog, the Iceberg tables are found by their paths alone",
    cause="The catalog answers, and refuses what each table needs; the code in brackets says more. "
    "At its start, the job lists the namespaces, makes those that it lacks until the catalog takes "
    "a table in one, and stages a table of format version 3, binlog_connector_trial, which no "
    "reader sees; some catalogs keep an entry of it. A catalog that does not answer does not stop "
    "the job, nor does one that refuses only some of several namespaces, or that has a table of "
    "the mirror (M832).",
    example={"refusal": "M817"},
)
REFUSED_ALL = UNUSABLE.because("[{refusal}] {why:what}")
NO_TABLES = UNUSABLE.because("[{refusal}] {why:what}; and it has no table of the mirror")
NO_NEW_TABLES = notice(
    "M832",
    "the Iceberg catalog can get no more tables: [{refusal}] {why:what}",
    "nothing, as long as status names no table, and none is added, renamed or made again; for "
    "that, grant this right to the account of the job",
    cause="The account of the job may change tables, and not create them. A table that the catalog "
    "would have to create is not in it, or stays there as it is; it follows as soon as it may. "
    f"The others follow all the time. {_GOES_ON}",
    example={"refusal": "M817"},
)


class UnsignedError(Exception):
    """A request cannot be signed; the text says why, without a secret."""

    def __init__(self, why: str = "none are found", *, may_pass: bool = False) -> None:
        """If it `may_pass`, a server that gives credentials does not answer."""
        super().__init__(why)
        self.may_pass = may_pass
