-- GTIDs and what stands in their place.
-- servers: mysql
-- variant off: gtid_mode=OFF enforce_gtid_consistency=OFF
-- variant on: gtid_mode=ON

CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
BEGIN;
COMMIT;
FLUSH BINARY LOGS;
INSERT INTO t VALUES (2);
DROP TABLE IF EXISTS not_there;
