-- Compressed transactions of MySQL, compressed events of MariaDB.
-- servers: mysql>=8.0.20 mariadb

CREATE TABLE wide (id INT PRIMARY KEY, a VARCHAR(1000), b TEXT);
-- only: mysql
SET SESSION binlog_transaction_compression = ON;
-- only: mariadb
SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10;
INSERT INTO wide VALUES (1, REPEAT('a', 300), REPEAT('b', 600)), (2, NULL, NULL), (3, 'x', 'y');
UPDATE wide SET a = REPEAT('c', 300) WHERE id < 3;
BEGIN;
INSERT INTO wide VALUES (4, 'in', 'one');
SAVEPOINT s;
UPDATE wide SET b = REPEAT('d', 500);
DELETE FROM wide WHERE id = 2;
COMMIT;
CREATE TABLE copied (id INT PRIMARY KEY, note VARCHAR(100) DEFAULT 'a statement that is long enough to be worth compressing, worth compressing');
INSERT INTO copied SELECT id, a FROM wide WHERE id > 2;
-- only: mysql
SET SESSION binlog_transaction_compression_level_zstd = 20;
INSERT INTO wide SELECT id + 10, REPEAT('e', 200), b FROM wide;
DELETE FROM wide WHERE id = 13;
-- only: mysql
SET SESSION binlog_transaction_compression = OFF;
-- only: mariadb
SET GLOBAL log_bin_compress = OFF;
INSERT INTO wide VALUES (99, 'not compressed', NULL);
