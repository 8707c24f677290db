-- Changes that the server could not log: an INCIDENT_EVENT.
-- settings: max_binlog_stmt_cache_size=4096 binlog_stmt_cache_size=4096
-- tables: none

CREATE TABLE m (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(2000)) ENGINE = MyISAM;
INSERT INTO m (v) VALUES (REPEAT('a', 1000));
-- fails
INSERT INTO m (v) VALUES (REPEAT('a', 2000)), (REPEAT('b', 2000)), (REPEAT('c', 2000)), (REPEAT('d', 2000)), (REPEAT('e', 2000));
INSERT INTO m (v) VALUES ('after');
