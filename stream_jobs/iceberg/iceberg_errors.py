"""Tables of a mirror in Iceberg's format: why one is not published.

No error here stops the Delta table.
"""

from connector.foundation.errors.code import notice

_TABLE = "shop/orders"
_REBUILD = "`binlog-connector-mirror resume CONFIG TABLE --rebuild`"

UNFIT = notice(
    "M811",
    "{path}: Iceberg cannot have this table: {reason}",
    "rename the column at the source, or leave it out (exclude_columns), and make the mirror "
    f'again: {_REBUILD}; or set formats = ["delta"] for the table',
    cause="The Delta table goes on. The last version that was published to Iceberg stays, and can "
    "be read as long as Delta keeps the files of that version.",
    example={"path": _TABLE},
)
RESERVED_NAME = UNFIT.because("its readers have columns of their own that are called {column}")
UNFIT_TYPE = UNFIT.because("column {column} has the type {type}, which another program added")
ELEMENTS_WITHOUT_ID = notice(
    "M812",
    "{path}: the elements of column {column} have no ids in the files of this mirror",
    f'make the mirror again: {_REBUILD}; or set formats = ["delta"] for the table',
    cause="An earlier version of the job created the column. Some readers of Iceberg would show "
    "NULL instead of the elements, without an error. The Delta table goes on.",
    example={"path": _TABLE, "column": "embedding"},
)
FOREIGN = notice(
    "M813",
    "{path} holds an Iceberg table that this job cannot continue: {why}",
    "delete this folder: the job then publishes the table again, as it is now",
    cause="Another program has written there, or a file is lost or damaged. The Delta table goes "
    "on.",
    example={"path": "_iceberg/shop/orders/metadata", "why": "v7.metadata.json: KeyError"},
)
TURN_FAILED = notice(
    "M833",
    "Iceberg tables are not published: {problem}, at {places}",
    "look at memory, threads and open files of the driver's machine; the job tries again by "
    "itself; if the machine has enough of them, report it with these places",
    cause="The job met something that is an error neither of one table nor of the storage or the "
    "catalog. The Delta tables go on.",
    example={"problem": "RuntimeError: can't start new thread", "places": ["threading.py:994"]},
)
CONFLICT = notice(
    "M814",
    "{path}: another process has written version {number} of the Iceberg table",
    "the job reads it, and tries again; if this goes on, two jobs write there",
    cause="Two processes of one job overlap for a moment, while one replaces the other. Or many "
    "pipelines that share the mirror publish this table at once.",
    example={"path": _TABLE, "number": 42},
)
