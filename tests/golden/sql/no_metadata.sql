-- A table map without optional metadata, MariaDB's default.
-- servers: mariadb
-- settings: binlog_row_metadata=NO_LOG

CREATE TABLE nameless (
  id INT UNSIGNED PRIMARY KEY, e ENUM('a', 'b'), s SET('x', 'y'), v VARCHAR(10), c CHAR(5), b BINARY(3), t TEXT, d DECIMAL(5,2));
INSERT INTO nameless VALUES (1, 'b', 'x,y', 'é', 'c', 'a', 't', 1.5), (4294967295, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM nameless WHERE id = 1;
