"""Iceberg tables in a REST catalog: what the catalog refuses, and who else has written there.

No error here stops the Delta table, nor the Iceberg table that is found by its path.
"""

from connector.foundation.errors.code import failure, notice

_CATALOG = "https://catalog.example/api"
_TABLE = "shop.orders"
_DOING = "GET /v1/main/namespaces/shop/tables/orders"
_GOES_ON = "The mirror goes on, and so do its Iceberg tables by path."

AWAY = notice(
    "M815",
    "the Iceberg catalog {catalog} does not answer {doing}: {why}",
    "look whether the catalog runs; the job tries again every iceberg.every_seconds, and then "
    "publishes everything that is missing",
    cause=f"{_GOES_ON} Until the catalog is back, its readers see the last version that it has, "
    "whose files are kept.",
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
    cause=f"The catalog knows the account, which lacks a right. {_GOES_ON}",
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
NO_DOCUMENT = REFUSED.because("the answer is none of an Iceberg REST catalog")
OTHER_IDS = REFUSED.because("it has given columns or partitions other ids")
TAKEN = notice(
    "M819",
    "{table} in the Iceberg catalog {catalog} is not a table of this mirror, but {other}",
    "drop this table in the catalog, or choose another namespace in [iceberg]",
    cause=f"The job changes only tables that it has made, for this mirror.path. {_GOES_ON}",
    example={"table": _TABLE, "catalog": _CATALOG, "other": "one at s3://lake/orders"},
)
FOREIGN_COMMIT = notice(
    "M820",
    "{table} in the Iceberg catalog {catalog}: {who} has committed snapshot {snapshot} ({what})",
    "let no other program write to this table, nor compact it; drop it in the catalog, and the "
    'job makes it once more; or set on_foreign_commit = "replace" in [iceberg]',
    cause="The job goes on from its own snapshots alone: the tables of a mirror are equal to the "
    f"source. The catalog keeps what was committed. {_GOES_ON}",
    example={"table": _TABLE, "catalog": _CATALOG, "who": "spark", "snapshot": 7, "what": "append"},
)
CONFLICT = notice(
    "M821",
    "the Iceberg catalog {catalog} refuses {doing}: another commit was first: {why}",
    "nothing, if it does not go on: the job looks at the table again; if it goes on, two jobs or "
    "another program write to it",
    cause="The table has changed between the look at it and the commit.",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "branch main has changed"},
)
SIGNATURE = notice(
    "M826",
    "the Iceberg catalog {catalog} refuses the signature of {doing}: {why}",
    "look at the credentials of AWS that the job has (`aws sts get-caller-identity` shows whose "
    "they are), at sigv4_service and sigv4_region in [iceberg], and whether a proxy changes "
    "requests",
    cause="The access key is unknown, its secret is another one, or the signature is for another "
    f"service or region. {_GOES_ON}",
    example={
        "catalog": _CATALOG,
        "doing": _DOING,
        "why": "The request signature we calculated does not match",
    },
)
CREDENTIALS = notice(
    "M827",
    "the job cannot sign {doing} for the Iceberg catalog {catalog} with valid credentials of AWS: "
    "{why}",
    "give them in its environment, in a profile, or by the role of its machine or pod; "
    "`aws sts get-caller-identity` as its user must succeed",
    cause="The job finds credentials as all programs of AWS do, and renews those of roles before "
    "they end. If the catalog says that they have expired, it reads profiles and roles once more; "
    f"the environment of a process does not change. {_GOES_ON}",
    example={"catalog": _CATALOG, "doing": _DOING, "why": "none are found"},
)
CLOCK = notice(
    "M828",
    "the Iceberg catalog {catalog} refuses {doing}, as signed at a wrong time: {why}",
    "set the clock of the machine of the driver, and keep it right, for example with chrony",
    cause="A signature is valid for some minutes. The clocks of the job and of the catalog differ "
    f"by more. {_GOES_ON}",
    example={
        "catalog": _CATALOG,
        "doing": _DOING,
        "why": "Signature expired: 20261128T100000Z is now earlier than 20261128T101500Z",
    },
)
UNUSABLE = failure(
    "M822",
    "the job cannot use its Iceberg catalog: {why:what}",
    "correct [iceberg] in the configuration, or the rights of the account; without "
    "iceberg.catalog, the Iceberg tables are found by their paths alone",
    cause="The catalog answers, and refuses. A catalog that does not answer does not stop the job.",
)


class UnsignedError(Exception):
    """A request cannot be signed; the text says why, without a secret."""

    def __init__(self, why: str = "none are found", *, may_pass: bool = False) -> None:
        """If it `may_pass`, a server that gives credentials does not answer."""
        super().__init__(why)
        self.may_pass = may_pass
