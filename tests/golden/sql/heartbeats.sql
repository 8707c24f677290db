-- What a replica is sent: events that no file has, the heartbeat behind the last one among them.
-- dumps: 0 2

CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
