-- How logs end: with a rotation, with a stop, and the list of what was before.

CREATE TABLE t (id INT PRIMARY KEY);
FLUSH BINARY LOGS;
INSERT INTO t VALUES (1);
-- restart
INSERT INTO t VALUES (2);
