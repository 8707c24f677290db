-- One statement whose rows fill several events.
-- settings: binlog_row_event_max_size=256

CREATE TABLE filled (id INT PRIMARY KEY, v VARCHAR(100));
INSERT INTO filled VALUES (1, REPEAT('a', 100)), (2, REPEAT('b', 100)), (3, REPEAT('c', 100)), (4, REPEAT('d', 100)), (5, REPEAT('e', 100)), (6, REPEAT('f', 100)), (7, REPEAT('g', 100)), (8, REPEAT('h', 100));
UPDATE filled SET v = UPPER(v);
DELETE FROM filled WHERE id > 2;
