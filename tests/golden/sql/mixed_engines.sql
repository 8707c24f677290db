-- Engines with and without transactions in one transaction, and in one statement.
-- settings: loose_gtid_mode=OFF loose_enforce_gtid_consistency=OFF

CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
CREATE TABLE m (id INT PRIMARY KEY) ENGINE = MyISAM;
INSERT INTO t VALUES (1, 'one');
INSERT INTO m VALUES (1), (2);
BEGIN;
INSERT INTO t VALUES (5, 'rolled back');
INSERT INTO m VALUES (3);
ROLLBACK;
UPDATE t, m SET t.v = 'joined', m.id = m.id + 10 WHERE t.id = m.id;
