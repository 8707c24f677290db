-- Logs with and without checksums.

CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1), (2);
SET GLOBAL binlog_checksum = NONE;
UPDATE t SET id = 3 WHERE id = 1;
SET GLOBAL binlog_checksum = CRC32;
DELETE FROM t WHERE id = 2;
