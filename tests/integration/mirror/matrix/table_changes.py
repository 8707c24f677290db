"""Schema changes of whole tables and of their partitions."""

from __future__ import annotations

from typing import Final

from tests.integration.mirror.matrix.change import LATER, Change, of
from tests.integration.schema.altered_tables import HEAD

_TWO: Final = (
    f"CREATE TABLE t ({HEAD}, v VARCHAR(20))",
    "INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'c')",
    f"CREATE TABLE t2 ({HEAD}, n BIGINT)",
    "INSERT INTO t2 VALUES (2, 0, 20), (3, 0, 30), (4, 0, 40)",
)
_PARTITIONS: Final = (
    "(PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN (10), "
    "PARTITION p2 VALUES LESS THAN (1000))"
)
_RANGES: Final = (
    f"CREATE TABLE t ({HEAD}, n INT) PARTITION BY RANGE (id) {_PARTITIONS}",
    "INSERT INTO t VALUES (1, 0, 7), (2, 0, NULL), (3, 0, 3), (11, 0, 4)",
)
_EXCHANGE: Final = (
    *_RANGES,
    f"CREATE TABLE t2 ({HEAD}, n INT)",
    "INSERT INTO t2 VALUES (0, 0, 50)",
)
_LATER_T2: Final = tuple(each.replace(" t ", " t2 ") for each in LATER)
_CREATE: Final = f"CREATE TABLE t ({HEAD}, v VARCHAR(20), n INT)"
_OTHER: Final = "CREATE TABLE t (code BIGINT PRIMARY KEY, w TEXT)"
_OTHER_ROWS: Final = ("INSERT INTO t VALUES (1099511627776, 'x'), (5, NULL)",)
_SWAP: Final = "RENAME TABLE t TO t3, t2 TO t, t3 TO t2"

NAMES: Final = (
    of("Tables", "RENAME TABLE t TO t2", later=_LATER_T2),
    of("Tables", "ALTER TABLE t RENAME TO t2, ADD w INT DEFAULT 5", later=_LATER_T2),
    of("Tables", "RENAME TABLE t TO t2", "RENAME TABLE t2 TO t"),
    Change("Tables", (_SWAP,), _TWO, (*LATER, *_LATER_T2[:2])),
    Change("Tables", ("DROP TABLE t", "RENAME TABLE t2 TO t"), _TWO),
)
LIVES: Final = (
    of("Tables", "TRUNCATE TABLE t"),
    of("Tables", "TRUNCATE TABLE t", later=()),
    of("Tables", "DELETE FROM t", later=()),
    of("Tables", "DROP TABLE t", later=()),
    of("Tables", "DROP TABLE t", _CREATE),
    of("Tables", "DROP TABLE t", _OTHER, later=_OTHER_ROWS),
    of("Tables", "CREATE OR REPLACE TABLE t (code BIGINT PRIMARY KEY, w TEXT)", later=_OTHER_ROWS),
    of("Tables", "CREATE TABLE t2 LIKE t", later=(*LATER, "INSERT INTO t2 (id) VALUES (9)")),
    of("Tables", "CREATE TABLE t2 LIKE t", "INSERT INTO t2 SELECT * FROM t"),
    of("Tables", "CREATE TABLE t2 (PRIMARY KEY (id)) AS SELECT * FROM t"),
    of("Tables", "CREATE TABLE t2 AS SELECT * FROM t"),
    of("Tables", "TRUNCATE TABLE t", "ALTER TABLE t MODIFY n VARCHAR(9)"),
)
FORMS: Final = tuple(
    of("Tables", statement)
    for statement in (
        "ALTER TABLE t COMMENT = 'c'",
        "ALTER TABLE t AUTO_INCREMENT = 500",
        "ALTER TABLE t ENGINE = MyISAM",
        "ALTER TABLE t ROW_FORMAT = COMPRESSED",
        "CREATE INDEX i1 ON t (n)",
        "CREATE UNIQUE INDEX u1 ON t (n)",
        "OPTIMIZE TABLE t",
        "ANALYZE TABLE t",
    )
)
PARTITIONS: Final = (
    *(
        Change("Partitions", (f"ALTER TABLE t {clause}",), _RANGES)
        for clause in (
            "ADD PARTITION (PARTITION p3 VALUES LESS THAN (2000))",
            "DROP PARTITION p0",
            "TRUNCATE PARTITION p0",
            "REORGANIZE PARTITION p0, p1 INTO (PARTITION q VALUES LESS THAN (10))",
            "PARTITION BY HASH (id) PARTITIONS 2",
            "REMOVE PARTITIONING",
            "REBUILD PARTITION p0",
            "CONVERT PARTITION p0 TO TABLE t2",
        )
    ),
    Change("Partitions", ("ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE t2",), _EXCHANGE),
)
TABLE_CHANGES: Final = (*NAMES, *LIVES, *FORMS, *PARTITIONS)
