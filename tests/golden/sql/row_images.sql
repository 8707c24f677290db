-- What the log holds of a changed row.
-- variant full: binlog_row_image=FULL
-- variant minimal: binlog_row_image=MINIMAL
-- variant noblob: binlog_row_image=NOBLOB

CREATE TABLE keyed (
  id INT PRIMARY KEY, n INT NOT NULL DEFAULT 7, v VARCHAR(20), b BLOB, t TEXT, UNIQUE KEY (n, id));
INSERT INTO keyed VALUES (1, 1, 'one', X'01', 'text'), (2, 2, NULL, NULL, NULL);
INSERT INTO keyed (id) VALUES (3), (4);
INSERT INTO keyed (id, v) VALUES (5, 'five');
UPDATE keyed SET v = 'changed' WHERE id IN (1, 2);
UPDATE keyed SET b = X'02', t = NULL WHERE id = 1;
UPDATE keyed SET id = 6 WHERE id = 5;
UPDATE keyed SET n = 9;
DELETE FROM keyed WHERE id IN (2, 3);

CREATE TABLE keyless (n INT, v VARCHAR(20), b BLOB);
INSERT INTO keyless VALUES (1, 'one', X'01'), (1, 'one', X'01'), (NULL, NULL, NULL);
UPDATE keyless SET v = 'changed', b = X'02' WHERE n = 1 LIMIT 1;
DELETE FROM keyless WHERE n IS NULL;

CREATE TABLE unique_keyed (a INT NOT NULL UNIQUE, b INT, c TEXT);
INSERT INTO unique_keyed VALUES (1, 1, 'x'), (2, 2, 'y');
UPDATE unique_keyed SET c = 'z' WHERE a = 1;
DELETE FROM unique_keyed WHERE a = 2;

CREATE TABLE defaults_only (id INT PRIMARY KEY AUTO_INCREMENT, v INT DEFAULT 5, d DATETIME(3) DEFAULT '2020-01-01 00:00:00.123');
INSERT INTO defaults_only () VALUES ();
INSERT INTO defaults_only () VALUES (), ();
REPLACE INTO defaults_only (id, v) VALUES (2, 6);
INSERT INTO defaults_only (id, v) VALUES (3, 0) ON DUPLICATE KEY UPDATE v = v + 1;
