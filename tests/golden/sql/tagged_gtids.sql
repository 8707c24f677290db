-- GTIDs with tags, gaps in the set, and transactions of other servers.
-- servers: mysql>=8.3

CREATE TABLE t (id INT PRIMARY KEY);
SET gtid_next = 'AUTOMATIC:nightly';
INSERT INTO t VALUES (1);
SET gtid_next = 'AUTOMATIC:_1';
INSERT INTO t VALUES (2);
SET gtid_next = '11111111-2222-3333-4444-555555555555:other:9';
INSERT INTO t VALUES (3);
SET gtid_next = '11111111-2222-3333-4444-555555555555:1000000007';
INSERT INTO t VALUES (4);
SET gtid_next = 'AUTOMATIC';
INSERT INTO t VALUES (5);
FLUSH BINARY LOGS;
INSERT INTO t VALUES (6);
