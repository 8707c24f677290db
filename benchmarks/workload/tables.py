"""The tables of the workloads."""

from __future__ import annotations

# Ten realistic columns.
ORDERS_COLUMNS = """(
  id          BIGINT NOT NULL PRIMARY KEY,
  customer_id INT NOT NULL,
  sku         VARCHAR(64) NOT NULL,
  amount      DECIMAL(12,2) NOT NULL,
  created_at  DATETIME(6) NOT NULL,
  updated_at  TIMESTAMP NOT NULL,
  attrs       JSON,
  status      ENUM('new','paid','packed','shipped','returned','cancelled') NOT NULL,
  score       DOUBLE,
  note        TEXT
) DEFAULT CHARSET=utf8mb4"""

# Forty: a key, 13 integers, 4 decimals, 4 floats, 8 strings, 6 temporals, 2 binaries, ENUM, SET.
WIDE_COLUMNS = (
    ("id", "BIGINT UNSIGNED NOT NULL PRIMARY KEY", "id"),
    *((f"t{i}", "TINYINT", "tiny") for i in range(3)),
    *((f"s{i}", "SMALLINT UNSIGNED", "small") for i in range(3)),
    ("m0", "MEDIUMINT", "medium"),
    *((f"i{i}", "INT", "int") for i in range(4)),
    *((f"b{i}", "BIGINT", "big") for i in range(2)),
    *((f"d{i}", "DECIMAL(18,4)", "decimal") for i in range(3)),
    ("d3", "DECIMAL(30,10)", "long_decimal"),
    *((f"f{i}", "FLOAT", "float") for i in range(2)),
    *((f"g{i}", "DOUBLE", "double") for i in range(2)),
    *((f"v{i}", "VARCHAR(40)", "word") for i in range(6)),
    ("w0", "VARCHAR(400)", "words"),
    ("c0", "CHAR(10)", "digits"),
    ("da", "DATE", "date"),
    ("ti", "TIME", "time"),
    ("dt0", "DATETIME", "seconds"),
    ("dt6", "DATETIME(6)", "micros"),
    ("ts0", "TIMESTAMP NULL", "seconds"),
    ("ye", "YEAR", "year"),
    ("bi", "BINARY(16)", "binary"),
    ("vb", "VARBINARY(64)", "varbinary"),
    ("en", "ENUM('small','medium','large','huge')", "enum"),
    ("se", "SET('a','b','c','d','e')", "set"),
)

PAGES_COLUMNS = """(
  id      BIGINT NOT NULL PRIMARY KEY,
  title   VARCHAR(200) NOT NULL,
  body    MEDIUMTEXT NOT NULL,
  props   JSON NOT NULL,
  history JSON,
  changed DATETIME(3) NOT NULL
) DEFAULT CHARSET=utf8mb4"""

# BLACKHOLE keeps no rows: the log of ten million inserts is written in half a minute.
READINGS_COLUMNS = """(
  id     BIGINT NOT NULL PRIMARY KEY,
  sensor INT NOT NULL,
  taken  DATETIME(3) NOT NULL,
  value  DOUBLE NOT NULL,
  unit   VARCHAR(16) NOT NULL
) ENGINE=BLACKHOLE DEFAULT CHARSET=utf8mb4"""

FLEET_TABLES = 100

# Debezium wants more than ours.
GRANTS = "REPLICATION SLAVE, REPLICATION CLIENT, RELOAD, SHOW DATABASES, SELECT, LOCK TABLES"


def fleet_table(number: int) -> str:
    """Return the name of one of the equal tables of the filtered workload."""
    return f"fleet.t{number:02d}"


FLEET_FOLLOWED = fleet_table(42)


def schema() -> list[str]:
    """Return the statements that create every database and table."""
    wide = ", ".join(f"{name} {declared}" for name, declared, _ in WIDE_COLUMNS)
    databases = ("shop", "docs", "fleet", "flat", "live")
    return [
        *(f"CREATE DATABASE {name} CHARACTER SET utf8mb4" for name in databases),
        f"CREATE TABLE shop.orders {ORDERS_COLUMNS}",
        f"CREATE TABLE shop.wide ({wide}) DEFAULT CHARSET=utf8mb4",
        f"CREATE TABLE docs.pages {PAGES_COLUMNS}",
        *(f"CREATE TABLE {fleet_table(number)} {ORDERS_COLUMNS}" for number in range(FLEET_TABLES)),
        f"CREATE TABLE flat.readings {READINGS_COLUMNS}",
        f"CREATE TABLE live.orders {ORDERS_COLUMNS}",
        "CREATE USER cdc@'%' IDENTIFIED BY 'cdc'",
        f"GRANT {GRANTS} ON *.* TO cdc@'%'",
    ]
