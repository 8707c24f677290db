-- The statement's text beside its rows: ROWS_QUERY_LOG_EVENT of MySQL, ANNOTATE_ROWS of MariaDB.

-- only: mysql
SET SESSION binlog_rows_query_log_events = ON;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300));
INSERT INTO t VALUES (1, 'it''s
two lines'), (2, 'é€😀');
UPDATE /* a comment, and text of more than 255 bytes: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa */ t SET v = 'x' WHERE id = 1;
DELETE FROM t WHERE id = 2;
