"""The demo: what it is given, what stands still, and what it compares."""

from connector.foundation.errors.code import failure

DIRECTORY = failure(
    "P302",
    "{directory} is not empty",
    "give the demo a directory of its own",
    cause="The demo writes data and logs into the directory, and overwrites nothing.",
    example={"directory": "/home/user/demo"},
)
GTID_MODE = failure(
    "P303",
    "{address} has gtid_mode other than ON, and the demo counts in GTIDs",
    "start the server with --gtid-mode=ON --enforce-gtid-consistency=ON",
    cause="The demo knows by GTIDs when every transaction of the source has arrived.",
)
SHOP = failure(
    "P304",
    "{address} already has {names}",
    "drop them there, or give a server that the demo may use",
    cause="The demo creates a database and a user. Those that exist belong to somebody else.",
    example={"names": ["user cdc", "database shop"]},
)
WORKLOAD = failure(
    "P305",
    "the source refused the workload: {said}",
    "see the source's log",
    cause="A statement of the demo's customers failed, or the source ended.",
    example={"said": "(1049, \"Unknown database 'shop'\")"},
)

STANDSTILL = failure(
    "P314",
    "{reason}",
    "see its log in the demo's directory",
    cause="A process of the demo runs, but does not do its work. The machine may be too busy.",
)
KAFKA_AWAY = STANDSTILL.because("Kafka at {address} does not answer: {said}", was="P306")
KAFKA_STUCK = STANDSTILL.because(
    "Kafka does not deliver {topic} up to its end, offset {end}", was="P307"
)
NO_START = STANDSTILL.because(
    "the {process} did not start within {seconds:.0f} seconds", was="P309"
)
STUCK = STANDSTILL.because("the {process} did not move on for {seconds:.0f} seconds", was="P310")

JOB_FAILED = failure(
    "P308",
    "the Spark job failed: {said:lines}",
    cause="The job says itself what went wrong, and what to do. Its log has more.",
    example={"said": "TimeoutException: Timed out waiting for a node assignment"},
)
RESUMED_ELSEWHERE = failure(
    "P311",
    "the connector resumed after {resumed!r}, but its committed progress was {committed!r}",
    "keep the demo's directory, and report this as a defect of the connector",
    cause="After a kill, the connector goes on exactly from what it had committed.",
    example={
        "resumed": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-76",
        "committed": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77",
    },
)
NO_KEY = failure(
    "P312",
    "{table} does not exist or has no primary key",
    "compare a table that has one; no mirror is kept of others",
    cause="Rows of the source and of the mirror are compared by their primary key.",
)
NO_FAMILY = failure(
    "P313",
    "columns of type {type} cannot be compared",
    "extend connector.lake.demo.canonical_values",
    cause="Each type needs a form that is the same for the source and for the mirror.",
    example={"type": "geometrycollection"},
)
