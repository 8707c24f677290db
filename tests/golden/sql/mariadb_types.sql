-- Column types that only MariaDB has.
-- servers: mariadb

CREATE TABLE compressed_columns (
  id INT PRIMARY KEY, v VARCHAR(2000) COMPRESSED, vb VARBINARY(2000) COMPRESSED,
  t TEXT COMPRESSED, b BLOB COMPRESSED, m MEDIUMTEXT COMPRESSED, l LONGBLOB COMPRESSED);
INSERT INTO compressed_columns VALUES
  (1, REPEAT('é', 200), REPEAT(X'00FF', 200), REPEAT('t', 300), REPEAT(X'FE', 300), REPEAT('m', 300), REPEAT('l', 300)),
  (2, 'short', X'00', 'short', X'FE', '', ''),
  (3, '', '', '', '', NULL, NULL), (4, NULL, NULL, NULL, NULL, NULL, NULL);
UPDATE compressed_columns SET v = CONCAT(v, '!') WHERE id < 3;
DELETE FROM compressed_columns WHERE id = 3;

CREATE TABLE addresses (id INT PRIMARY KEY, a INET6);
INSERT INTO addresses VALUES (1, '::'), (2, '::ffff:192.0.2.1'), (3, '2001:db8::ff00:42:8329'), (4, NULL);
-- only: mariadb>=10.10
CREATE TABLE more_addresses (id INT PRIMARY KEY, a INET4, u UUID);
-- only: mariadb>=10.10
INSERT INTO more_addresses VALUES
  (1, '0.0.0.0', '00000000-0000-0000-0000-000000000000'), (2, '192.0.2.1', '123e4567-e89b-12d3-a456-426655440000'),
  (3, '255.255.255.255', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (4, NULL, NULL);

-- JSON is LONGTEXT with a check.
CREATE TABLE documents (id INT PRIMARY KEY, d JSON);
INSERT INTO documents VALUES (1, '{"b":  1}'), (2, '[]'), (3, NULL);

CREATE SEQUENCE counter START WITH 5 INCREMENT BY 2 CACHE 3;
CREATE TABLE counted (id BIGINT PRIMARY KEY DEFAULT NEXT VALUE FOR counter, v INT);
INSERT INTO counted (v) VALUES (1), (2), (3), (4);

-- ROW START and ROW END are columns of the log, too.
CREATE TABLE versioned (
  id INT PRIMARY KEY, v INT,
  row_begin TIMESTAMP(6) GENERATED ALWAYS AS ROW START, row_end TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
  PERIOD FOR SYSTEM_TIME (row_begin, row_end)) WITH SYSTEM VERSIONING;
INSERT INTO versioned (id, v) VALUES (1, 10), (2, 20);
SET timestamp = 1767225601;
UPDATE versioned SET v = 11 WHERE id = 1;
DELETE FROM versioned WHERE id = 2;
